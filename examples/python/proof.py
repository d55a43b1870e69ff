"""What the examples share: a table of what was found beside what it should be."""
import sys
from typing import Any, Tuple


def prove(*claims: Tuple[str, Any, Any]) -> None:
    """Prints each claim's text, what was found and what it should be. Ends the program with status 1 if any differ."""
    width = max(len(text) for text, _, _ in claims)
    print(f"{'':{width}}{'found':>14}{'should be':>14}")
    for text, found, wanted in claims:
        print(f"{text:{width}}{_cell(found):>14}{_cell(wanted):>14}{'' if found == wanted else '  differs'}")
    if any(found != wanted for _, found, wanted in claims):
        sys.exit(1)


def _cell(value: Any) -> str:
    """Numbers with their thousands apart; truth as yes or no."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}"
