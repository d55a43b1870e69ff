"""python -m ferry [options] script.py [arguments]: runs a program with ferry installed."""
import argparse
import io
import os
import runpy
import sys
from typing import Any, Dict, List, Optional

import ferry
from ferry import _ferry


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ferry", allow_abbrev=False,
        usage="python -m ferry [options] (script | -m module | -c command) [arguments]",
        description="Runs a Python program with NumPy's arrays in ferry memory and its loops on the device.")
    parser.add_argument("--threshold", default="1 MiB", metavar="SIZE",
                        help="arrays of this size and more go to ferry memory (default: %(default)s)")
    parser.add_argument("--length", type=int, metavar="N",
                        help="elements from which on a loop is launched (default: measured for each operation)")
    parser.add_argument("--no-loops", action="store_true", help="leave NumPy's loops alone")
    parser.add_argument("--policy", metavar="NAME",
                        help="auto, prefetch, remote or none (default: FERRY_POLICY, or auto)")
    parser.add_argument("--report", action="store_true", help="say on standard error, at the end, what crossed")
    target = parser.add_mutually_exclusive_group()
    target.add_argument("-m", dest="module", metavar="module", help="run a library module as a program")
    target.add_argument("-c", dest="command", metavar="command", help="run a program passed as a text")
    parser.add_argument("--version", action="version", version=f"ferry {_ferry.version}")
    return parser


def _split(arguments: List[str]) -> "tuple[List[str], List[str]]":
    """Ferry's own arguments, the program's name or text included, and the program's, which are not looked at."""
    takes_value = {"--threshold", "--length", "--policy"}
    at = 0
    while at < len(arguments):
        word = arguments[at]
        if word[:2] in ("-m", "-c"):
            end = at + (2 if len(word) == 2 else 1)
            return arguments[:end], arguments[end:]
        if not word.startswith("-"):
            return arguments[:at], arguments[at:]
        at += 2 if word in takes_value else 1
    return arguments, []


def _begin_path(folder: str) -> None:
    """Puts the program's folder where ``-m`` has put the current one; nowhere if Python was told so (``-P``)."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = folder


def _run(options: argparse.Namespace, arguments: List[str]) -> None:
    if options.module is not None:
        sys.argv = [options.module, *arguments]
        runpy.run_module(options.module, run_name="__main__", alter_sys=True)
    elif options.command is not None:
        sys.argv = ["-c", *arguments]
        _begin_path("")
        exec(compile(options.command, "<string>", "exec"), _fresh_main())
    else:
        sys.argv = arguments
        _run_script(arguments[0])


def _fresh_main() -> Dict[str, Any]:
    """An empty namespace that is also the module __main__, so that pickling finds the program's classes."""
    module = type(sys)("__main__")
    module.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = module
    return module.__dict__


def _run_script(path: str) -> None:
    _begin_path(os.path.dirname(os.path.abspath(path)))
    with io.open_code(path) as stream:
        code = compile(stream.read(), path, "exec")
    namespace = _fresh_main()
    namespace["__file__"] = path
    exec(code, namespace)


def _report() -> None:
    count = ferry.stats()
    print(f"ferry: {count['launches']} launches, {count['bytes_to_device']} bytes to the device, "
          f"{count['bytes_to_host']} to the host, {count['redundant_bytes']} redundant; "
          f"at most {count['peak_bytes']} bytes in arrays", file=sys.stderr)


def main(arguments: Optional[List[str]] = None) -> None:
    own, rest = _split(list(sys.argv[1:] if arguments is None else arguments))
    parser = _parser()
    options = parser.parse_args(own)
    if options.module is None and options.command is None and not rest:
        parser.error("a script, -m module or -c command is wanted")
    if options.policy is not None:
        os.environ["FERRY_POLICY"] = options.policy
    try:
        ferry.install(threshold=options.threshold, length=options.length, loops=not options.no_loops)
    except (ValueError, RuntimeError) as error:
        parser.error(str(error))
    try:
        _run(options, rest)
    finally:
        if options.report:
            _report()


if __name__ == "__main__":
    main()
