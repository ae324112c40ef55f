#!/usr/bin/env bash
# Records WiredTiger whose journal waits behind page cache that the OS flushes, on a volume of
# 3,000 IOPS and 48 MB/s. See README.md beside this file.
#
# usage: sudo [VARIANT=NAME] ./make.sh [--quick] [--out DIR] [--work DIR]
#   VARIANT     baseline (default); or what a fix changes, which wants --out:
#               dirty-bytes     vm.dirty_background_bytes = 8 MB while it runs
#               journal-volume  the journal on a second volume with the same limits
#               eviction        20 eviction threads, dirty target 1 %, trigger 5 %
#               all             all three
#   --quick     a minute, small, into a temporary folder that is removed again: proves that the
#               script runs here. Ends with 77 where the kernel does not allow it or the engine's
#               library is missing.
#   --out DIR   where the capture goes; default: this folder
#   --work DIR  where the volume's backing file and the program live; default: /dev/shm
#               (memory: up to 4 GB, 1.5 GB of cache, and some 2 GB of page cache)
#
# Everything it makes besides the capture is removed on any exit: processes, mounts, loop
# devices, limits, settings of the kernel, files.
set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=examples/make/record.sh
. "$HERE/../make/record.sh"
# shellcheck source=examples/make/volume.sh
. "$HERE/../make/volume.sh"

# The volume: case 1's gp3 default IOPS, and 3,000 x 16 KB.
IOPS=3000
BPS=48000000
# The load: an open loop of updates, each of which waits for the journal.
RATE=800
THREADS=64
DOCUMENTS=150000
SECONDS_RECORDED=300
CHECKPOINT_S=60
CACHE_MB=1024
VOLUME_MIB=4096
JOURNAL_MIB=1024
CHECK_S=4
DIRTY_BYTES=8000000
EVICTION='eviction=(threads_min=20,threads_max=20),eviction_dirty_target=1,eviction_dirty_trigger=5'

OUT='' WORK_PARENT=/dev/shm QUICK='' VARIANT=${VARIANT:-baseline}
while [ $# -gt 0 ]; do
  case $1 in
    --quick) QUICK=yes; shift ;;
    --out) OUT=${2:?--out wants a folder}; shift 2 ;;
    --work) WORK_PARENT=${2:?--work wants a folder}; shift 2 ;;
    -h | --help) sed -n '2,21s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) die "unknown argument $1 (see --help)" ;;
  esac
done
case $VARIANT in
  baseline) OUT=${OUT:-$HERE} ;;
  dirty-bytes | journal-volume | eviction | all) [ -n "$OUT$QUICK" ] || die "VARIANT=$VARIANT wants --out DIR: this folder holds the baseline" ;;
  *) die "unknown VARIANT=$VARIANT (see --help)" ;;
esac

# changes NAME: whether the variant makes this change.
changes() { [ "$VARIANT" = "$1" ] || [ "$VARIANT" = all ]; }

programs() {
  need losetup mount setpriv util-linux fio fio jq jq curl curl ss iproute2 iostat sysstat gcc gcc mkfs.xfs xfsprogs \
    prometheus-node-exporter prometheus-node-exporter gzip gzip sysctl procps
}
need_root
if [ -n "$QUICK" ]; then (programs) || skip "without the programs named above"; else programs; fi

why=$(volume_loop_available) || skip "$why"
why=$(volume_throttle_available) || skip "$why"
volume_throttle_available

WORK=$(mktemp -d "$WORK_PARENT/plimsoll-wiredtiger.XXXXXX")
DIRTY_BEFORE=''
# The second volume's variables of volume.sh, while they are not its current ones.
declare -A OTHER=()
cleanup() {
  trap '' INT TERM
  stop_all
  if [ -n "$DIRTY_BEFORE" ]; then sysctl -q -w "$DIRTY_BEFORE" || true; DIRTY_BEFORE=''; fi
  if [ -n "${OTHER[made]:-}" ]; then
    # The journal is mounted inside the other volume: first.
    case $VOLUME_MOUNT in */journal) ;; *) swap_volumes ;; esac
    volume_destroy
    swap_volumes
    OTHER=()
  fi
  volume_destroy
  rm -rf --one-file-system "$WORK"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

if [ -n "$QUICK" ]; then
  DOCUMENTS=40000 SECONDS_RECORDED=40 CHECKPOINT_S=12 CACHE_MB=400 VOLUME_MIB=1536 CHECK_S=2
  OUT=$WORK/out
fi
mkdir -p "$OUT"

# swap_volumes exchanges the current volume of volume.sh with the other one. The cgroup is both's.
swap_volumes() {
  local name kept
  for name in LOWER UPPER MOUNT FILE LIMITED CACHE; do
    local -n variable=VOLUME_$name
    kept=${OTHER[$name]:-}
    OTHER[$name]=$variable
    variable=$kept
  done
}

compile() {
  WORKER=$WORK/worker
  gcc -std=gnu11 -O2 -o "$WORKER" "$HERE/worker.c" "$HERE/names.c" -lwiredtiger -lpthread -lm 2> "$WORK/gcc.log" ||
    { cat "$WORK/gcc.log" >&2
      grep -q 'wiredtiger' "$WORK/gcc.log" && skip "the program does not compile without WiredTiger's library (Debian 12: apt-get install libwiredtiger-dev libc6-dev)"
      die "the program does not compile"; }
}

make_volumes() {
  say "volume: $IOPS IOPS, $BPS bytes/s"
  volume_create "$WORK/volume.img" "$VOLUME_MIB"
  volume_limit $IOPS $BPS
  check_volume $IOPS $BPS "$CHECK_S"
  volume_limit 0 0
  volume_format xfs "$WORK/volume"
  DATA=$VOLUME_MOUNT/data
  mkdir "$DATA"
  if changes journal-volume; then
    say "a second volume for the journal"
    OTHER[made]=yes
    swap_volumes
    volume_create "$WORK/journal.img" "$JOURNAL_MIB"
    volume_format xfs "$DATA/journal"
    chown nobody: "$DATA/journal"
    swap_volumes
  fi
  # The folders above are root's: anyone may pass through.
  chmod 755 "$WORK"
  chown nobody: "$DATA"
}

# limit_volumes applies the limits to what there is.
limit_volumes() {
  volume_limit $IOPS $BPS
  if [ -n "${OTHER[made]:-}" ]; then swap_volumes; volume_limit $IOPS $BPS; swap_volumes; fi
}

# worker COMMAND OPTION...: becomes the program, unprivileged and inside the limit. It needs a tenth of a
# CPU; nice: other work on the machine shall not hold it up.
worker() {
  local command=$1
  shift
  volume_enter nice -n -10 setpriv --reuid nobody --regid "$(id -g nobody)" --clear-groups -- \
    "$WORKER" "$command" "$DATA" --documents "$DOCUMENTS" --cache-mb "$CACHE_MB" "$@"
}

start_recording() {
  local port
  rm -f "$OUT"/{iostat.log,iostat-journal.log,worker.log,seconds.tsv,wiredtiger.prom.gz,node.prom.gz}
  port=$(free_port 19100)
  start_node_exporter "$port"
  start TERM scrape_loop "http://127.0.0.1:$port/metrics" "$NODE_FAMILIES" "$WORK/node.prom"
  start INT record_iostat "$VOLUME_UPPER" "$OUT/iostat.log"
  if [ -n "${OTHER[made]:-}" ]; then start INT record_iostat "${OTHER[UPPER]}" "$OUT/iostat-journal.log"; fi
}

run_load() {
  local config=''
  mkdir "$WORK/seen"
  chown nobody: "$WORK/seen"
  if changes eviction; then config=$EVICTION; fi
  if changes dirty-bytes; then
    # Setting one of the two makes the other 0: what is restored is the one that was in force.
    DIRTY_BEFORE=vm.dirty_background_bytes=$(sysctl -n vm.dirty_background_bytes)
    [ "$DIRTY_BEFORE" != vm.dirty_background_bytes=0 ] || DIRTY_BEFORE=vm.dirty_background_ratio=$(sysctl -n vm.dirty_background_ratio)
    sysctl -q -w vm.dirty_background_bytes=$DIRTY_BYTES
  fi
  say "$VARIANT: $RATE updates/s for $SECONDS_RECORDED s"
  start TERM worker run --rate "$RATE" --threads "$THREADS" --seconds "$SECONDS_RECORDED" --checkpoint-seconds "$CHECKPOINT_S" \
    --open "$config" --scrapes "$WORK/seen/wiredtiger.prom" --operations "$WORK/seen/operations.tsv" > "$WORK/worker.log" 2>&1
  local pid=${STARTED[-1]#*:}
  wait "$pid" || { tail -5 "$WORK/worker.log" >&2; die "the worker failed"; }
}

# seconds_table: for each second what the program's callers saw and what the device did, side by side;
# latencies from every update, by the second it ended in, from the moment it was due.
seconds_table() {
  {
    printf 'unix_s\tupdates_per_s\tp50_ms\tp99_ms\tmax_ms\twrites_per_s\tMB_per_s\tkB_per_write\tw_await_ms\tqueue\tutil_pct\n'
    {
      awk '{ printf "%d %d\n", $1, $2 }' "$WORK/seen/operations.tsv" | sort -n -k1,1 -k2,2 | awk '
        function out() { if (n) printf "A %d %d %.1f %.1f %.1f\n", at, n, v[int((n + 1) / 2)] / 1000, v[int(n * 0.99 + 0.999)] / 1000, v[n] / 1000; n = 0 }
        $1 != at { out(); at = $1 } { v[++n] = $2 } END { out() }'
      TZ=UTC awk -v dev="$(basename "$VOLUME_UPPER")" '
        /^[0-9]+-[0-9]+-[0-9]+T/ { s = substr($1, 1, 19); gsub(/[-T:]/, " ", s); at = mktime(s) - 1 } # the second before
        $1 == "Device" { for (i = 1; i <= NF; i++) col[$i] = i }
        $1 == dev { if (seen++) printf "B %d %d %.1f %.1f %.1f %.1f %.0f\n", at, $col["w/s"], $col["wMB/s"] * 1.048576, $col["wareq-sz"], $col["w_await"], $col["aqu-sz"], $col["%util"] }' "$OUT/iostat.log"
    } | sort -n -k2,2 | awk -v OFS='\t' '
      function out() { if (at && (a != "" || b != "")) print at, (a == "" ? "0\t\t\t" : a), (b == "" ? "\t\t\t\t\t" : b); a = b = "" }
      $2 != at { out(); at = $2 }
      { t = $1; l = $3; for (i = 4; i <= NF; i++) l = l OFS $i; if (t == "A") a = l; else b = l }
      END { out() }'
  } > "$OUT/seconds.tsv"
}

finish_recording() {
  stop_all
  cp "$WORK/worker.log" "$OUT/worker.log"
  seconds_table
  gzip -9nc "$WORK/seen/wiredtiger.prom" > "$OUT/wiredtiger.prom.gz"
  gzip -9nc "$WORK/node.prom" > "$OUT/node.prom.gz"
}

# verify: is it what the example is about? Stops with a word when it is not.
verify() {
  local scrapes checkpoints
  cat "$OUT/worker.log"
  scrapes=$(grep -c '^# scraped' "$WORK/seen/wiredtiger.prom")
  [ "$scrapes" -ge $((SECONDS_RECORDED * 8 / 10)) ] || die "only $scrapes scrapes of WiredTiger in $SECONDS_RECORDED s"
  for family in mongodb_ss_opLatencies_latency mongodb_ss_wt_log_log_sync_time_duration_usecs \
    mongodb_ss_wt_txn_transaction_checkpoint_currently_running mongodb_ss_wt_block_manager_bytes_written \
    mongodb_ss_wt_thread_yield_application_thread_time_waiting_for_cache_usecs; do
    grep -q "^$family" "$WORK/seen/wiredtiger.prom" || die "WiredTiger did not give $family"
  done
  grep -q '^node_pressure_io_waiting_seconds_total' "$WORK/node.prom" || say "no pressure stall information in this kernel: node.prom.gz is without it"
  checkpoints=$(grep -c '^checkpoint' "$OUT/worker.log") || true
  [ "$checkpoints" -ge 1 ] || die "no checkpoint ended"
  echo "$checkpoints checkpoints; the worst second and those around it:"
  awk -F'\t' -v iops=$IOPS -v bps=$BPS -v variant="$VARIANT" '
    NR == 1 { head = $0; next }
    { row[NR] = $0; if ($5 + 0 > worst) { worst = $5 + 0; at = NR }
      if ($6 > iops * 0.95 || $7 > bps * 0.95e-6) pinned++; if ($7 != "") { mb += $7; io += $6; util += $11; n++ } }
    END { print head; for (i = at - 12; i <= at + 4; i++) if (i in row) print row[i]
          if (n) printf "the device on average: %.1f MB/s, %d writes/s, %d %% busy\n", mb / n, io / n, util / n
          printf "%d seconds with the volume at its limit; the slowest update took %.1f s\n", pinned, worst / 1000
          exit variant == "baseline" && !pinned }' "$OUT/seconds.tsv" || die "the volume was never at its limit: raise RATE or DOCUMENTS"
}

compile
make_volumes
say "loading $DOCUMENTS documents of 4 KB"
(worker load) || die "loading failed"
sync -f "$VOLUME_MOUNT"
limit_volumes
start_recording
run_load
finish_recording
verify
du -sh "$OUT" >&2
[ -z "$QUICK" ] || say "quick run: all as it should be; the capture is removed again"
