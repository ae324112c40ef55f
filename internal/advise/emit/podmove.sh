# shellcheck shell=sh source-path=SCRIPTDIR
# Moves a database's log to a volume of its own, while the database does not run: this is an init
# container. It does not let the database start on an empty log. It can be run again after it was
# cut off anywhere.
set -eu
log=$1 new=$2 files=$3 data=$4
. ./podlog.sh
if [ -L "$log" ]; then
  [ "$(readlink "$log")" = "$new" ] || refuse "$log is a link to something other than $new"
  has "$new" || refuse "there is no log in $new"
  say "the log is in $new"
  exit 0
fi
if [ ! -e "$log" ] && [ -d "$log.plimsoll-old" ]; then # cut off between the two names
  same "$log.plimsoll-old" "$new" || refuse "$log.plimsoll-old and $new differ"
  ln -s "$new" "$log"
  sync
  exit 0
fi
if ! has "$log"; then
  if has "$new"; then refuse "there is a log in $new, and none in $log"; fi
  [ ! -d "$data" ] || [ -z "$(find "$data/." -type f | head -n 1)" ] || refuse "there is a database in $data, and no log"
  say "a new member: its log moves at the next start"
  exit 0
fi
[ ! -e "$log.plimsoll-old" ] || refuse "$log.plimsoll-old is there from an earlier move"
rm -rf "$new.plimsoll-part"
cp -a "$log" "$new.plimsoll-part"
sync
same "$log" "$new.plimsoll-part" || refuse "the copy of $log differs"
rm -rf "$new" # a copy that was never used: the log was not a link to it
mv "$new.plimsoll-part" "$new"
sync
mv "$log" "$log.plimsoll-old"
ln -s "$new" "$log"
sync
say "the log moved to $new; $log.plimsoll-old is out of date as soon as the database runs"
