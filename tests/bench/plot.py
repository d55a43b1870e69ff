"""The pictures that `ferry bench --plot` and tools/plot_bench.py draw. Exit status 77 when all but the drawing passed: no
matplotlib."""
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as xml

import suite

SCRIPT, RESULTS = sys.argv[2:4]
sys.path.insert(0, os.path.dirname(SCRIPT))
import plot_bench

SVG = "{http://www.w3.org/2000/svg}"
SPREAD = {"runs": 5, "median_ms": 2.0, "min_ms": 1.0, "max_ms": 4.0, "q1_ms": 1.5, "q3_ms": 3.0}
FACTS = {"device": "some device", "driver": "1", "cuda": "1", "cpu": "a CPU", "date": "2026-01-02T03:04:05Z", "commit": "0123456789abcdef",
         "clock": "real"}


def allocations():
    return [{"case": f"pairs, {threads} threads", "strategy": name, "bytes": size, "threads": threads, "operations": 1000, **SPREAD}
            for size in (16, 4096) for name in ("ferry", "glibc") for threads in (1, 2, 4)]


def launches():
    return [{"case": "launch", "strategy": name, "bytes": 4096, "operands": operands, **SPREAD}
            for name in ("bare", "ferry_launch") for operands in (1, 2, 3)]


def streams():
    return [{"case": name, "strategy": place, "bytes": 1 << 20, "gb_per_s": 50.0, "limit_ms": 1.0, "share": 0.5, **SPREAD}
            for name in ("copy", "triad") for place in ("device", "across the bus")]


def unknown():
    return [{"case": "something", "strategy": "one way", "bytes": 64, **SPREAD}, {"case": "void", "strategy": "another", "bytes": 64, **SPREAD, "valid": False}]


def draw(bench, results, picture):
    path = os.path.join(bench.folder, "drawn.json")
    with open(path, "w") as stream:
        json.dump(results, stream)
    return subprocess.run([sys.executable, "-B", SCRIPT, path, picture], stderr=subprocess.PIPE, text=True)


def texts(bench, picture):
    """The words in a picture, which has to be an SVG with something in it."""
    root = xml.parse(picture).getroot()
    bench.check(root.tag == SVG + "svg" and len(list(root.iter(SVG + "path"))) > 5, f"{picture}: {root.tag}")
    return [" ".join(element.itertext()) for element in root.iter(SVG + "text")]


def check_refusals(bench):
    """What cannot be drawn is said before anything is measured."""
    bench.refuse(["transfer", "--quick", "--plot", "picture.gif"], 2, ["picture.gif", ".svg"])
    bench.refuse(["transfer", "--quick", "--plot", "no/such/folder/picture.svg"], 1, ["no/such/folder/picture.svg"])
    empty = os.path.join(bench.folder, "empty")
    os.mkdir(empty)
    result = bench.run("bench", "transfer", "--quick", "--plot", "picture.svg", PATH=empty)
    bench.check(result.returncode == 1 and "matplotlib" in result.stderr and not result.stdout, f"no Python: {result}")
    with open(os.path.join(empty, "python3"), "w") as stream:
        stream.write("#!/bin/sh\nexit 1\n")
    os.chmod(os.path.join(empty, "python3"), 0o755)
    result = bench.run("bench", "transfer", "--quick", "--plot", "picture.svg", PATH=empty)
    bench.check(result.returncode == 1 and "matplotlib" in result.stderr and not result.stdout, f"no matplotlib: {result}")


def check_command(bench):
    """A picture of each suite, with and without the file that it is drawn from; nothing temporary stays."""
    temporary = os.path.join(bench.folder, "temporary")
    os.mkdir(temporary)
    python = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
    for name, arguments in (("transfer", ()), ("pingpong", ("--json", "kept.json")), ("producer", ()), ("reuse", ("--kernel", "sum"))):
        result = bench.run("bench", name, "--size", "4K,64K", "--runs", "2", "--plot", f"{name}.svg", *arguments, PATH=python, TMPDIR=temporary)
        bench.check(result.returncode == 0, f"{name}: {result.stderr}")
        words = texts(bench, os.path.join(bench.folder, f"{name}.svg"))
        modelled = any("times are modelled" in text for text in words)
        bench.check(any(text.startswith(f"{name} · ") for text in words) and modelled != bench.on_device, f"{name}: {words}")
        bench.check(name == "reuse" or {"auto", "remote", "the machine's limit"} <= set(words), f"{name}: {words}")
    bench.check(os.path.exists(os.path.join(bench.folder, "kept.json")) and not os.listdir(temporary), f"{os.listdir(temporary)}")


def check_kinds(bench):
    """Each suite's own kind of picture, by what is written in it."""
    kinds = {"alloc": (allocations(), "blocks allocated and freed a second"), "launch": (launches(), "operands"),
             "stream": (streams(), "GB/s (dashes: the limit)"), "other": (unknown(), "something, one way, 64 B")}
    picture = os.path.join(bench.folder, "kind.svg")
    for name, (cases, expected) in kinds.items():
        drawn = draw(bench, {**FACTS, "suite": name, "cases": cases}, picture)
        bench.check(drawn.returncode == 0, f"{name}: {drawn.stderr}")
        words = texts(bench, picture)
        title = f"{name} · some device · commit 0123456789 · 2026-01-02"
        bench.check(expected in words and title in words and not any("modelled" in text for text in words), f"{name}: {words}")
        bench.check(not any("void" in text for text in words), f"{name}: a void row is drawn")
    nothing = draw(bench, {**FACTS, "suite": "other", "cases": unknown()[1:]}, picture)
    bench.check(nothing.returncode == 1 and "no case to draw" in nothing.stderr, f"{nothing}")
    for strange in {"cases": "none"}, {**FACTS, "cases": [{"case": "incomplete"}]}, []:
        drawn = draw(bench, strange, picture)
        bench.check(drawn.returncode == 1 and "no results of ferry bench" in drawn.stderr, f"{drawn}")


def check_committed(bench):
    """Every committed file of a suite's can be drawn, the same twice."""
    for name in sorted(os.listdir(RESULTS)):
        path = os.path.join(RESULTS, name)
        if not name.endswith(".json") or not plot_bench.are_results(bench.read(path)):
            continue
        pictures = [os.path.join(bench.folder, f"committed-{i}.svg") for i in range(2)]
        for picture in pictures:
            drawn = subprocess.run([sys.executable, "-B", SCRIPT, path, picture], stderr=subprocess.PIPE, text=True)
            bench.check(drawn.returncode == 0, f"{name}: {drawn.stderr}")
        contents = [open(picture, "rb").read() for picture in pictures]
        bench.check(contents[0] == contents[1], f"{name}: two pictures differ")


def check(bench):
    check_refusals(bench)
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        if not bench.failures:
            print("skipped, but for what is refused: no matplotlib")
            sys.exit(77)
        return
    check_command(bench)
    check_kinds(bench)
    check_committed(bench)


os.environ.pop("FERRY_POLICY", None)
suite.main(check)
