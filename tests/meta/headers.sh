#!/bin/sh
# headers.sh SOURCE CC [CXX]: every public header compiles alone, without a warning, as C11 and as C++17.
set -u
source=$1 cc=$2 cxx=${3:-}
warnings="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"
failures=0

# compile COMPILER LANGUAGE STANDARD HEADER; once more included twice, for its guard.
compile() {
    # shellcheck disable=SC2086
    printf '#include "ferry/%s"\n#include "ferry/%s"\n' "$4" "$4" |
        "$1" -x "$2" -std="$3" $warnings -I"$source/include" -fsyntax-only - || {
        echo "ferry/$4 does not compile alone as $3"
        failures=$((failures + 1))
    }
}

for path in "$source"/include/ferry/*.h; do
    header=$(basename "$path")
    compile "$cc" c c11 "$header"
    if [ -n "$cxx" ]; then
        compile "$cxx" c++ c++17 "$header"
    fi
done
[ "$failures" -eq 0 ]
