#!/bin/sh
# lacking.sh CAREFUL LACKING PROGRAM [ARGUMENT…]: the program passes under the one library and fails, or hangs, under the other.
set -u
careful=$1 lacking=$2
shift 2
[ -f "$careful" ] && [ -f "$lacking" ] || { echo "no libraries"; exit 1; }
timeout 60 env LD_PRELOAD="$careful" "$@" || { echo "fails with every care taken"; exit 1; }
if timeout -s KILL 10 env LD_PRELOAD="$lacking" "$@" >/dev/null 2>&1; then
    echo "passes without the care"
    exit 1
fi
