#!/bin/sh
# layering.sh SOURCE [OBJECT…]: who includes whom, and who calls whom.
#
#  - Private headers are included by bare name from their own folder, never from another; tests may.
#  - preload/, tools/, python/, examples/ and benchmarks/ see include/ferry/ only.
#  - CUDA's headers appear in alloc/backend_cuda*.c, their helpers alloc/cuda_*.h, and kernels/; tests, benchmarks and .cu
#    examples compare with CUDA itself, and examples/run/ knows nothing else.
#  - Calls go down only: alloc <- views <- kernels.
set -eu
cd "$1"
shift
# shellcheck source=tests/meta/sources.sh
. tests/meta/sources.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
problems=$scratch/problems

# "file:line:<name" or "file:line:\"name" for every #include.
sources 'include/*' 'alloc/*' 'views/*' 'kernels/*' 'preload/*' 'tools/*' 'python/*' 'examples/*' 'benchmarks/*' |
    grep -E '\.(c|h|cu|cuh|def)$' | tr '\n' '\0' | xargs -0 grep -nHE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]' |
    sed -E 's/^([^:]*:[0-9]+):[^<"]*([<"][^>"]*).*/\1:\2/' >"$scratch/includes"

folder_has() {
    # What is not there is generated, by the folder's own rules.
    [ -f "$1/$2" ] || grep -sqF "$2" "$1/CMakeLists.txt"
}

grep -F ':"' "$scratch/includes" | while IFS=: read -r file line included; do
    included=${included#?}
    folder=${file%/*}
    case $included in
    ferry/*) [ -f "include/$included" ] || echo "$file:$line: no public header $included" ;;
    */*) echo "$file:$line: $included is not a public header" ;;
    *) folder_has "$folder" "$included" || echo "$file:$line: $included is not in this folder" ;;
    esac
done >"$problems"
grep '^include/' "$scratch/includes" | grep -F ':"' | grep -vF ':"ferry/' >>"$problems" || true

grep -E '^(include|alloc|views|preload|tools|python|examples)/' "$scratch/includes" |
    grep -vE '^(alloc/(backend_cuda[^:]*\.c|cuda_[^:]*\.h)|[^:]*\.cu|examples/run/[^:]*):' |
    grep -E ':[<"](cuda|nvrtc|nvjitlink|cupti|cublas|curand|cub/|thrust/|driver_types|vector_types|nvtx|nvml)' |
    sed 's/$/ (a CUDA header)/' >>"$problems" || true

# Symbols: "folder name object", from the objects' paths …/<folder>/<file>.o.
# nm heads each object's part with its path and a colon.
symbols() {
    awk '/:$/ { n = split($0, path, "/"); folder = path[n - 1]; object = path[n]; sub(/:$/, "", object); next } NF { print folder, $1, object }'
}
if [ $# -gt 0 ]; then
    nm -g --defined-only -P "$@" | symbols >"$scratch/defined"
    nm -u -P "$@" | symbols >"$scratch/wanted"
    awk '
        BEGIN { level["alloc"] = 1; level["views"] = 2; level["kernels"] = 3 }
        FNR == NR { owner[$2] = $1; next }
        ($2 in owner) && level[owner[$2]] > level[$1] { print $1 "/" $3 " calls up: " $2 " is of " owner[$2] "/" }
    ' "$scratch/defined" "$scratch/wanted" >>"$problems"
fi

if [ -s "$problems" ]; then
    cat "$problems"
    exit 1
fi
