#!/bin/sh
# format.sh SOURCE: the sources are as clang-format leaves them. Another major version may differ in details: skipped then.
set -eu
cd "$1"
. tests/meta/sources.sh

formatter=
for candidate in clang-format-14 clang-format; do
    if "$candidate" --version 2>/dev/null | grep -q 'version 14\.'; then
        formatter=$candidate
        break
    fi
done
[ -n "$formatter" ] || { echo "no clang-format 14 here"; exit 77; }

wrong=$(sources '*.c' '*.h' '*.cu' '*.cuh' | tr '\n' '\0' | xargs -0 "$formatter" --dry-run 2>&1 |
    sed -nE 's/^([^ :]+):[0-9]+:[0-9]+: warning:.*/\1/p' | sort -u)
if [ -n "$wrong" ]; then
    printf 'not formatted:\n%s\n' "$wrong"
    exit 1
fi
