#!/bin/sh
# debian-source.sh PACKAGE FOLDER: downloads the package's upstream tarball from the distribution's source archive into FOLDER.
#
# The archive is the one that the machine's own `deb` entries name. They are rewritten as `deb-src` into a temporary
# configuration, so that nothing of the system's changes and no privilege is needed.
set -eu
package=$1
folder=$2

command -v apt-get >/dev/null || { echo "no apt-get here" >&2; exit 1; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' INT TERM HUP
mkdir -p "$scratch/parts" "$scratch/lists/partial" "$scratch/cache/archives/partial"

number=0
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -r "$list" ] || continue
    number=$((number + 1))
    sed -n 's/^[[:space:]]*deb[[:space:]]/deb-src /p' "$list" >"$scratch/parts/$number.list"
done
for sources in /etc/apt/sources.list.d/*.sources; do
    [ -r "$sources" ] || continue
    number=$((number + 1))
    sed 's/^[Tt]ypes:.*/Types: deb-src/' "$sources" >"$scratch/parts/$number.sources"
done

# The download user of a privileged apt-get cannot write into our folder, and what comes is verified by hash anyway.
apt() {
    apt-get -q -y \
        -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$scratch/parts" \
        -o Dir::State::Lists="$scratch/lists" -o Dir::Cache="$scratch/cache" \
        -o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::Retries=2 "$@"
}

# One unreachable third-party archive is no reason to give up: the second command tells.
apt update >&2 || true
mkdir -p "$folder"
cd "$folder"
apt source --download-only --tar-only "$package" >&2
