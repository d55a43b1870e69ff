#!/usr/bin/env bash
# h200.sh [BUILD [STEP...]]: everything that needs the real device, from the source root; or only the steps named.
#
# Builds in BUILD (default build/h200) unless that holds a build already, then runs the tests labelled gpu, the same under
# compute-sanitizer, every operation against NumPy, the foundation benchmark and the suites of `ferry bench`. A step that
# fails or is too slow does not stop the next. Logs and JSON go to $OUT, or ./results. With no network, jemalloc's tarball
# has to lie in .deps/, as does the terrain for k-means (docs/benchmarks.md) where there is no matplotlib. The steps:
# foundation sanitizer gpu-tests numpy numpy-speed placement transfer pingpong producer alloc launch stream peers run
# programs reuse. All of them take more than two sessions of ten minutes: name them in three.
# FERRY_COMMIT names the commit where the folder is no checkout; FERRY_CUPTI and FERRY_CUBLAS name those libraries' files;
# FERRY_TOTAL_S: seconds in all, default 560; FERRY_REUSE_S: of those, for the suite reuse, default 330; FERRY_RUN_S: of
# those, for repeating the programs of examples/run, default 120; FERRY_EXAMPLES: the folder with those, built elsewhere
# when there is no nvcc here; FERRY_PROGRAMS_S: for repeating those of benchmarks/programs, default 100;
# FERRY_PEERS_S: for the comparison with other libraries, default 100. No step may have more than 8 GiB of managed memory.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
build=${1:-build/h200}
out=${OUT:-results}
mkdir -p "$out"
export FERRY_LIMIT=8G
export FERRY_BACKEND=cuda
total_s=${FERRY_TOTAL_S:-560}
reuse_s=${FERRY_REUSE_S:-330}
wanted=" ${*:2} "
summary=()
failed=0

# step NAME LIMIT COMMAND…: the limit in seconds, less where the whole run's time is up; the log is NAME.log.
step() {
    local name=$1 limit=$2 status=0 started=$SECONDS
    shift 2
    [[ $name = build || $wanted = "  " || $wanted = *" $name "* ]] || return 0
    local left=$((total_s - SECONDS))
    [ "$left" -lt "$limit" ] && limit=$left
    if [ "$limit" -le 5 ]; then
        summary+=("$(printf '%-12s not run: no time left' "$name")")
        failed=1
        return
    fi
    printf '\n== %s\n' "$name"
    timeout --kill-after=5 "$limit" bash -c "$(declare -f); $(declare -p build out); $(printf '%q ' "$@")" 2>&1 |
        tee "$out/$name.log" | tail -n 60
    status=${PIPESTATUS[0]}
    [ "$status" -eq 0 ] || failed=1
    summary+=("$(printf '%-12s %s, %d s' "$name" "$([ "$status" -eq 0 ] && echo passed || echo "failed ($status)")" $((SECONDS - started)))")
}

find_first() {
    local file
    for file in "$@"; do
        [ -e "$file" ] && { printf '%s\n' "$file"; return 0; }
    done
    return 1
}

# Python's wheels carry the toolkit's libraries where the toolkit itself does not.
wheel_library() {
    python3 - "$1" <<'PYTHON' 2>/dev/null
import glob, os, site, sys
for root in [*site.getsitepackages(), *sys.path]:
    for path in sorted(glob.glob(os.path.join(root, "nvidia", "**", sys.argv[1]), recursive=True)):
        print(path)
        raise SystemExit
PYTHON
}

find_libraries() {
    if [ -z "${FERRY_CUPTI:-}" ] && ! ldconfig -p | grep -q 'libcupti\.so'; then
        FERRY_CUPTI=$(find_first /usr/local/cuda/extras/CUPTI/lib64/libcupti.so* /usr/local/cuda/lib64/libcupti.so* ||
            wheel_library 'libcupti.so.1*')
        export FERRY_CUPTI
    fi
    if [ -z "${FERRY_CUBLAS:-}" ] && ! ldconfig -p | grep -q 'libcublas\.so'; then
        FERRY_CUBLAS=$(find_first /usr/local/cuda/lib64/libcublas.so.1[23] || wheel_library 'libcublas.so.1*')
        export FERRY_CUBLAS
    fi
    if ! ldconfig -p | grep -q 'libnvrtc\.so' && ! find_first /usr/local/cuda/lib64/libnvrtc.so* >/dev/null; then
        LD_LIBRARY_PATH=$(dirname "$(wheel_library 'libnvrtc.so.1*')"):${LD_LIBRARY_PATH:-}
        export LD_LIBRARY_PATH
    fi
}

# A build made elsewhere has no use for cmake here.
made_here() {
    grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$build/CMakeCache.txt" 2>/dev/null
}

make_build() {
    if [ -x "$build/benchmarks/bench_foundation" ] && [ -x "$build/tools/ferry" ] && ! made_here; then
        echo "using what is in $build"
        return
    fi
    local options=() cupti
    command -v ninja >/dev/null && options+=(-G Ninja)
    cupti=$(find_first /usr/local/cuda/include/cupti.h /usr/local/cuda/extras/CUPTI/include/cupti.h ||
        wheel_library cupti.h)
    [ -n "$cupti" ] && options+=("-DFERRY_CUPTI_INCLUDE=$(dirname "$cupti")")
    cmake -S . -B "$build" "${options[@]}" -DFERRY_CUDA=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo &&
        cmake --build "$build" -j "$(nproc)"
}

# One command a line: the tests labelled gpu that are programs of ours.
gpu_commands() {
    if ! made_here; then
        find "$build/tests/gpu" -maxdepth 1 -type f -name 'test_*' -perm -u+x | sort
        return
    fi
    ctest --test-dir "$build" -L gpu --show-only=json-v1 | python3 -c '
import json, os, shlex, sys
for test in json.load(sys.stdin)["tests"]:
    command = test.get("command", [])
    if command and os.path.basename(command[0]).startswith("test_"):
        print(shlex.join(command))'
}

# Runs each with a prefix, shows how it ended, and fails when one does.
each_program() {
    local command status bad=0 ran=0
    while read -r command; do
        "$@" "$command" </dev/null
        status=$?
        printf '%-60s %s\n' "${command#"$build"/}" "$([ "$status" -eq 0 ] && echo passed || echo "status $status")"
        [ "$status" -eq 0 ] || [ "$status" -eq 77 ] || bad=1
        ran=$((ran + 1))
    done < <(gpu_commands)
    [ "$ran" -gt 0 ] && [ "$bad" -eq 0 ]
}

gpu_tests() {
    if made_here; then
        ctest --test-dir "$build" -L gpu -j 12 --output-on-failure --no-tests=error
    else
        each_program timeout 60 bash -c
    fi
}

# A child of a program under the sanitizer dies of the sanitizer's own, whatever it does: the test that forks runs without.
# Errors of calls are provoked by some tests on purpose; what counts is memory. CUPTI and the sanitizer exclude each other.
sanitize_one() {
    case $1 in *gpu_fork*) echo "not under the sanitizer"; return 77 ;; esac
    FERRY_CUPTI=/none FERRY_TEST_SANITIZED=1 timeout 60 bash -c "$sanitizer --tool memcheck --report-api-errors no --error-exitcode 99 \
        --target-processes application-only $1" 2>&1 | grep -vE '^skipped|checks, 0 failed$'
    return "${PIPESTATUS[0]}"
}

sanitize() {
    sanitizer=$(command -v compute-sanitizer || find_first /usr/local/cuda/bin/compute-sanitizer \
        /usr/local/cuda/compute-sanitizer/compute-sanitizer) || { echo "no compute-sanitizer"; return 1; }
    each_program sanitize_one
}

# The first of these that has NumPy.
numpy_python() {
    local python
    for python in python3 /usr/bin/python3; do
        "$python" -c 'import numpy' 2>/dev/null && break
    done
    printf '%s\n' "$python"
}

against_numpy() {
    local ferry
    ferry=$(find_first "$build/tools/ferry" "$build/ferry" "$build/bin/ferry") || { echo "no ferry command"; return 1; }
    "$ferry" info
    "$(numpy_python)" benchmarks/apply_numpy.py "$ferry" include/ferry/ops.def --json "$out/apply.json" --jobs "$(nproc)" --large
}

# package_python PROGRAM ARGUMENT…: with the package of the build, by the interpreter that it was built for.
package_python() {
    local python
    python=$(sed -n 's/^_Python_EXECUTABLE:INTERNAL=//p' "$build/CMakeCache.txt")
    [ -e "$build/python/ferry/__init__.py" ] || { echo "the Python package is not built"; return 1; }
    PYTHONPATH=$build/python "${python:-python3}" -B "$@"
}

numpy_speed() {
    package_python benchmarks/numpy_speed.py --json "$out/numpy.json" --check
}

peers() {
    package_python benchmarks/peers.py --json "$out/peers.json" --time "${FERRY_PEERS_S:-100}"
}

foundation() {
    "$build/benchmarks/bench_foundation" --json "$out/foundation.json" --check
}

# suite NAME OPTION…: one of `ferry bench`.
suite() {
    "$build/tools/ferry" bench "$1" --json "$out/$1.json" --check "${@:2}"
}

# What the programs' loader does not find, the toolkit or Python's wheels may have.
add_missing_libraries() {
    local name file
    for name in $(ldd "$@" 2>/dev/null | sed -n 's/^[[:space:]]*\(lib[^ ]*\) => not found$/\1/p' | sort -u); do
        file=$(find_first "/usr/local/cuda/lib64/$name" || wheel_library "$name")
        [ -n "$file" ] && LD_LIBRARY_PATH=$(dirname "$file"):${LD_LIBRARY_PATH:-}
    done
    export LD_LIBRARY_PATH
}

# Programs that know nothing of ferry: right, and how long they take.
run_programs() {
    local programs=${FERRY_EXAMPLES:-$build/examples/run} script=examples/run/host_script.py python
    python=$(numpy_python)
    add_missing_libraries "$programs"/malloc_cublas "$programs"/register_buffer
    "$python" -B tests/run/examples.py "$build/tools/ferry" "$programs" "$script" &&
        "$python" -B benchmarks/run_programs.py "$build/tools/ferry" "$programs" "$script" --out "$out/run" --time "${FERRY_RUN_S:-120}"
}

# The same programs with explicit copies and with ferry.
real_programs() {
    "$(numpy_python)" -B benchmarks/real_programs.py "$build/benchmarks/programs" --json "$out/programs.json" \
        --time "${FERRY_PROGRAMS_S:-100}" --check
}

nvidia-smi --query-gpu=name,driver_version,memory.free --format=csv,noheader || echo "no nvidia-smi"
find_libraries
step build 200 make_build
step foundation 60 foundation
step sanitizer 150 sanitize
step gpu-tests 380 gpu_tests
step numpy 120 against_numpy
step numpy-speed 150 numpy_speed
step peers $((${FERRY_PEERS_S:-100} + 60)) peers
step placement 150 suite placement
step transfer 150 suite transfer
step pingpong 120 suite pingpong
step producer 90 suite producer
step alloc 150 suite alloc
step launch 90 suite launch
step stream 90 suite stream
step run 240 run_programs
step programs 240 real_programs
step reuse $((reuse_s + 60)) suite reuse --time "$reuse_s"

printf '\n== summary, %d s\n' "$SECONDS"
printf '%s\n' "${summary[@]}"
exit "$failed"
