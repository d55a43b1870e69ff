"""What `ferry report` makes of records, good and bad: as text, and as JSON."""
import json
import os
import random
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness

MIB = 1 << 20
WRITER = sys.argv[2]
HEADER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "include", "ferry", "stats.h")
with open(HEADER) as header:
    COUNTERS = set(re.findall(r"^ +X\((\w+)", header.read(), re.MULTILINE))


def write(tool, *stories):
    """A new folder with the records of these stories."""
    folder = tool.path("records")
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    for story in stories:
        result = subprocess.run([WRITER, folder, story], stderr=subprocess.PIPE, text=True)
        tool.check(result.returncode == (-9 if story == "gone" else 0), f"{story}: {result.returncode} {result.stderr}")
    return folder


def text(tool, *arguments, errors=""):
    result = tool.run("report", "records", *arguments)
    tool.check(result.returncode == 0 and re.fullmatch(errors, result.stderr), f"{arguments}: {result.returncode} {result.stderr}")
    return result.stdout


def processes(tool, errors=""):
    return json.loads(text(tool, "--json", errors=errors))["processes"]


def holds(tool, printed, *patterns):
    for pattern in patterns:
        tool.check(re.search(pattern, printed, re.MULTILINE), f"no '{pattern}' in:\n{printed}")


def large(tool):
    write(tool, "large")
    whole = json.loads(text(tool, "--json"))
    p, total = whole["processes"][0], whole["total"]
    tool.check(len(whole["processes"]) == total["processes"] == total["with_large_blocks"] == 1, "one process")
    tool.check(p["program"].endswith("/write_records") and p["command"].endswith(" large"), f"{p['program']} {p['command']}")
    tool.check(p["end"] == "exited" and p["lasted_ns"] > 0 and p["signal"] == 0, f"end {p['end']} {p['lasted_ns']}")
    tool.check(p["device"] == "started" and p["device_text"] == "sim", "device")
    managed, plain = p["managed"], p["plain"]
    tool.check((managed["allocations"], managed["frees"], managed["allocated_bytes"]) == (3, 1, 12 * MIB), managed)
    tool.check((managed["live_bytes"], managed["peak_bytes"], managed["warm_blocks"]) == (8 * MIB, 12 * MIB, 0), managed)
    tool.check((plain["live_bytes"], plain["warm_blocks"], plain["warm_bytes"]) == (4 * MIB, 1, 3 * MIB), plain)
    tool.check(managed["sizes"] == [{"up_to_bytes": 4 * MIB, "allocations": 3, "bytes": 12 * MIB}], managed["sizes"])
    tool.check([c["allocations"] for c in plain["sizes"]] == [1, 1], plain["sizes"])
    tool.check(sum(c["frees"] for c in managed["lifetimes"]) == 1 and plain["lifetimes"] == [], "lifetimes")
    tool.check(p["small"]["allocations"] == 1000 and p["small"]["sizes"][0]["up_to_bytes"] == 64, p["small"])
    tool.check((p["beyond_limit_blocks"], p["lost_blocks"], p["kept_bytes"]) == (1, 2, 4096), "beyond, lost, kept")
    tool.check(set(p["stats"]) == COUNTERS and p["stats"]["bytes_to_host"] == 7654321, p["stats"])
    tool.check([s["bytes"] for s in p["sites"]] == [12 * MIB, 4 * MIB] and p["unsited"] == 0, p["sites"])
    tool.check(p["sites"][0]["frames"] == ["0x1001"] and p["sites"][0]["live_bytes"] == 8 * MIB, p["sites"][0])
    latest = p["samples"][-1]
    tool.check((latest["managed_bytes"], latest["plain_bytes"]) == (8 * MIB, 4 * MIB), latest)
    tool.check(max(s["peak_bytes"] for s in p["samples"]) == 13 * MIB, p["samples"])
    for key in ("managed", "plain", "small", "stats", "lost_bytes", "beyond_limit_bytes"):
        tool.check(total[key] == p[key], f"total {key}: {total[key]}")


def large_text(tool):
    printed = text(tool)
    holds(tool, printed, r"^\S+write_records \S+ large$", r"exited after \d", r"device +started: sim$",
          r"^ +managed +3 +1 +12\.0 MiB +8\.00 MiB +12\.0 MiB +0\.0 %", r"^ +plain +2 +0 +4\.00 MiB +4\.00 MiB +4\.00 MiB +50\.0 %",
          r"^ +small +1,000 +900 +62\.5 KiB +6\.25 KiB$", r"up to +4\.00 MiB +4 +15\.0 MiB  #{30}$", r"up to +1\.00 MiB +1 ",
          r"half of 1 freed", r"1,234,567 bytes to devices, 7,654,321 to the host; 4,096 of them redundant",
          r"measured, with 5 groups", r"beyond limit +1 block, 3\.00 MiB", r"fork +2 blocks, 3\.00 MiB", r"fork +4\.00 KiB",
          r"^ +3 +12\.0 MiB +12\.0 MiB +0x1001$", r"^ +13\.0 MiB \| .*#")
    tool.check("In all" not in printed, "a total of one process")
    tool.check(text(tool, "--size-histogram").count("up to") == printed.count("up to") + 1, "the lifetimes' histogram")


def plot(tool):
    """Its columns never fall back below what lives at the end."""
    rows = [line.split("|")[1] for line in text(tool).splitlines() if "|" in line]
    tool.check(len(rows) == 8 and all(set(row) <= set("# ") and len(row) <= 60 for row in rows), rows)
    tool.check(all(len(row) == 60 and row[-1] == "#" for row in rows[1:]), rows)


def ends(tool):
    write(tool, "gone", "forked", "small", "prelude")
    told = processes(tool)
    tool.check([p["end"] for p in told] == ["gone", "exited", "left", "left", "exited", "left"], [p["end"] for p in told])
    tool.check(told[0]["lasted_ns"] == 0 and told[0]["stats"] is None and told[0]["plain"]["live_bytes"] == 2 * MIB, told[0])
    tool.check(told[2]["forked_from"] == told[2]["parent"] == told[1]["pid"], "the forked child")
    tool.check(told[2]["plain"]["warm_blocks"] == 0 and told[2]["sites"][0]["allocations"] == 1, "the parent's blocks in the child")
    tool.check(told[5]["parent"] == told[4]["pid"] and told[5]["forked_from"] == 0, "the child that became another program")
    printed = text(tool)
    holds(tool, printed, r"ended without a word$", r"\d+, forked, left by _exit after", r"^write_records \(\d+\) left by _exit .*; no large "
          r"blocks, 10 small ones$", r"^In all$", r"processes +6, 3 with large blocks")


def many(tool):
    write(tool, *["small"] * 21)
    printed = text(tool)
    holds(tool, printed, r"^Without large blocks:$", r"^ +21 of write_records, .* in all, 210 small blocks$")
    tool.check("(" not in printed, f"lines of their own: {printed}")
    write(tool, *["small"] * 20)
    tool.check(text(tool).count("no large blocks") == 20, "twenty lines")


def bad(tool):
    """Reported and left out; the others are there."""
    folder = write(tool, "large", "sites", "samples", "end")
    with open(os.path.join(folder, "1-1.ferry-run"), "wb") as stream:
        stream.write(b"text" * 10000)
    with open(os.path.join(folder, "1-2.ferry-run"), "wb") as stream:
        stream.write(b"")
    good = sorted(os.listdir(folder), key=lambda name: os.path.getmtime(os.path.join(folder, name)))
    with open(os.path.join(folder, good[0]), "rb") as stream:
        content = stream.read()
    for i, part in enumerate((content[:100], content[:-1], content[:40000], content[:8] + b"\1" * 8 + content[16:])):
        with open(os.path.join(folder, f"2-{i}.ferry-run"), "wb") as stream:
            stream.write(part)
    os.mkdir(os.path.join(folder, "3-1.ferry-run"))
    os.symlink("/dev/zero", os.path.join(folder, "3-2.ferry-run"))
    os.mkfifo(os.path.join(folder, "3-3.ferry-run"))
    with open(os.path.join(folder, "other.txt"), "w") as stream:
        stream.write("not ours")
    result = tool.run("report", "records", "--json")
    told = json.loads(result.stdout)["processes"]
    tool.check(result.returncode == 0 and len(told) == 1, f"{result.returncode} {len(told)}")
    lines = sorted(result.stderr.splitlines())
    tool.check(len(lines) == 12 and all(line.startswith("ferry: records/") and " is left out: " in line for line in lines), lines)
    for pattern, count in (("1-1.*no record", 1), ("1-2.*cut off", 1), ("2-[012].*cut off", 3), ("2-3.*another version", 1),
                           ("3-[13].*no file", 2), ("3-2.*symbolic", 1), ("damaged", 3)):
        tool.check(sum(bool(re.search(pattern, line)) for line in lines) == count, f"{pattern}: {lines}")


def texts(tool):
    write(tool, "unterminated")
    p = processes(tool)[0]
    tool.check(p["program"] == "p" * 255 and p["command"] == "c" * 1023 and p["device_text"] == "d" * 255, "cut texts")
    tool.check(p["unmeasured"] == "u" * 255 and p["sites"][0]["text"] == "s" * 383, "cut texts")
    tool.check(max(map(len, text(tool).splitlines())) < 500, "long lines")
    write(tool, "odd_text")
    p = processes(tool)[0]
    tool.check(p["command"] == 'one "two" \\three\n\033[31m \ufffdé', repr(p["command"]))
    tool.check(p["sites"][0]["text"] == 'operator new[]\t"\ufffd', repr(p["sites"][0]["text"]))
    printed = text(tool)
    tool.check("\033" not in printed and "\t" not in printed, repr(printed))
    holds(tool, printed, r'one "two" \\three\?\?\[31m ')


def samples(tool):
    write(tool, "disordered")
    tool.check([s["time_ns"] for s in processes(tool)[0]["samples"]] == [10, 30], "samples after one that goes backwards")


def many_sites(tool):
    write(tool, "many_sites")
    p = processes(tool)[0]
    tool.check(len(p["sites"]) == 1024 and p["unsited"] == 5, f"{len(p['sites'])} sites, {p['unsited']} blocks without")
    holds(tool, text(tool), "the 10 largest of 1024", r" 5 of places beyond the 1024", r" 1 +1\.00 MiB +1\.00 MiB +0x13ff$")


def mutated(tool):
    """Whatever the bytes, a report or a reason."""
    folder = write(tool, "large", "forked", "many_sites")
    records = []
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as stream:
            records.append(stream.read())
    for round_ in range(12):
        write(tool)
        for i in range(8):
            content = bytearray(random.choice(records))
            for _ in range(random.choice((1, 3, 50, 400))):
                at = random.choice((random.randrange(16, 6000), random.randrange(len(content))))
                content[at:at + 8] = random.choice((b"\xff" * 8, bytes(8), b"\x7f" * 8, random.randbytes(8)))
            with open(os.path.join(folder, f"{i}-{i}.ferry-run"), "wb") as stream:
                stream.write(content)
        for arguments in ((), ("--size-histogram",), ("--json",)):
            result = tool.run("report", "records", *arguments)
            tool.check(result.returncode == 0, f"round {round_}: {result.returncode} {result.stderr[-2000:]}")
        tool.check(json.loads(result.stdout)["total"]["processes"] + result.stderr.count("left out") <= 8, f"round {round_}: too many")


def usage(tool):
    write(tool)
    tool.check("no process has left a record" in text(tool), "an empty folder")
    for arguments, status, message in (((), 2, "a folder is missing"), (("records", "more"), 2, "unexpected argument 'more'"),
                                       (("absent",), 1, "absent: No such file"), (("records", "--jsno"), 2, "unknown option")):
        result = tool.run("report", *arguments)
        tool.check(result.returncode == status and message in result.stderr, f"{arguments}: {result.returncode} {result.stderr}")
    tool.check(tool.run("report", "--help").returncode == 0, "--help")


def check(tool):
    for story in (large, large_text, plot, ends, many, bad, texts, samples, many_sites, mutated, usage):
        story(tool)
    shutil.rmtree(tool.path("records"))


harness.main(check)
