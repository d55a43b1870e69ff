#!/bin/sh
# unloaded.sh setuid|static LIBRARY CC SOURCE: such a program runs as if nothing were preloaded. Skipped where there can be none.
set -eu
kind=$1 library=$2 cc=$3 source=$4
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
program=$scratch/program
if [ "$kind" = static ]; then
    "$cc" -static -DSTATIC -o "$program" "$source" || { echo "no static C library"; exit 77; }
    said=$(LD_PRELOAD=$library "$program")
else
    [ "$(id -u)" = 0 ] || { echo "only root makes programs that run as root"; exit 77; }
    command -v setpriv >/dev/null || { echo "no setpriv"; exit 77; }
    "$cc" -o "$program" "$source" -ldl
    chmod 755 "$scratch"
    chmod 4755 "$program"
    said=$(setpriv --reuid=65534 --clear-groups "$program" setuid) || { echo "rights are not granted here"; exit 77; }
    said=$(LD_PRELOAD=$library setpriv --reuid=65534 --clear-groups "$program" setuid)
fi
[ "$said" = "as if nothing were preloaded" ]
