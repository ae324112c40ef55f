# shellcheck shell=sh source-path=SCRIPTDIR
# Runs in an init container: moves a database's log back from its volume to the data folder while the
# database is stopped. It can be run again after an interruption at any point.
set -eu
log=$1 new=$2 files=$3
. ./podlog.sh
if [ -L "$log" ]; then
  [ "$(readlink "$log")" = "$new" ] || refuse "$log is a link to something other than $new"
  has "$new" || refuse "there is no log in $new"
  rm -rf "$log.plimsoll-part" "$log.plimsoll-back"
  cp -a "$new" "$log.plimsoll-part"
  sync
  same "$new" "$log.plimsoll-part" || refuse "the copy of $new differs"
  mv "$log.plimsoll-part" "$log.plimsoll-back"
  rm -rf "$log.plimsoll-old" # out of date; without it, a log beside a copy is always a mistake (see alone)
  sync
  rm "$log"
fi
if [ ! -e "$log" ] && [ -d "$log.plimsoll-back" ]; then
  mv "$log.plimsoll-back" "$log"
  sync
fi
if [ ! -e "$log" ] && [ -d "$log.plimsoll-old" ]; then # the move was interrupted between its renames
  same "$log.plimsoll-old" "$new" || refuse "$log.plimsoll-old and $new differ"
  mv "$log.plimsoll-old" "$log"
  sync
fi
if has "$log"; then
  alone "$log"
  rm -rf "$log.plimsoll-part" "$new.plimsoll-part"
  say "the log is in $log"
  exit 0
fi
if has "$new"; then refuse "there is a log in $new, but none in $log"; fi
say "there is no log: a new member"
