#!/bin/sh
# files.sh SOURCE: files stay small, name no machine, and leave nothing unfinished.
set -eu
cd "$1"
. tests/meta/sources.sh
status=0

for file in $(sources '*.c' '*.h' '*.cu' '*.py' '*.cmake' '*.sh'); do
    lines=$(wc -l <"$file")
    if [ "$lines" -gt 600 ]; then
        echo "$file has $lines lines; 600 are the limit"
        status=1
    fi
done

# search PATTERN MESSAGE: no text file holds it.
search() {
    found=$(sources '*' | tr '\n' '\0' | xargs -0 grep -nIHE -e "$1" || true)
    if [ -n "$found" ]; then
        printf '%s:\n%s\n' "$2" "$found"
        status=1
    fi
}
search '(^|[^A-Za-z0-9_.$}])/(work|root|home)/' "a path of somebody's machine"
search '(pypi|pythonhosted|deb\.debian|archive\.ubuntu|registry\.npm|conda\.anaconda)\.(org|com)' "a package registry's host"
search '(TO''DO|FIX''ME|(^|[^X])X''XX([^X]|$)|not implem''ented)' "unfinished"
exit $status
