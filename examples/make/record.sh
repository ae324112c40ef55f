# shellcheck shell=bash
# What the make.sh scripts of the examples share about recording: checks, processes
# that are started and stopped by their ids, exporters read once a second.
#
# To be sourced. The caller sets OUT, the folder the capture goes to.

STARTED=()

say() { printf '%s  %s\n' "$(date -u +%H:%M:%S)" "$*" >&2; }

die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# skip ends with 77, which test harnesses read as "skipped".
skip() { printf 'skipped: %s\n' "$*" >&2; exit 77; }

# need PROGRAM PACKAGE...: stops when a program is missing and names the Debian package.
need() {
  local missing=()
  while [ $# -gt 0 ]; do
    command -v "$1" >/dev/null || missing+=("$1 (Debian: apt-get install $2)")
    shift 2
  done
  [ ${#missing[@]} -eq 0 ] || { printf 'error: missing: %s\n' "${missing[@]}" >&2; exit 1; }
}

# need_root: loop devices, mounts and cgroups are root's.
need_root() {
  [ "$(id -u)" = 0 ] || die "root is needed (loop devices, mount, cgroups): run it with sudo"
}

# as USER COMMAND...: becomes the command as that user, without other groups.
as() {
  local user=$1
  shift
  exec setpriv --reuid "$user" --regid "$(id -g "$user")" --clear-groups -- "$@"
}

# start SIGNAL COMMAND...: runs it in the background; stop_all ends it with SIGNAL.
start() {
  local signal=$1
  shift
  "$@" &
  STARTED+=("$signal:$!")
}

# stop_all ends what start started, the last one first, by process id; after
# ten seconds with KILL.
stop_all() {
  local i signal pid tries
  for ((i = ${#STARTED[@]} - 1; i >= 0; i--)); do
    signal=${STARTED[i]%%:*} pid=${STARTED[i]#*:}
    kill -s "$signal" "$pid" 2>/dev/null || continue
    for ((tries = 0; tries < 100; tries++)); do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.1
    done
    kill -s KILL "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  STARTED=()
}

# pause SECONDS: a sleep that a signal's trap need not wait for.
pause() {
  sleep "$1" &
  wait $!
}

# free_port FIRST: the first TCP port from FIRST on that nobody listens on.
free_port() {
  local port=$1
  while [ -n "$(ss -Hltn "sport = :$port")" ]; do port=$((port + 1)); done
  echo "$port"
}

# wait_for SECONDS WHAT COMMAND...: until the command succeeds; if it does not in time, the
# end of the file LOGS names tells why.
wait_for() {
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt "$end" ] || { [ -z "${LOGS:-}" ] || tail -5 "$LOGS" >&2; die "$what does not answer"; }
    pause 0.2
  done
}

# scrape_loop URL PATTERN FILE: once a second, on the second's grid, appends the
# families whose sample names match the pattern, after a line "# scraped <unix ms>". A
# scrape that fails leaves its line out: a hole, not a zero.
scrape_loop() {
  local url=$1 pattern=$2 file=$3 now body
  while :; do
    now=$(date +%s%3N)
    sleep "$(printf '0.%03d' $((1000 - now % 1000 > 999 ? 999 : 1000 - now % 1000)))"
    now=$(date +%s%3N)
    body=$(curl -sf --max-time 5 "$url") || continue
    { echo "# scraped $now"
      # The name of a sample ends at { or a space; of a comment it is the third word.
      awk -v pattern="$pattern" '
        { name = $1; if (name == "#") name = $3; sub(/\{.*/, "", name) }
        name ~ pattern' <<< "$body"
    } >> "$file"
  done
}

# record_iostat DEVICE FILE: iostat -xmt every second, ISO times in UTC. The header
# names the host; the example shall not.
record_iostat() {
  # exec: the pid kept by start is iostat's own, not a subshell's.
  exec env TZ=UTC LC_ALL=C S_TIME_FORMAT=ISO iostat -xmt "$(basename "$1")" 1 \
    > >(sed -u -E '1s/^(Linux [0-9]+\.[0-9]+)[^ ]* \([^)]*\)/\1 (example)/' > "$2")
}

# record_node PORT FILE: node_exporter's host families. Not its disk families: iostat
# tells the device, and two tellers of one series would contradict each other.
start_node_exporter() {
  local port=$1
  start TERM as nobody prometheus-node-exporter --log.level=error \
    --web.listen-address="127.0.0.1:$port" --collector.disable-defaults \
    --collector.pressure --collector.meminfo --collector.vmstat --collector.cpu --collector.stat
  wait_for 10 node_exporter curl -sf "http://127.0.0.1:$port/metrics"
}
# shellcheck disable=SC2034 # used by those who source this file
NODE_FAMILIES='^node_(pressure_|memory_(Dirty|Writeback|MemTotal|MemAvailable|Cached)_bytes|cpu_seconds_total|vmstat_(pswpin|pswpout|pgpgin|pgpgout)|procs_)'

# check_limit NAME WANTED GOT: a figure within 10 % of the wanted one.
check_limit() {
  awk -v name="$1" -v want="$2" -v got="$3" 'BEGIN {
    printf "  %-34s wanted %9.0f  measured %9.0f\n", name, want, got
    exit !(got > want * 0.9 && got < want * 1.1) }'
}

# fio_write_rate FIELD FIO_OPTION...: one fio run on the upper device inside the limit;
# prints .write.FIELD.
fio_write_rate() {
  local field=$1
  shift
  (volume_enter fio --name=check --filename="$VOLUME_UPPER" --ioengine=libaio --direct=1 \
    --time_based --output-format=json "$@") | jq ".jobs[0] | .write.$field + .read.$field"
}

# check_rate WHAT FIELD WANTED FIO_OPTION...: does fio's rate come to the wanted one? Three tries:
# other work on the machine may keep one below it.
check_rate() {
  local what=$1 field=$2 wanted=$3 try
  shift 3
  for try in 1 2 3; do
    check_limit "$what" "$wanted" "$(fio_write_rate "$field" "$@")" && return
    say "off by more than 10 % (try $try)"
  done
  die "the volume does not deliver its limit: is the machine too busy, or the throttle not applied?"
}

# check_volume IOPS BYTES_PER_SECOND SECONDS: does the volume deliver its limits, and does
# its queue show? Overwrites the device. Prints the figures.
check_volume() {
  local iops=$1 bps=$2 seconds=$3 log=$OUT/.check.log pid
  check_rate "4 KiB random writes, IOPS" iops "$iops" --rw=randwrite --bs=4k --iodepth=64 --runtime="$seconds"
  check_rate "4 KiB random reads, IOPS" iops "$iops" --rw=randread --bs=4k --iodepth=64 --runtime="$seconds"
  # Within fio's run: its first requests take a moment.
  (sleep 1.5; TZ=UTC LC_ALL=C exec iostat -xm -y "$(basename "$VOLUME_UPPER")" "$seconds" 1 > "$log") &
  pid=$!
  check_rate "1 MiB sequential writes, bytes/s" bw_bytes "$bps" --rw=write --bs=1m --iodepth=8 --runtime="$((seconds + 3))"
  wait $pid
  awk -v dev="$(basename "$VOLUME_UPPER")" '
    $1 == "Device" { for (i = 1; i <= NF; i++) col[$i] = i }
    $1 == dev { printf "  iostat meanwhile: %s MB/s (MiB), w_await %s ms, aqu-sz %s, %%util %s\n", $col["wMB/s"], $col["w_await"], $col["aqu-sz"], $col["%util"]
                if ($col["%util"] < 90) exit 1 }' "$log" || die "iostat does not show the volume as busy while it is"
  rm -f "$log"
}
