#!/bin/sh
# fast_ways.sh LIBRARY: what costs every malloc and free, and no comparison of results shows: that they begin cache lines,
# and that the library's variables of a thread begin none of pages, since the C library's own would begin one too.
set -eu
library=$1 status=0
export LC_ALL=C
tls=$(readelf -lW "$library" | awk '$1 == "TLS" {print $NF}')
[ -n "$tls" ] || { echo "the library has no variables of a thread"; exit 1; }
if [ $((tls)) -gt 64 ]; then
    echo "a thread's variables are aligned to $tls"
    status=1
fi
for name in malloc free; do
    address=$(nm -D --defined-only "$library" | awk -v name=$name '$3 == name {print "0x" $1}')
    if [ -z "$address" ] || [ $((address % 64)) -ne 0 ]; then
        echo "$name is at ${address:-no address}"
        status=1
    fi
done
exit $status
