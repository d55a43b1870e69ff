#!/usr/bin/env python3
"""Figures in README.md and docs/: each from a committed result, or of a command that is named beside it.

    figures.py [--check | --write] [--results FOLDER] [FILE...]

A figure stands between two comments, which a reader of the page does not see:

    took <!--=NAME-->26.0<!--/--> ms       NAME is in docs/measured.py, which computes it from benchmarks/results
    takes <!--printed-->50<!--/--> ms      the paragraph, list item or table row names what it is of, in backquotes: a
                                           subcommand of `ferry`, a program of this repository, a file of results
    at most <!--set-->1<!--/--> µs         no measurement: a limit, a setting, an example

What docs/performance.py makes, tables above all, is between `made` and the same end, in its page alone: another run
of it has to give the same page.

The text says how a figure is rounded: to as many decimals as are written, with commas where there are some.
`--write` puts the results' figures in the place of those that are there; `--check` fails where they differ, and where a
number with a unit of time, rate or ratio, or a bare number in a table, is not marked. A table's first column and its
column `default` are no figures; nor is what is in backquotes. A block of code with figures in it is what a program
printed, and begins with the command, or the text before it names that.
"""
import argparse
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterator, List, Optional, Tuple, Union

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))
import measured  # noqa: E402

Value = Union[float, str]
MARKED = re.compile(r"<!--(=[^>]*?|printed|set|made)-->(.*?)<!--/-->", re.DOTALL)
NUMBER = r"\d[\d,]*(?:\.\d+)?"
WORDS = r"(?:two|three|four|five|six|seven|eight|nine|ten|sixteen|hundreds?|thousands?|dozens?)"
UNIT = r"(?:ms|µs|us|ns|s|seconds?|minutes?|[KMGT]i?B/s|GFLOP/s|TFLOP/s|%|×(?! *\d)|times|-fold)"
MEASURED = [re.compile(pattern, re.IGNORECASE) for pattern in (
    rf"(?<![\w.,/-]){NUMBER}[  -]?{UNIT}(?![\w/])",
    rf"\b{NUMBER}x (?:faster|slower|the|as)\b",
    rf"\b{WORDS} times (?:faster|slower|dearer|cheaper|longer|more|fewer|as|the)\b",
    rf"\b(?:a|one) (?:half|third|quarter|fifth|tenth) of (?:the|its|an|a) (?:time|speed|rate|cost|second)s?\b",
    rf"\bhalf (?:of [\w']+ time|the (?:time|speed|rate|cost)|a second)\b",
    r"\b(?:twice|half) as (?:fast|slow|long|dear|cheap)\b",
    rf"(?<![\w.,/-]){NUMBER} (?:to|and|or|–) ¤ ?{UNIT}(?![\w/])",
    rf"\b(?:takes?|took) (?:about )?{NUMBER}(?=[;,.)]|$)",
    r"\b(?:hundreds|thousands) of (?:groups of )?faults\b")]
COMMAND = re.compile(r"`(?:ferry (?:bench|info|calibrate|apply|run)\b[^`]*"
                     r"|[^`]*?((?:benchmarks|tests|examples|tools)/[\w./-]+)[^`]*)`")

TYPED = re.compile(r"^ *(?:\$ |ferry |python3? |[A-Z_]+=\S+ |[\w./-]+/(?:ferry|[\w-]+\.(?:py|sh))\b)", re.MULTILINE)


@dataclass
class Block:
    """Some lines that belong together: a paragraph, a list item, a row of a table with its header, a piece of code."""
    kind: str
    line: int
    text: str
    header: str = ""


def blocks(text: str) -> Iterator[Block]:
    kind, begun, lines, header = "", 0, [], ""
    fenced = False
    for number, line in enumerate(text.split("\n") + [""], 1):
        here = kind_of(line, kind, fenced)
        if line.lstrip().startswith("```"):
            fenced = not fenced
        if here == "row":
            header = line if kind != "row" else header
        if lines and (here != kind or here in ("item", "row") or not line.strip()):
            yield Block(kind, begun, "\n".join(lines), header if kind == "row" else "")
            lines = []
        if line.strip():
            begun = begun if lines else number
            lines.append(line)
        kind = here if line.strip() or here == "code" else ""


def kind_of(line: str, before: str, fenced: bool) -> str:
    if fenced or line.lstrip().startswith("```"):
        return "code"
    if line.startswith("    ") and before not in ("item", "text"):
        return "code"
    if line.startswith("|"):
        return "row"
    if re.match(r" {0,3}(?:[-*]|\d+\.) ", line):
        return "item"
    return before if before in ("item", "text") and line.strip() else "text"


def rendered(value: Value, text: str) -> str:
    """The value as the text has it: as many decimals, commas or none."""
    if isinstance(value, str):
        return value
    plain = text.strip()
    if not re.fullmatch(NUMBER, plain):
        return f"{value:.4g}"
    decimals = len(plain.split(".")[1]) if "." in plain else 0
    return f"{value:,.{decimals}f}" if "," in plain else f"{value:.{decimals}f}"


def regenerate(text: str, results: "measured.Results") -> Tuple[str, List[str]]:
    """The text with the results' figures, and what is wrong with it as it is."""
    wrong: List[str] = []

    def replace(match: "re.Match[str]") -> str:
        mark, now = match.groups()
        if not mark.startswith("="):
            return match.group(0)
        line = text.count("\n", 0, match.start()) + 1
        try:
            want = rendered(measured.figure(results, mark[1:]), now)
        except measured.Unknown as error:
            wrong.append(f"{line}: {error}")
            return match.group(0)
        if want != now:
            wrong.append(f"{line}: {mark[1:]} is {want}, not {now}")
        return f"<!--{mark}-->{want}<!--/-->"

    return MARKED.sub(replace, text), wrong


def without_code(text: str) -> str:
    """Spans in backquotes, and the addresses of links, say nothing."""
    return re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "`", text))


def bare_numbers(block: Block) -> Iterator[str]:
    names = [cell.strip() for cell in block.header.strip("| ").split("|")]
    cells = [cell.strip() for cell in block.text.strip().strip("|").split("|")]
    for name, cell in list(zip(names, cells))[1:]:
        if name != "default" and re.fullmatch(rf"\**{NUMBER}\**", cell):
            yield cell


def unmarked(text: str) -> Iterator[Tuple[int, str]]:
    """Figures that nothing is said of: line and words. What is marked stands as ¤."""
    bare = MARKED.sub(lambda match: "¤" + "\n" * match.group(0).count("\n"), text)
    named = False
    for block in blocks(re.sub(r"<!--.*?-->", "", bare)):
        named = names_command(block.text) or block.kind == "code" and (named or bool(TYPED.search(block.text)))
        if block.kind == "code":
            found = None if named else MEASURED[0].search(block.text)
            if found:
                yield block.line, found.group(0)
            continue
        said = without_code(block.text)
        for pattern in MEASURED:
            for match in pattern.finditer(said):
                yield block.line + said.count("\n", 0, match.start()), match.group(0)
        if block.kind == "row":
            for cell in bare_numbers(block):
                yield block.line, cell


def unnamed(text: str) -> Iterator[Tuple[int, str]]:
    """Figures that a command is said to print, with no command beside them."""
    for block in blocks(text):
        printed = [match for match in MARKED.finditer(block.text) if match.group(1) == "printed"]
        if printed and not names_command(block.text):
            yield block.line, printed[0].group(2)


def names_command(text: str) -> bool:
    """Or a file of results."""
    return (any(match.group(1) is None or (ROOT / match.group(1)).exists() for match in COMMAND.finditer(text))
            or any((measured.RESULTS / name).exists() for name in re.findall(r"`([\w-]+\.json)`", text)))


def shown(text: str) -> Iterator[int]:
    """A comment with two dashes in a row is none: readers would see it."""
    for match in re.finditer(r"<!--(.*?)-->", text):
        if "--" in match.group(1) or match.group(1).startswith((">", "->")):
            yield text.count("\n", 0, match.start()) + 1


def hidden(text: str) -> Iterator[int]:
    """A line that begins with a comment is HTML to the end, and is not set as Markdown."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("<!--") and re.sub(r"<!--.*?-->", "", line).strip():
            yield number


def not_made(path: Path, text: str) -> Iterator[int]:
    """Only one page is made by a script."""
    for match in MARKED.finditer(text) if path.name != "performance.md" else ():
        if match.group(1) == "made":
            yield text.count("\n", 0, match.start()) + 1


def problems(path: Path, results: "measured.Results") -> List[str]:
    text = path.read_text(encoding="utf-8")
    found = regenerate(text, results)[1]
    found += [f"{line}: nothing says where \"{words}\" comes from" for line, words in unmarked(text)]
    found += [f"{line}: nothing beside {words} names what prints it, or its file" for line, words in unnamed(text)]
    found += [f"{line}: begins with a comment, so it is not set as Markdown" for line in hidden(text)]
    found += [f"{line}: a comment has two dashes in a row, so it is shown" for line in shown(text)]
    found += [f"{line}: only performance.md is made by a script" for line in not_made(path, text)]
    return [f"{os.path.relpath(path)}:{problem}" for problem in found]


def pages() -> List[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def write(path: Path, results: "measured.Results") -> None:
    text = path.read_text(encoding="utf-8")
    made = regenerate(text, results)[0]
    if made != text:
        path.write_text(made, encoding="utf-8")
        print(f"{os.path.relpath(path)}: written")


def main(given: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--check", action="store_true", help="the default")
    how.add_argument("--write", action="store_true")
    parser.add_argument("--results", type=Path, default=measured.RESULTS)
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args(given)
    results = measured.Results(options.results)
    files = options.files or pages()
    if options.write:
        for path in files:
            write(path, results)
    found = [problem for path in files for problem in problems(path, results)]
    for problem in found:
        print(problem)
    print(f"{len(files)} pages, {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
