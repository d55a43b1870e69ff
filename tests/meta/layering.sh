#!/bin/sh
# layering.sh SOURCE [OBJECT…]: who includes whom, and who calls whom.
#
#  - Private headers are included by bare name from their own folder, never from another; tests may.
#  - tools/, python/, examples/ and benchmarks/ see include/ferry/ only.
#  - CUDA's headers appear in alloc/backend_cuda*.c, their helpers alloc/cuda_*.h, and kernels/; tests, benchmarks and .cu
#    examples compare with CUDA itself.
#  - Calls go down only: alloc <- views <- kernels.
set -eu
cd "$1"
shift
# shellcheck source=tests/meta/sources.sh
. tests/meta/sources.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
problems=$scratch/problems
: >"$problems"

report() {
    printf '%s\n' "$*" >>"$problems"
}

# "file:line:included" for #include "…".
quoted_includes() {
    grep -nHE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "$1" | sed -E 's/^([^:]*:[0-9]+):[^"]*"([^"]*)".*/\1:\2/' || true
}

check_quoted() {
    quoted_includes "$1" | while IFS=: read -r file line included; do
        case $included in
        ferry/*)
            [ -f "include/$included" ] || report "$file:$line: no public header $included"
            ;;
        */*)
            report "$file:$line: $included is not a public header"
            ;;
        *)
            # What is not there is generated, by the folder's own rules.
            [ -f "$(dirname "$file")/$included" ] || grep -qF "$included" "$(dirname "$file")/CMakeLists.txt" ||
                report "$file:$line: $included is not in this folder"
            ;;
        esac
    done
}

for file in $(sources 'include/*.h' 'alloc/*.[ch]' 'views/*.[ch]' 'kernels/*.[ch]' 'kernels/*.cu' 'kernels/*.def' \
    'tools/*.[ch]' 'python/*.[ch]' 'examples/*.[ch]' 'examples/*.cu' 'benchmarks/*.[ch]' 'benchmarks/*.cu'); do
    check_quoted "$file"
done
for file in $(sources 'include/*.h'); do
    quoted_includes "$file" | grep -v ':ferry/' >>"$problems" || true
done

cuda_header='^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"](cuda|nvrtc|nvjitlink|cupti|cublas|curand|cub/|thrust/|driver_types|vector_types|nvtx|nvml)'
for file in $(sources 'include/*' 'alloc/*.[ch]' 'views/*.[ch]' 'tools/*.[ch]' 'python/*.[ch]' 'examples/*.[ch]'); do
    case $file in
    alloc/backend_cuda*.c | alloc/cuda_*.h) continue ;;
    esac
    grep -nHE "$cuda_header" "$file" | sed 's/$/ (a CUDA header)/' >>"$problems" || true
done

# Symbols: "folder defined|wanted name", from the objects' paths …/<folder>/<file>.o.
for object in "$@"; do
    folder=$(basename "$(dirname "$object")")
    nm -g --defined-only -P "$object" | awk -v folder="$folder" '{print folder, $1}' >>"$scratch/defined"
    nm -u -P "$object" | awk -v folder="$folder" -v object="$(basename "$object")" '{print folder, $1, object}' >>"$scratch/wanted"
done
if [ $# -gt 0 ]; then
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
