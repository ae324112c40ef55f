# shellcheck shell=sh source-path=SCRIPTDIR
# Runs in an init container: moves a database's log to a separate volume while the database is
# stopped. It does not let the database start on an empty log. It can be run again after an
# interruption at any point.
set -eu
log=$1 new=$2 files=$3 data=$4
. ./podlog.sh
if [ -L "$log" ]; then
  [ "$(readlink "$log")" = "$new" ] || refuse "$log is a link to something other than $new"
  has "$new" || refuse "there is no log in $new"
  rm -rf "$log.plimsoll-back" "$log.plimsoll-part" # of a move back that was given up
  say "the log is in $new"
  exit 0
fi
if [ ! -e "$log" ] && [ -d "$log.plimsoll-old" ]; then # interrupted between the two renames
  same "$log.plimsoll-old" "$new" || refuse "$log.plimsoll-old and $new differ"
  ln -s "$new" "$log"
  sync
  exit 0
fi
if [ ! -e "$log" ] && [ -d "$log.plimsoll-back" ]; then
  refuse "a move back was interrupted, and $log.plimsoll-back is the log: move back to its end first"
fi
if ! has "$log"; then
  if has "$new"; then refuse "there is a log in $new, but none in $log"; fi
  [ ! -d "$data" ] || [ -z "$(find "$data/." -type f | head -n 1)" ] || refuse "there is a database in $data, but no log"
  say "a new member: its log moves at the next start"
  exit 0
fi
alone "$log"
rm -rf "$new.plimsoll-part"
cp -a "$log" "$new.plimsoll-part"
sync
same "$log" "$new.plimsoll-part" || refuse "the copy of $log differs"
rm -rf "$new" # a copy that was never used, because the log is not a link to it
mv "$new.plimsoll-part" "$new"
sync
mv "$log" "$log.plimsoll-old"
ln -s "$new" "$log"
sync
say "the log moved to $new; $log.plimsoll-old is stale as soon as the database runs"
