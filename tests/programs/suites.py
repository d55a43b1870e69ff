"""Programs of minutes: a server under its benchmark, an allocator's stress, and test suites."""
import os
import pathlib
import re
import shutil
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from typing import Any, Dict, List

from runner import Absent, Outcome, Program, Runner

# Of CPython's tests those that use memory in many ways, processes, threads and signals, and that give the same results
# twice; without those that need a network, a display or a debugger, or whose outcome is one of timing.
PYTHON_TESTS = """
    test_abc test_argparse test_array test_ast test_asyncgen test_atexit test_base64 test_bigmem test_binascii
    test_bisect test_bool test_buffer test_bufio test_builtin test_bytes test_bz2 test_call test_cmath test_code
    test_codecs test_codeop test_collections test_compile test_complex test_contextlib test_copy test_coroutines
    test_csv test_ctypes test_dataclasses test_datetime test_decimal test_deque test_descr test_dict test_difflib
    test_dis test_email test_enum test_exceptions test_fileio test_float test_fork1 test_format test_fractions
    test_frame test_fstring test_functools test_gc test_generators test_glob test_grammar test_gzip test_hash
    test_hashlib test_heapq test_hmac test_html test_import test_inspect test_int test_io test_iter test_itertools
    test_json test_list test_long test_lzma test_mailbox test_marshal test_math test_memoryio test_memoryview
    test_minidom test_mmap test_operator test_ordered_dict test_os test_pathlib test_pickle test_pickletools
    test_posix test_pprint test_pyexpat test_queue test_random test_re test_richcmp test_sax test_set test_shelve
    test_shlex test_shutil test_signal test_slice test_sort test_sqlite3 test_statistics test_str test_strptime
    test_struct test_subprocess test_sys test_tarfile test_tempfile test_textwrap test_thread test_threading
    test_tokenize test_traceback test_tracemalloc test_tuple test_types test_typing test_unicodedata test_unittest
    test_userdict test_userlist test_userstring test_uuid test_wait3 test_wait4 test_weakref test_weakset
    test_xml_etree test_xml_etree_c test_yield_from test_zipfile test_zipimport test_zlib test_zoneinfo
    """.split()

# A device costs a process some descriptors and a thread: the first two of these list the one, the third counts the
# other. The last is skipped or not by which descriptors happen to be free.
PYTHON_TESTS_LEFT_OUT = ["test_pass_fds_redirected", "test_close_fds_when_max_fd_is_lowered",
                         "test_main_thread_after_fork", "test_closerange"]

# All but f2py's, which need a Fortran compiler and a build system, and typing's, which need a type checker.
NUMPY_TESTS = "_core fft lib linalg ma matrixlib polynomial random testing".split()


def outcomes(path: pathlib.Path) -> Dict[str, str]:
    """What became of each test of a JUnit report."""
    found: Dict[str, str] = {}
    for case in ElementTree.parse(path).iter("testcase"):
        kinds = sorted({child.tag for child in case} & {"failure", "error", "skipped"})
        name = f"{case.get('classname', '')}::{case.get('name', '')}"
        found[name] = " ".join([found.get(name, ""), *(kinds or ["passed"])]).strip()
    return found


def suite(run: Runner, status: int, report: pathlib.Path) -> Outcome:
    tests = outcomes(report) if report.exists() else {}
    not_passed = {name: outcome for name, outcome in tests.items() if set(outcome.split()) != {"passed"}}
    failed = [name for name, outcome in not_passed.items() if "failure" in outcome or "error" in outcome]
    passed = len(tests) - len(not_passed)
    if passed == 0:
        raise RuntimeError(f"no test passes, whatever the heap (status {status})")
    summary = f"{passed} tests pass, {len(not_passed) - len(failed)} are skipped, {len(failed)} fail"
    return {"summary": summary, "status": status, "names": sorted(tests), **not_passed}


def python(run: Runner) -> Outcome:
    interpreter = os.environ.get("TEST_PYTHON", shutil.which("python3") or "")
    if subprocess.run([interpreter, "-c", "import test.test_gc"], stderr=subprocess.DEVNULL).returncode != 0:
        raise Absent("Python with its own tests (set TEST_PYTHON)")
    report = run.folder / "report.xml"
    # Modules in processes of their own, as a shared one's tests see each other's memory and threads.
    left_out = [argument for name in PYTHON_TESTS_LEFT_OUT for argument in ("--ignore", name)]
    status, _, _ = run.call(interpreter, "-m", "test", "-j2", "--randseed", "1", "--junit-xml", str(report), *left_out,
                            "--tempdir", str(run.folder), *PYTHON_TESTS)
    return suite(run, status, report)


def numpy(run: Runner) -> Outcome:
    interpreter = os.environ.get("FERRY_PYTHON", shutil.which("python3") or "")
    found = subprocess.run([interpreter, "-c", "import pytest, hypothesis, numpy; print(numpy.__path__[0])"],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if found.returncode != 0:
        raise Absent("Python with NumPy, pytest and hypothesis (set FERRY_PYTHON)")
    folder = pathlib.Path(os.fsdecode(found.stdout.strip()))
    report = run.folder / "report.xml"
    folders = [str(folder / part / "tests") for part in NUMPY_TESTS]
    status, _, _ = run.call(interpreter, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow",
                            "-W", "ignore", f"--junitxml={report}", *folders,
                            HYPOTHESIS_STORAGE_DIRECTORY=str(run.folder / "hypothesis"))
    return suite(run, status, report)


def wait_for(run: Runner, server: "subprocess.Popen[bytes]", *ping: str) -> None:
    until = time.monotonic() + 60
    while run.call(*ping)[1].strip() != b"PONG":
        if server.poll() is not None or time.monotonic() > until:
            raise RuntimeError(f"redis-server does not answer (status {server.poll()})")
        time.sleep(0.1)


def serve(run: Runner, session: "List[List[str]]") -> List[Any]:
    """The answers of a server that begins with what was saved in the folder, and its status."""
    socket = str(run.folder / "socket")
    server = subprocess.Popen(
        ["redis-server", "--port", "0", "--unixsocket", socket, "--dir", str(run.folder), "--save", "",
         "--enable-debug-command", "yes", "--hz", "10", "--logfile", str(run.folder / "log")],
        cwd=run.folder, env=run.environment, stdin=subprocess.DEVNULL)
    try:
        wait_for(run, server, "redis-cli", "-s", socket, "ping")
        answers: List[Any] = [run.call(command[0], "-s", socket, *command[1:]) for command in session]
        run.call("redis-cli", "-s", socket, "shutdown", "nosave")
        return answers + [server.wait(timeout=60)]
    finally:
        server.kill()
        server.wait()


LOAD = """
    for i = 1, 40000 do
        redis.call('SET', 'key:' .. i, string.rep('v' .. i, i % 60))
        redis.call('ZADD', 'sorted', i * 7919 % 40009, 'member:' .. i)
        redis.call('HSET', 'hash:' .. i % 500, 'field:' .. i, i * 3)
    end
    redis.call('SET', 'large', string.rep('0123456789', 800000))
    return redis.call('DBSIZE')
    """


def redis(run: Runner) -> Outcome:
    run.need("redis-server", "redis-cli", "redis-benchmark")
    tests = "set,get,incr,lpush,lrange_100,sadd,hset,zadd,mset"
    benchmark = f"redis-benchmark -q --csv -n 100000 -c 50 -P 4 -t {tests}".split()
    tell = "redis-cli".split()
    load, tell_digest = tell + ["eval", LOAD, "0"], tell + ["debug", "digest"]
    # A save is a fork's child that writes what its parent held; a shutdown would end it.
    first = serve(run, [load, tell_digest, benchmark, tell + ["flushall"], load, tell_digest, tell + ["bgsave"],
                        tell + "-r 100 -i 0.05 info persistence".split()])
    first[-2][1] = b"rdb_last_bgsave_status:ok" in first[-2][1] and (run.folder / "dump.rdb").exists()
    first[2][1] = re.sub(rb',".*', b"", first[2][1]).splitlines()  # what was run, without how fast
    second = serve(run, [tell + ["dbsize"], tell_digest])
    return {"summary": "benchmark, background save and restart", "answers": first, "restarted": second}


def stress(run: Runner) -> Outcome:
    run.need("stress-ng")
    arguments = f"--malloc 2 --malloc-pthreads 4 --malloc-bytes 256M --verify -t {run.seconds}".split()
    status, out, error = run.call("stress-ng", *arguments)
    trees = run.call("stress-ng", *"--tree 1 --tree-ops 20 --qsort 1 --qsort-ops 10 --hsearch 1 --hsearch-ops 20 "
                     "--list 1 --list-ops 20 --verify".split())
    said = re.sub(rb"\[\d+\]|completed in .*", b"", error + trees[2]).splitlines()
    return {"summary": f"malloc with 4 threads for {run.seconds} s", "status": [status, trees[0]],
            "said": [line for line in said if b"fail" in line or b"success" in line]}


PROGRAMS: Dict[str, Program] = {"redis": redis, "stress-ng": stress, "python": python, "numpy": numpy}
