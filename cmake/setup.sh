#!/bin/sh
# setup.sh demo|test: installs, with the distribution's package manager, whatever of the purpose's needs is not there yet.
# On a machine that has everything it does nothing, and needs no privilege.
set -eu
purpose=${1:-demo}
packages=

need() {
    packages="$packages $*"
}

command -v cmake >/dev/null || need cmake
command -v make >/dev/null || need make
command -v cc >/dev/null || need gcc libc6-dev
if [ "$purpose" = test ]; then
    /usr/bin/python3 -c 'import numpy' 2>/dev/null || python3 -c 'import numpy' 2>/dev/null || need python3-numpy
    ls /usr/include/python3*/Python.h >/dev/null 2>&1 || need python3-dev
    command -v pkg-config >/dev/null || need pkg-config
fi
[ -n "$packages" ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "setup.sh: these Debian packages, or your distribution's like, are missing:$packages" >&2
    exit 1
fi
as_root=
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
        echo "setup.sh: as root, please: apt-get install$packages" >&2
        exit 1
    }
    as_root="sudo"
fi
echo "setup.sh: installing$packages"
$as_root apt-get -q update
# The packages are words.
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $packages
