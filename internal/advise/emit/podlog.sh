# shellcheck shell=sh disable=SC2154 # files is set by the script that includes this
say() { echo "plimsoll: $*"; }
refuse() { say "$*: the database is not started" >&2; exit 1; }
has() { [ -d "$1" ] && [ -n "$(find "$1/." -type f -name "$files" -size +0c | head -n 1)" ]; }
# alone LOG: refuse a log next to a copy of it. Neither direction leaves both, so the database was started while
# it had no log, and the copy has what it acknowledged before.
alone() {
  for copy in "$1.plimsoll-old" "$1.plimsoll-back"; do
    [ ! -e "$copy" ] || refuse "there are logs in $1 and in $copy: the database was probably started without its log, and began a new one in $1. Keep both, compare their dates, and put the right one at $1"
  done
}
list() { (cd "$1" && find . | sort); }
same() {
  [ "$(list "$1")" = "$(list "$2")" ] &&
    (cd "$1" && find . -type f) | while IFS= read -r f; do cmp -s "$1/$f" "$2/$f" || exit 1; done
}
