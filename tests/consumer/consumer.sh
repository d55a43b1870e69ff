#!/bin/sh
# consumer.sh cmake|pkg-config CMAKE CC BUILD SOURCE: installs ferry, moves what was installed elsewhere, and builds and runs
# a program against it there, with the shared and with the static library.
set -eu
way=$1 cmake=$2 cc=$3 build=$4 source=$5

if [ "$way" = pkg-config ] && ! command -v pkg-config >/dev/null; then
    echo "no pkg-config here"
    exit 77
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$cmake" --install "$build" --prefix "$scratch/first" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
mv "$scratch/first" "$scratch/second"

# What was installed runs where it is now.
if [ -x "$scratch/second/bin/ferry" ]; then
    "$scratch/second/bin/ferry" --version
    find "$scratch/second" -name plot_bench.py | grep -q /ferry/ || { echo "what draws results is not installed"; exit 1; }
fi

with_cmake() {
    "$cmake" -S "$source/project" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$scratch/second" -DCMAKE_C_COMPILER="$cc"
    "$cmake" --build "$scratch/build"
    mv "$scratch/build/consumer_shared" "$scratch/build/consumer_static" "$scratch/"
}

with_pkg_config() {
    PKG_CONFIG_PATH=$(dirname "$(find "$scratch/second" -name ferry.pc)")
    export PKG_CONFIG_PATH
    library=$(pkg-config --variable=libdir ferry)
    # Flags are words; splitting them is the point.
    # shellcheck disable=SC2046
    "$cc" -o "$scratch/consumer_shared" "$source/consumer.c" $(pkg-config --cflags --libs ferry) -Wl,-rpath,"$library"
    # shellcheck disable=SC2046
    "$cc" -o "$scratch/consumer_static" "$source/consumer.c" $(pkg-config --cflags ferry) \
        $(pkg-config --static --libs ferry | sed 's/-lferry/-l:libferry.a/')
}

case $way in
cmake) with_cmake ;;
pkg-config) with_pkg_config ;;
esac

needed() {
    LC_ALL=C readelf -d "$1" | grep -q 'NEEDED.*libferry'
}
needed "$scratch/consumer_shared" || { echo "the shared program does not use libferry.so"; exit 1; }
! needed "$scratch/consumer_static" || { echo "the static program uses libferry.so"; exit 1; }
"$scratch/consumer_shared" || { echo "the shared program failed: $?"; exit 1; }
"$scratch/consumer_static" || { echo "the static program failed: $?"; exit 1; }
