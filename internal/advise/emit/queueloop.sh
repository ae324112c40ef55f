# shellcheck shell=sh
# Keeps the settings of the node's disks, and restores those from before when the pod ends.
# file QUEUE SETTING: set saved to the file with the former value of a disk's setting. Another disk may get the
# name of one that was detached, so the serial is part of it.
file() {
  disk=${1%/queue}
  saved=/saved/${disk##*/}-$(tr -dc A-Za-z0-9 2>/dev/null <"$disk/device/serial").$2
}
# keep QUEUE SETTING VALUE
keep() {
  [ -w "$1/$2" ] || return 0
  now=$(cat "$1/$2")
  case $now in *"["*) now=${now#*"["}; now=${now%%"]"*} ;; esac
  [ "$now" != "$3" ] || return 0
  file "$1" "$2"
  [ -s "$saved" ] || { echo "$now" >"$saved.new" && mv "$saved.new" "$saved"; } || return 0
  echo "$3" >"$1/$2" && echo "$1/$2 was $now, is $3"
}
# restore QUEUE SETTING VALUE
restore() {
  file "$1" "$2"
  [ ! -s "$saved" ] || { cat "$saved" >"$1/$2" && rm "$saved"; }
}
# all VERB
all() {
  for queue in /sys/block/nvme*/queue /sys/block/sd*/queue; do
    [ -d "$queue" ] || continue
    "$1" "$queue" setting value
  done
}
trap 'all restore; exit 0' TERM
while true; do
  all keep
  sleep 60 &
  wait $!
done
