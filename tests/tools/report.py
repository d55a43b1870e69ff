"""The report: every counter by name, and that each byte crossed once each way."""
import json
import os
import re

import harness
import numpy as np

BLOCK = 2 << 20  # what a device moves at least
COUNTERS = """bytes_to_device bytes_to_host prefetched_bytes_to_device prefetched_bytes_to_host bytes_between_devices gpu_faults
    cpu_faults remote_bytes_to_device remote_bytes_to_host discarded_bytes redundant_bytes prefetches_issued
    prefetches_skipped observations observed_bytes launches allocations frees live_bytes peak_bytes reserved_bytes modelled_ns""".split()


def report(tool, *arguments):
    return json.loads(tool.apply(*arguments, "--report=json").stdout)


def fields(tool):
    x = np.linspace(1, 2, 3 << 20)
    tool.write("x.npy", x)
    r = report(tool, "log", "x.npy", "-o", "y.npy", "--policy", "prefetch")
    for name in COUNTERS:
        tool.check(isinstance(r.get(name), int), f"{name} is {r.get(name)!r}")
    tool.check(isinstance(r["measured"], bool), f"measured is {r['measured']!r}")
    tool.check(r["operation"] == "log" and r["policy"] == "prefetch", "operation or policy")
    tool.check(r["backend"] == os.environ["FERRY_BACKEND"], f"backend is {r['backend']}")
    tool.check(r["input_bytes"] == r["output_bytes"] == x.nbytes, "input and output bytes")
    tool.check(r["inputs"] == [{"path": "x.npy", "dtype": "float64", "shape": list(x.shape), "bytes": x.nbytes}], r["inputs"])
    tool.check(r["seconds"] >= sum(r["steps"].values()) > 0, f"seconds: {r['seconds']} {r['steps']}")
    return r


def once_each_way(tool, r):
    for direction, bytes_ in (("bytes_to_device", r["input_bytes"]), ("bytes_to_host", r["output_bytes"])):
        tool.check(bytes_ <= r[direction] <= bytes_ + BLOCK, f"{direction}: {r[direction]} for {bytes_}")
    tool.check(r["redundant_bytes"] == 0, f"redundant: {r['redundant_bytes']}")
    if r["measured"]:
        tool.check(r["gpu_faults"] == 0 and r["cpu_faults"] == 0, f"faults: {r['gpu_faults']}, {r['cpu_faults']}")
        tool.check(r["prefetched_bytes_to_device"] == r["bytes_to_device"], "to the device other than by our prefetch")
        tool.check(r["prefetched_bytes_to_host"] == r["bytes_to_host"], "to the host other than by our prefetch")
    if r["backend"] == "sim":
        tool.check(r["measured"] and r["modelled_ns"] > 0, "the simulator measures and tells its time")


def without_hints(tool):
    r = report(tool, "log", "x.npy", "-o", "z.npy", "--policy", "none")
    tool.check(r["policy"] == "none", "policy none")
    tool.check(r["prefetches_issued"] == 0 and r["discarded_bytes"] == 0, "policy none gives hints")
    if r["measured"]:
        tool.check(r["gpu_faults"] > 0 and r["cpu_faults"] > 0, f"policy none: faults {r['gpu_faults']}, {r['cpu_faults']}")
    tool.check(tool.read("y.npy") == tool.read("z.npy"), "policies differ in the result")


def either_way_once(tool):
    """Migrated or across the bus under the kernel: the library's choice, or not."""
    for policy, arguments in (("auto", []), ("auto", ["--policy", "auto"]), ("remote", ["--policy=remote"])):
        r = report(tool, "log", "x.npy", "-o", "z.npy", *arguments)
        tool.check(r["policy"] == policy, f"policy {r['policy']}, not {policy}")
        tool.check(r["redundant_bytes"] == 0, f"policy {policy}: {r['redundant_bytes']} redundant bytes")
        for direction, bytes_ in (("to_device", r["input_bytes"]), ("to_host", r["output_bytes"])):
            crossed, prefetched, remote = (r[f"{how}bytes_{direction}"] for how in ("", "prefetched_", "remote_"))
            tool.check(bytes_ <= crossed <= bytes_ + BLOCK, f"policy {policy}: {crossed} bytes {direction} for {bytes_}")
            tool.check(prefetched + remote == crossed, f"policy {policy}: {prefetched} + {remote} of {crossed} {direction}")
            tool.check(policy != "remote" or prefetched == 0, f"policy remote: {prefetched} bytes prefetched {direction}")
        tool.check(tool.read("y.npy") == tool.read("z.npy"), "policies differ in the result")


def for_people(tool):
    text = tool.apply("log", "x.npy", "-o", "y.npy", "--report", "--policy", "prefetch").stdout
    for pattern in (r"^log on .*, policy prefetch", r"to device 1\.00x +[\d,]+ bytes for 25,165,824 of input",
                    r"to host 1\.00x +[\d,]+ bytes for 25,165,824 of output", r" 0 redundant bytes$",
                    r"input +x\.npy +float64 +\(3145728,\) +24\.0 MiB$", r"output +y\.npy ", r"^  (read|write) .* s .* GB/s"):
        tool.check(re.search(pattern, text, re.MULTILINE), f"the report does not show {pattern}:\n{text}")
    if os.environ["FERRY_BACKEND"] == "sim":
        tool.check(re.search(r"simulated .*; modelled time$", text, re.MULTILINE), f"not said to be simulated:\n{text}")


def odd_sizes(tool):
    tool.write("empty.npy", np.zeros((0, 3)))
    tool.write("scalar.npy", np.float64(2))
    for name in ("empty.npy", "scalar.npy"):
        text = tool.apply("log", name, "-o", "o.npy", "--report").stdout
        tool.check("nan" not in text and "inf" not in text.replace("info", ""), f"{name}:\n{text}")
        report(tool, "log", name, "-o", "o.npy")
    tool.write("row.npy", np.ones((1, 1000)))
    tool.write("column.npy", np.ones((900, 1)))
    r = report(tool, "add", "row.npy", "column.npy", "-o", "o.npy")
    tool.check(r["input_bytes"] == 1900 * 8 and r["output"]["shape"] == [900, 1000], "broadcast report")


def odd_names(tool):
    for name in ('quote".npy', "back\\slash.npy", "new\nline.npy", "ünï.npy", b"not \xff utf-8.npy", "a b.npy"):
        os.link(tool.path("x.npy"), os.path.join(os.fsencode(tool.folder), os.fsencode(name)))
        r = report(tool, "floor", name, "-o", "o.npy")
        want = os.fsencode(name).decode("utf-8", "replace")
        tool.check(r["inputs"][0]["path"] == want, f"{name!r} is reported as {r['inputs'][0]['path']!r}")


def info(tool):
    r = json.loads(tool.run("info", "--json").stdout)
    tool.check(r["backend"] == os.environ["FERRY_BACKEND"] and r["limit_bytes"] > 0 and r["devices"], f"info: {r}")
    limited = json.loads(tool.run("info", "--json", environment={"FERRY_LIMIT": "64M"}).stdout)
    tool.check(limited["limit_bytes"] == 64 << 20, f"the limit is {limited['limit_bytes']}")
    text = tool.run("info").stdout
    tool.check(r["devices"][0]["name"] in text and "budget" in text, text)


def check(tool):
    once_each_way(tool, fields(tool))
    without_hints(tool)
    either_way_once(tool)
    for_people(tool)
    odd_sizes(tool)
    odd_names(tool)
    info(tool)


harness.main(check)
