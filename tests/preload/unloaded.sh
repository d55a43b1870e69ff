#!/bin/sh
# unloaded.sh setuid|static LIBRARY CC SOURCE FERRY: such a program runs as if nothing were preloaded. Skipped where there can
# be none. No library that is preloaded can fail that, since none is loaded; what can is a command that only sets the variable
# and leaves it to the user to wonder: `ferry run` says why nothing will come of it.
set -eu
kind=$1 library=$2 cc=$3 source=$4 ferry=$5
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
program=$scratch/program
if [ "$kind" = static ]; then
    "$cc" -static -DSTATIC -o "$program" "$source" || { echo "no static C library"; exit 77; }
    said=$(LD_PRELOAD=$library "$program")
    reason="$program is linked statically"
else
    [ "$(id -u)" = 0 ] || { echo "only root makes programs that run as root"; exit 77; }
    command -v setpriv >/dev/null || { echo "no setpriv"; exit 77; }
    "$cc" -o "$program" "$source" -ldl
    chmod 755 "$scratch"
    chmod 4755 "$program"
    said=$(setpriv --reuid=65534 --clear-groups "$program" setuid) || { echo "rights are not granted here"; exit 77; }
    said=$(LD_PRELOAD=$library setpriv --reuid=65534 --clear-groups "$program" setuid)
    chown 65534 "$program"
    chmod 4755 "$program"
    reason="$program runs with another user's rights"
fi
[ "$said" = "as if nothing were preloaded" ]

"$ferry" run "$program" >"$scratch/said" 2>"$scratch/line"
[ "$(cat "$scratch/said")" = "as if nothing were preloaded" ]
grep -qF "$reason" "$scratch/line"
LD_PRELOAD=$library "$program" >/dev/null 2>"$scratch/line"
if grep -qF "$reason" "$scratch/line"; then
    echo "the loader says it by itself"
    exit 1
fi
