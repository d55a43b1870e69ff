"""What the programs under test are run with."""
import hashlib
import os
import pathlib
import shutil
import subprocess
from typing import Any, Callable, Dict, List, NamedTuple, Optional

# By name, what must be the same; "summary" says in words what was compared.
Outcome = Dict[str, Any]


class Absent(Exception):
    """A program that is needed is not there."""


class Runner(NamedTuple):
    folder: pathlib.Path
    environment: Dict[str, str]
    source: pathlib.Path  # the project's
    full: bool
    seconds: int

    def need(self, *programs: str) -> None:
        for program in programs:
            if shutil.which(program) is None:
                raise Absent(program)

    def call(self, *command: str, stdin: Optional[bytes] = None, **environment: str) -> List[Any]:
        """Status, standard output and standard error."""
        done = subprocess.run(command, input=stdin, stdin=subprocess.DEVNULL if stdin is None else None,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder,
                              env={**self.environment, **environment})
        return [done.returncode, done.stdout, done.stderr]

    def must(self, *command: str, stdin: Optional[bytes] = None, **environment: str) -> bytes:
        """Standard output of a command that cannot fail here, whatever its heap."""
        status, out, error = self.call(*command, stdin=stdin, **environment)
        if status != 0:
            raise RuntimeError(f"{' '.join(command)} ended with {status}: {error[-2000:].decode(errors='replace')}")
        return out

    def generate(self, name: str, content: bytes) -> pathlib.Path:
        path = self.folder / name
        path.write_bytes(content)
        return path

    def hashes(self, *patterns: str) -> Dict[str, str]:
        """Of the files in the folder that match."""
        return {str(path.relative_to(self.folder)): digest(path.read_bytes())
                for pattern in patterns for path in sorted(self.folder.glob(pattern)) if path.is_file()}


Program = Callable[[Runner], Outcome]


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def cores() -> int:
    return len(os.sched_getaffinity(0))
