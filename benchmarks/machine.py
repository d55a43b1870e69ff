"""The machine that results are of: the facts at the head of every file of results."""
import datetime
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Dict, List

ROOT = Path(__file__).resolve().parent.parent


def _first_line(*command: str) -> str:
    """What a command prints first; nothing where there is no such command, or it fails."""
    try:
        told = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=20, check=True,
                              cwd=ROOT).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    return (told.splitlines() or [""])[0].strip()


def query_device(fields: str) -> List[str]:
    """What nvidia-smi says of the first device; "unknown" where there is none to ask."""
    told = _first_line("nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader", "--id=0")
    return [field.strip() for field in told.split(",")] if told else ["unknown"] * len(fields.split(","))


def commit() -> str:
    """FERRY_COMMIT says it where the sources are no checkout."""
    return os.environ.get("FERRY_COMMIT") or _first_line("git", "rev-parse", "HEAD") or "unknown"


def toolkit() -> str:
    """The CUDA toolkit's version."""
    compiler = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    release = re.search(r"release ([0-9.]+)", _first_line("sh", "-c", f"'{compiler}' --version | grep release"))
    return release[1] if release else "unknown"


def processor() -> str:
    """FERRY_CPU says it where the system hides it."""
    model = re.search(r"^model name[^:]*: (.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    return os.environ.get("FERRY_CPU") or (model[1] if model else "unknown")


def facts(backend: str) -> Dict[str, Any]:
    """For the backend `cuda` or `sim`."""
    device = {"device": "simulated", **dict.fromkeys(("driver", "cuda", "sm_clock", "memory_clock"), "none")}
    if backend == "cuda":
        names = ("device", "driver", "sm_clock", "memory_clock")
        device = {**dict(zip(names, query_device("name,driver_version,clocks.sm,clocks.mem"))), "cuda": toolkit()}
    return {**device, "cpu": processor(), "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "commit": commit(), "backend": backend}
