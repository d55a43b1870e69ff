# shellcheck shell=sh
# sources PATTERN…: the project's own files, relative to the current folder (the source root), whose names match one of the
# shell patterns. To be sourced.

project_files() {
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files --cached --others --exclude-standard
    else
        find . -type f ! -path './.git/*' ! -path './build/*' ! -path './.deps/*' ! -path './.cache/*' | sed 's|^\./||'
    fi | sort -u
}

sources() {
    project_files | while IFS= read -r file; do
        [ -f "$file" ] || continue
        for pattern in "$@"; do
            # An unquoted pattern, to match as one.
            # shellcheck disable=SC2254
            case $file in
            $pattern) printf '%s\n' "$file" && break ;;
            esac
        done
    done
}
