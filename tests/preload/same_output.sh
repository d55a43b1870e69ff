#!/bin/sh
# same_output.sh LIBRARY PROGRAM [ARGUMENT…]: the program says the same and ends the same with the library preloaded.
set -u
library=$1
shift
plain=$("$@") && plain_status=0 || plain_status=$?
with=$(LD_PRELOAD=$library "$@") && with_status=0 || with_status=$?
if [ "$plain" != "$with" ] || [ "$plain_status" != "$with_status" ]; then
    printf 'without (%s):\n%s\nwith (%s):\n%s\n' "$plain_status" "$plain" "$with_status" "$with"
    exit 1
fi
