"""The suites `transfer`, `pingpong` and `producer`: their strategies, what crosses, and that a wrong result is noticed."""
import os
import subprocess

import suite

MANAGED = {"transfer": ("none", "prefetch", "prefetch, result kept", "remote", "auto", "auto, result kept"),
           "pingpong": ("none", "prefetch", "remote", "auto"),
           "producer": ("none", "prefetch", "remote", "auto")}
EXPLICIT = {"transfer": ("pageable", "pinned", "pinned, pipelined", "pinned, zero-copy", "read-mostly"),
            "pingpong": ("pageable", "pinned", "pinned, pipelined", "pinned, zero-copy"),
            "producer": ("pageable", "pinned, one buffer", "pinned", "pinned, zero-copy")}
# What has to cross of an array of 4 MiB, to the device and home, by the simulator's page tables. Of a producer's buffers
# 2 KiB of sums come home; what the host overwrites comes home by faults where there are no hints.
CROSSINGS = {"transfer": {"none": (2, 2), "prefetch": (1, 1), "prefetch, result kept": (2, 1), "remote": (1, 1), "auto": (1, 1),
                          "auto, result kept": (1, 1)},
             "pingpong": {name: (1, 1) for name in MANAGED["pingpong"]},
             "producer": {"none": (1, 1 + 2 ** -11), **{name: (1, 2 ** -11) for name in ("prefetch", "remote", "auto")}}}
SIZES = 4096, 1 << 16, 4 << 20


def check_rows(bench, name, results):
    strategies = MANAGED[name] + (EXPLICIT[name] if bench.on_device else ())
    expected = {(strategy, size) for strategy in strategies for size in SIZES
                if strategy != "pinned, pipelined" or size >= 4 << 20}
    found = {(case["strategy"], case["bytes"]): case for case in results["cases"]}
    bench.check(set(found) == expected and len(results["cases"]) == len(expected), f"{name}: {set(found) ^ expected}")
    for key, case in found.items():
        bench.check(case["valid"] and case["runs"] >= 3, f"{name}, {key}: {case}")
        bench.check(0 < case["share"] <= (1.5 if bench.on_device else 1 + 1e-9), f"{name}, {key}: share {case['share']}")
        host = case["limit_host_ms"]
        parts = case["limit_crossing_ms"], case["limit_kernel_ms"]
        whole = max(host, *parts) if name == "producer" else host + max(parts)
        bench.check(abs(case["limit_ms"] - whole) <= 1e-6 * whole, f"{name}, {key}: limit of {case}")
    return found


def check_suite(bench, name):
    printed, results = bench.measure(name, "--size", "4K,64K,4M", "--runs", "3")
    bench.check(results["suite"] == name and printed.startswith(f"{name} on "), f"{name}: {printed[:80]}")
    bench.check(bench.on_device or "times are modelled" in printed.splitlines()[0], f"{name}: {printed[:200]}")
    bench.check_facts(results)
    found = check_rows(bench, name, results)
    check_crossing_limit(bench, name, results, found)
    bench.check(suite.figure(results, "strategies with a wrong result") == 0, f"{name}: wrong results")
    for strategy, (there, home) in CROSSINGS[name].items():
        case = found[strategy, SIZES[-1]]
        if not bench.on_device:
            bench.check((case["to_device_x"], round(case["to_host_x"], 7), case["counted_by"]) == (there, round(home, 7), "driver"),
                        f"{name}, {strategy}: {case}")
    if not bench.on_device:
        check_model(bench, name, found)
        modelled = [case for case in results["cases"] if "host_ms" in case]
        bench.check(len(modelled) == (len(found) if name == "transfer" else 0) and all(case["host_ms"] > 0 for case in modelled),
                    f"{name}: the host's part of {len(modelled)} cases")


def check_crossing_limit(bench, name, results, found):
    """By hand: sixteen buffers one way, or an array there while one comes home."""
    rates = [1e6 * results["limits"][f"{name}_gb_per_s"] for name in ("to_device", "to_host", "both")]
    size = SIZES[-1]
    expected = 16 * size / min(rates[0], rates[2]) if name == "producer" else max(size / rates[0], size / rates[1], 2 * size / rates[2])
    crossing = found["auto", size]["limit_crossing_ms"]
    bench.check(abs(crossing - expected) <= 1e-6 * expected, f"{name}: {crossing} ms for crossing, by hand {expected}")


def check_model(bench, name, found):
    """A kernel on memory at home cannot be quicker than the bus, nor much slower; prefetches are, and faults more so."""
    remote, prefetch, none = (found[strategy, SIZES[-1]] for strategy in ("remote", "prefetch", "none"))
    crossing = remote["limit_crossing_ms"]
    bench.check(crossing <= remote["median_ms"] <= 2 * crossing, f"{name}: {remote}")
    bench.check(2 * crossing < prefetch["median_ms"] < none["median_ms"], f"{name}: {prefetch}, {none}")


def check_wrong(bench, name, strategy):
    """One element is spoilt: the row is void, the others stand, and the command fails."""
    path = os.path.join(bench.folder, "wrong.json")
    result = bench.run("bench", name, "--size", "64K", "--runs", "3", "--json", path, FERRY_BENCH_SPOIL=strategy)
    bench.check(result.returncode == 1 and "wrong results: 1" in result.stderr, f"{name}: {result.returncode} {result.stderr}")
    bench.check(f"{strategy:24} " in result.stdout and "void" in result.stdout, result.stdout)
    void = [case["strategy"] for case in bench.read(path)["cases"] if not case["valid"]]
    bench.check(void == [strategy], f"{name}: void are {void}")


def check_groups(bench):
    """Where the strategies' arrays do not fit together, they take turns in groups, and find the same."""
    found = []
    for limit in ("1G", "40M"):
        _, results = bench.measure("transfer", "--size", "2M", "--runs", "3", FERRY_LIMIT=limit)
        found.append([(case["strategy"], case["median_ms"], case["runs"], case["to_device_x"]) for case in results["cases"]])
    bench.check(found[0] == found[1], f"{found}")
    result = bench.run("bench", "transfer", "--size", "2M,4M", "--runs", "3", FERRY_LIMIT="4M")
    bench.check(result.returncode == 0 and "Left out: 4 MiB" in result.stdout and ", 2 MiB: at best" in result.stdout, result.stdout)
    result = bench.run("bench", "producer", "--size", "4M,8M", "--runs", "3", FERRY_LIMIT="16M")  # sums lie beside the buffers
    bench.check(result.returncode == 0 and "Left out: 8 MiB" in result.stdout and ", 4 MiB: at best" in result.stdout, f"{result}")
    result = bench.run("bench", "transfer", "--size", "4M", FERRY_LIMIT="4M")
    bench.check(result.returncode == 1 and "FERRY_LIMIT" in result.stderr, result.stderr)


def run_in_little(bench, *arguments):
    """With 1 GiB of addresses."""
    return subprocess.run(["sh", "-c", 'ulimit -v 1048576 && exec "$@"', "sh", bench.program, *arguments], cwd=bench.folder,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def check_broken_off(bench):
    """A size for which there is no memory ends the suite: the file has what was measured before."""
    if run_in_little(bench, "--version").returncode != 0:
        return  # a sanitizer needs more than that
    path = os.path.join(bench.folder, "broken.json")
    result = run_in_little(bench, "bench", "pingpong", "--size", "64K,1G", "--runs", "3", "--json", path)
    bench.check(result.returncode == 1 and "broke off" in result.stderr, f"{result}")
    found = [(case["strategy"], case["bytes"], case["runs"]) for case in bench.read(path)["cases"]]
    bench.check(found == [(name, 1 << 16, 3) for name in MANAGED["pingpong"]], f"{found}")


def check_alternating(bench):
    """Where host and device may not use managed memory at the same time, nothing is tried that does."""
    printed, results = bench.measure("producer", "--size", "64K", FERRY_SIM_CONCURRENT="0")
    bench.check("4 strategies are left out" in printed and not results["cases"], printed)


def check(bench):
    for name in MANAGED:
        check_suite(bench, name)
        check_wrong(bench, name, "auto")
    if bench.on_device:
        check_wrong(bench, "transfer", "pinned, zero-copy")
    else:
        check_groups(bench)
        check_broken_off(bench)
        check_alternating(bench)


os.environ.pop("FERRY_POLICY", None)
suite.main(check)
