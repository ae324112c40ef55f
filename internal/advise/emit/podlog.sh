# shellcheck shell=sh disable=SC2154 # files is set by the script that includes this
say() { echo "plimsoll: $*"; }
refuse() { say "$*: the database is not started" >&2; exit 1; }
has() { [ -d "$1" ] && [ -n "$(find "$1/." -type f -name "$files" -size +0c | head -n 1)" ]; }
list() { (cd "$1" && find . | sort); }
same() {
  [ "$(list "$1")" = "$(list "$2")" ] &&
    (cd "$1" && find . -type f) | while IFS= read -r f; do cmp -s "$1/$f" "$2/$f" || exit 1; done
}
