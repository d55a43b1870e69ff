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

status=0
for file in $(sources '*.c' '*.h' '*.cu' '*.cuh'); do
    if ! "$formatter" "$file" | cmp -s - "$file"; then
        echo "$file is not formatted: $formatter -i $file"
        status=1
    fi
done
exit $status
