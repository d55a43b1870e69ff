"""The links' costs: measured and kept on a device, the modelled machine's on the simulator, and the same in ferry info."""
import json
import os
import re
import tempfile

import harness

GIB = 1 << 30
FIELDS = """to_device_ns to_device_ns_per_byte to_host_ns to_host_ns_per_byte discard_to_device_ns_per_byte
    discard_to_host_ns_per_byte fill_device_ns_per_byte fill_host_ns_per_byte remote_ns hidden_ns
    remote_read_ns_per_byte remote_write_ns_per_byte remote_both_ns_per_byte device_ns_per_byte""".split()
ROW = re.compile(r"^    (\w[\w :]+\w) +([\d.]+) ms/GiB +([\d.]+|-) GB/s(?: +([\d.]+) us)?$", re.MULTILINE)
TABLE = {  # row: the fields that it shows
    "prefetch to the device": ("to_device_ns_per_byte", "to_device_ns"),
    "prefetch to the host": ("to_host_ns_per_byte", "to_host_ns"),
    "discard to the device": ("discard_to_device_ns_per_byte", None),
    "discard to the host": ("discard_to_host_ns_per_byte", None),
    "first touch on the device": ("fill_device_ns_per_byte", None),
    "first touch on the host": ("fill_host_ns_per_byte", None),
    "kernel across the bus: loads": ("remote_read_ns_per_byte", "remote_ns"),
    "kernel across the bus: stores": ("remote_write_ns_per_byte", "remote_ns"),
    "kernel across the bus: both": ("remote_both_ns_per_byte", "remote_ns"),
    "kernel on the device: loads": ("device_ns_per_byte", None),
}


def output(tool, *arguments, environment=None):
    """Of a run that must succeed in silence."""
    result = tool.run(*arguments, environment=environment)
    tool.check(result.returncode == 0 and not result.stderr, f"{arguments}: {result.returncode} {result.stderr}")
    return result.stdout


def parsed(tool, *arguments, environment=None):
    return json.loads(output(tool, *arguments, "--json", environment=environment))


def costs(report):
    return [device["link_costs"] for device in report["devices"]]


def fields(tool):
    report = parsed(tool, "calibrate")
    tool.check(report["backend"] == os.environ["FERRY_BACKEND"], f"backend is {report['backend']}")
    tool.check(report["modelled"] is not tool.on_device, f"modelled is {report['modelled']}")
    tool.check([device["device"] for device in report["devices"]] == list(range(len(report["devices"]))), report)
    for link in costs(report):
        tool.check(list(link) == FIELDS, f"fields: {list(link)}")
        tool.check(all(isinstance(link[name], (int, float)) and link[name] >= 0 for name in FIELDS), link)
    tool.check(costs(parsed(tool, "info")) == costs(report), "info shows other costs than were just measured")
    return costs(report)


def close(a, b, digits):
    return abs(a - b) <= 0.51 * 10**-digits + 1e-6 * abs(b)


def check_table(tool, text, link):
    rows = {name: values for name, *values in ROW.findall(text)}
    tool.check(set(rows) == set(TABLE), f"rows: {sorted(rows)}")
    for name, (ms, rate, us) in rows.items():
        per_byte, fixed = TABLE[name]
        tool.check(close(float(ms), link[per_byte] * GIB / 1e6, 2), f"{name}: {ms} ms/GiB for {link[per_byte]}")
        tool.check(close(float(rate), 1 / link[per_byte], 1), f"{name}: {rate} GB/s for {link[per_byte]}")
        tool.check((us != "") == (fixed is not None), f"{name}: a fixed cost of {us!r}")
        if us:
            tool.check(close(float(us), link[fixed] / 1e3, 1), f"{name}: {us} us for {link[fixed]}")
    hidden = re.search(r"^    hidden behind the next launch +([\d.]+) us$", text, re.MULTILINE)
    tool.check(hidden and close(float(hidden[1]), link["hidden_ns"] / 1e3, 1), f"hidden: {hidden} for {link['hidden_ns']}")


def table(tool):
    check_table(tool, output(tool, "info"), costs(parsed(tool, "info"))[0])
    text = output(tool, "calibrate", "--device", "0")
    check_table(tool, text, costs(parsed(tool, "info"))[0])


def refused(tool, arguments, status, pattern, environment=None):
    result = tool.run(*arguments, environment=environment)
    tool.check(result.returncode == status and not result.stdout, f"{arguments}: {result.returncode}, {result.stdout!r}")
    tool.check(result.stderr.startswith("ferry: ") and re.search(pattern, result.stderr),
               f"{arguments}: {result.stderr!r} does not say {pattern}")


def devices(tool):
    for number in ("99", "-1", "99999999999"):
        refused(tool, ["calibrate", f"--device={number}"], 1, rf"there is no device {number}; devices are 0 to \d+")
    for word in ("x", "", "0x", "9" * 30):
        refused(tool, ["calibrate", f"--device={word}"], 2, r"--device takes a device's number, not ")
    refused(tool, ["calibrate", "--device"], 2, "--device needs a value: N")


def kept(tool, cache):
    """In one file, where it says, which later programs use; without a place for it the figures are still shown."""
    report = parsed(tool, "calibrate")
    tool.check(report["cached_in"] == cache and len(os.listdir(cache)) == len(report["devices"]), os.listdir(cache))
    for _ in range(2):
        tool.check(costs(parsed(tool, "info")) == costs(report), "a later program measures anew")
    tool.check(f"Cached in {cache}." in output(tool, "calibrate"), "calibrate does not say where it caches")
    result = tool.run("calibrate", environment={"FERRY_CACHE": "/proc/version/below"})
    tool.check(result.returncode == 1 and ROW.search(result.stdout), f"without a cache: {result.stdout}")
    tool.check(re.search("not cached: /proc/version/below: ", result.stderr), f"without a cache: {result.stderr}")
    result = tool.run("calibrate", "--json", environment={"FERRY_CACHE": "/proc/version/below"})
    tool.check(result.returncode == 1 and json.loads(result.stdout)["cached_in"] is None, result.stdout)


def modelled(tool, cache):
    report = parsed(tool, "calibrate")
    tool.check(report["cached_in"] is None and os.listdir(cache) == [], f"cached: {os.listdir(cache)}")
    tool.check("modelled machine's figures" in output(tool, "calibrate"), "calibrate does not say that nothing is measured")
    tool.check("modelled machine's" in output(tool, "info"), "info does not say whose costs they are")
    other = parsed(tool, "calibrate", environment={"FERRY_SIM_LINK": "a100-pcie4"})
    tool.check(costs(other) != costs(report), "all links cost the same")
    two = {"FERRY_SIM_DEVICES": "2"}
    tool.check(len(parsed(tool, "calibrate", environment=two)["devices"]) == 2, "not every device is calibrated")
    one = parsed(tool, "calibrate", "--device", "1", environment=two)["devices"]
    tool.check([device["device"] for device in one] == [1], f"--device 1: {one}")
    without = {"FERRY_SIM_CONCURRENT": "0"}
    refused(tool, ["calibrate"], 1, "no hints can be given", environment=without)
    tool.check("assumed" in output(tool, "info", environment=without), "info does not say that the costs are assumed")


def check(tool):
    with tempfile.TemporaryDirectory() as cache:
        os.environ["FERRY_CACHE"] = cache
        fields(tool)
        table(tool)
        devices(tool)
        (kept if tool.on_device else modelled)(tool, cache)


harness.main(check)
