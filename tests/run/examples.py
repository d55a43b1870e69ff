"""
The programs of examples/run, which know nothing of ferry, do under `ferry run` what they do without it. Those that hand
malloc'ed memory to a device do what they do with copies; where FERRY_BACKEND is cuda they are run too.
"""
import ctypes
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness

MIB = 1 << 20
PROGRAMS, SCRIPT = (os.path.realpath(path) for path in sys.argv[2:4])
PAGEABLE_MEMORY_ACCESS = 88  # CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS
SKIPPED = 77


def plain(tool, *command):
    return tool.run(*command[1:], program=command[0])


def under(tool, options, *command):
    """The result under `ferry run`, and what the report says of its processes with large blocks, the first one first."""
    result = tool.run("run", "--report=r.json", "--limit=1G", *options, *command)
    if not os.path.exists(tool.path("r.json")):
        tool.check(False, f"{command}: no report: {result}")
        return result, []
    processes = json.loads(tool.read("r.json"))["processes"]
    os.unlink(tool.path("r.json"))
    return result, [p for p in processes if p["managed"]["allocations"] + p["plain"]["allocations"] > 0]


def same(tool, one, two, what):
    tool.check((one.returncode, one.stdout) == (two.returncode, two.stdout) and one.returncode == 0, f"{what}: {one} {two}")


def on_device(tool, process, what):
    """The device was started, its counters say what crossed, and the limit was kept."""
    backend = "cuda" if tool.on_device else "sim"
    tool.check((process["device"], process["device_text"]) == ("started", backend), f"{what}: {process['device']} {process['device_text']}")
    tool.check(process["stats"] is not None and process["end"] == "exited", f"{what}: {process['end']}")
    tool.check(process["unmeasured"] == "" or "CUPTI is not to be found" in process["unmeasured"], process["unmeasured"])
    tool.check(process["managed"]["peak_bytes"] <= 1024 * MIB and process["beyond_limit_blocks"] == 0, f"{what}: {process['managed']}")


def sort(tool, options):
    count = 300_000
    program = os.path.join(PROGRAMS, "sort_file")
    plain(tool, program, "make", "input", str(count))
    without = plain(tool, program, "input", "plain")
    result, processes = under(tool, options, program, "input", "with")
    same(tool, without, result, f"sort_file {options}")
    tool.check(len(tool.read("plain")) == 16 * count and tool.read("plain") == tool.read("with"), f"{options}: sorted otherwise")
    on_device(tool, processes[0], "sort_file")
    if options[0] == "--threshold=1M":
        managed = processes[0]["managed"]
        tool.check((managed["allocations"], managed["peak_bytes"]) == (1, 16 * count + 1), managed)


def script(tool, options):
    result, processes = under(tool, options, sys.executable, SCRIPT)
    same(tool, plain(tool, sys.executable, SCRIPT), result, f"host_script {options}")
    on_device(tool, processes[0], "host_script")
    tool.check(processes[0]["managed"]["allocated_bytes"] > 100 * MIB, processes[0]["managed"])


def host_programs(tool):
    for threshold in ["1M"] if tool.on_device else ["1M", "4K", "0"]:
        options = [f"--threshold={threshold}", "--device=always"]
        sort(tool, options)
        script(tool, options)


def no_device_unasked(tool):
    """What does not use CUDA has no device, whatever there is."""
    if tool.on_device:
        _, processes = under(tool, [], sys.executable, SCRIPT)
        tool.check(processes[0]["device"] == "no_cuda" and processes[0]["managed"]["allocations"] == 0, processes[0]["device"])


FORKS = """
import os
before = bytearray(64 << 20)
child = os.fork()
if child == 0:
    block = bytearray(64 << 20)
    block[-1] = 7
    os._exit(0 if block[-1] == 7 and not any(block[:4096]) else 1)
status = os.waitpid(child, 0)[1]
before[0] = 1
print(status, before[0], any(before[1:4096]))
"""


def forks(tool):
    """A child of a process that has started the device allocates, and ends as ever."""
    result, processes = under(tool, ["--device=always"], sys.executable, "-c", FORKS)
    tool.check(result.returncode == 0 and result.stdout == "0 1 False\n", f"a child's status: {result}")
    if tool.check(len(processes) == 2, f"{len(processes)} processes"):
        parent, child = processes
        on_device(tool, parent, "a parent")
        tool.check(child["device"] == "forked" and child["forked_from"] == parent["pid"], child["device"])
        tool.check(child["end"] == "left" and child["plain"]["allocations"] > 0 and child["lost_bytes"] >= 64 * MIB, child)


def reaches_ordinary_memory():
    driver, device, value = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_int()
    driver.cuInit(0)
    driver.cuDeviceGet(ctypes.byref(device), 0)
    driver.cuDeviceGetAttribute(ctypes.byref(value), PAGEABLE_MEMORY_ACCESS, device)
    return value.value != 0


def device_program(tool, name, copies, blocks, block_bytes, alone):
    """What gets malloc'ed memory to a device, against the same with copies; `blocks` of it, and no others if `alone`."""
    program = os.path.join(PROGRAMS, name)
    if not os.path.exists(program):
        print(f"not built: {name}")
        return
    want = plain(tool, program, *copies)
    for option in ("--policy=auto", "--policy=none", "--threshold=4K", "--threshold=0"):
        result, processes = under(tool, [option], program)
        same(tool, want, result, f"{name} {option}")
        if tool.check(len(processes) == 1, f"{name}: {len(processes)} processes"):
            on_device(tool, processes[0], f"{name} {option}")
            counts_blocks(tool, processes[0]["managed"], blocks, block_bytes, alone and "policy" in option)


def counts_blocks(tool, managed, blocks, block_bytes, alone):
    """Below the usual threshold, and in libraries, there are others, some of which live to the end."""
    tool.check(managed["allocations"] >= blocks and managed["peak_bytes"] >= blocks * block_bytes, managed)
    if alone:
        tool.check((managed["allocations"], managed["live_bytes"]) == (blocks, 0), managed)


def device_programs(tool):
    # What CUDA allocates for itself is not among the program's blocks: it neither recurses nor is counted.
    device_program(tool, "malloc_kernel", ["10", "copies"], 4, 64 * MIB, alone=True)
    device_program(tool, "malloc_cublas", ["copies"], 3, 32 * MIB, alone=False)
    device_program(tool, "register_buffer", [], 2, 64 * MIB, alone=True)


def fails_without(tool):
    """Where a device does not reach ordinary memory, its kernels fail on it."""
    program = os.path.join(PROGRAMS, "malloc_kernel")
    if os.path.exists(program):
        result = plain(tool, program)
        if reaches_ordinary_memory():
            tool.check(result.returncode == 0, f"the device reaches ordinary memory: {result}")
        else:
            tool.check(result.returncode == 1 and "malloc_kernel: kernel: " in result.stderr, f"malloc_kernel alone: {result}")


def cupy(tool):
    result, processes = under(tool, [], sys.executable, SCRIPT, "--device")
    if result.returncode == SKIPPED:
        print("CuPy:", result.stderr.strip())
        return
    tool.check(result.returncode == 0 and "\ndevice PASS " in result.stdout, f"host_script --device: {result}")
    on_device(tool, processes[0], "host_script --device")


def check(tool):
    stories = [host_programs, forks]
    if tool.on_device:
        stories += [no_device_unasked, device_programs, fails_without, cupy]
    for story in stories:
        story(tool)


harness.main(check)
