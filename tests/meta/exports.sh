#!/bin/sh
# exports.sh SOURCE CC LIBRARY ARCHIVE [PRELOAD]: the shared library exports what the public headers declare, the static one
# too, and neither anything else; the preload library that, and what cmake/preload.map names. The shared one needs no static
# TLS, so that it can be opened at run time.
set -eu
source=$1 cc=$2 library=$3 archive=$4 preload=${5:-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# FERRY_API, once preprocessed, is an attribute; the declared name is the first that a parenthesis follows.
for header in "$source"/include/ferry/*.h; do
    echo "#include \"ferry/$(basename "$header")\""
done | "$cc" -x c -std=c11 -I"$source/include" -E -P - | tr '\n' ' ' | tr ';{}' '\n' |
    grep 'visibility("default")' | grep -oE 'ferry_[a-z0-9_]+ *\(.*' | sed 's/ *(.*//' | sort -u >"$scratch/declared"
exports_of() {
    nm -D --defined-only -P "$1" | awk '$2 != "A" {sub(/@.*/, "", $1); print $1}' | sort -u
}
exports_of "$library" >"$scratch/exported"
nm -g --defined-only -P "$archive" | awk 'NF > 2 {print $1}' | sort -u >"$scratch/archived"

[ -s "$scratch/declared" ] || { echo "no declaration found"; exit 1; }
status=0
for form in exported archived; do
    missing=$(comm -23 "$scratch/declared" "$scratch/$form" | tr '\n' ' ')
    surplus=$(comm -13 "$scratch/declared" "$scratch/$form" | tr '\n' ' ')
    [ -z "$missing" ] || { echo "declared, not $form: $missing"; status=1; }
    [ -z "$surplus" ] || { echo "$form, not declared: $surplus"; status=1; }
done
if [ -n "$preload" ]; then
    tr ' ' '\n' <"$source/cmake/preload.map" | grep -oE '^[A-Za-z_0-9]+;' | tr -d ';' | sort -u - "$scratch/declared" >"$scratch/named"
    exports_of "$preload" | comm -3 "$scratch/named" - >"$scratch/differ"
    [ ! -s "$scratch/differ" ] || { echo "named, or in the second column exported, by the preload library alone:"; cat "$scratch/differ"; status=1; }
fi
if LC_ALL=C readelf -d "$library" | grep -q STATIC_TLS; then
    echo "$library needs static TLS: dlopen may fail"
    status=1
fi
exit $status
