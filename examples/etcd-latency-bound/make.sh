#!/usr/bin/env bash
# Records etcd whose write-ahead log is latency-bound: one fdatasync after the other on a volume
# whose IOPS are not used up, and fio's serial fdatasync under three IOPS limits. See README.md
# beside this file.
#
# usage: sudo ./make.sh [--quick] [--out DIR] [--work DIR]
#   --quick     90 seconds, into a temporary folder that is removed again: proves that the
#               script runs here. Ends with 77 where the kernel does not allow it.
#   --out DIR   where the capture goes; default: this folder
#   --work DIR  where the scratch files live; default: /dev/shm (memory, about 1 GB)
#
# Everything it makes besides the capture is removed on any exit: processes, mounts, loop
# devices, limits, files.
set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=examples/make/record.sh
. "$HERE/../make/record.sh"
# shellcheck source=examples/make/volume.sh
. "$HERE/../make/volume.sh"
# shellcheck source=examples/make/remote.sh
. "$HERE/../make/remote.sh"

# Case 3's limits: gp2 of 300 GB, gp3's default, the instance's.
FIO_LIMITS=(900 3000 6000)
ETCD_LIMIT=3000
# gp3's default of 125 MiB/s, far above what serial appends of 2 kB come to.
BPS=131072000
CLIENTS=(1 4 16)
PHASE_S=50
FIO_SIZE=22m
VOLUME_MIB=512
# How far away the volume's bytes are; about 0.3 ms more is the way there. gp2 took 1.4 ms.
DELAY_MS=1

OUT=$HERE WORK_PARENT=/dev/shm QUICK=''
while [ $# -gt 0 ]; do
  case $1 in
    --quick) QUICK=yes; shift ;;
    --out) OUT=${2:?--out wants a folder}; shift 2 ;;
    --work) WORK_PARENT=${2:?--work wants a folder}; shift 2 ;;
    -h | --help) sed -n '2,14s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) die "unknown argument $1 (see --help)" ;;
  esac
done

need_root
need losetup mount setpriv util-linux fio fio jq jq curl curl ss iproute2 iostat sysstat etcd etcd-server \
  nbdkit nbdkit nbdfuse libnbd-bin fusermount3 fuse3 \
  prometheus-node-exporter prometheus-node-exporter mkfs.ext4 e2fsprogs gzip gzip stdbuf coreutils

why=$(volume_loop_available) || skip "$why"
why=$(remote_available) || skip "$why"
why=$(volume_throttle_available) || skip "$why"
volume_throttle_available

WORK=$(mktemp -d "$WORK_PARENT/plimsoll-etcd.XXXXXX")
cleanup() {
  trap '' INT TERM
  stop_all
  volume_destroy
  remote_destroy
  rm -rf --one-file-system "$WORK"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
chmod 755 "$WORK"

if [ -n "$QUICK" ]; then
  PHASE_S=10 FIO_SIZE=4m FIO_LIMITS=(900 3000)
  OUT=$WORK/out
fi
mkdir -p "$OUT"

make_volume() {
  say "a volume whose writes take $DELAY_MS ms and the way there"
  remote_create "$WORK" "$VOLUME_MIB" "$DELAY_MS"
  volume_create "$REMOTE_FILE" "$VOLUME_MIB"
  volume_write_through
}

# device_writes: write requests the volume has completed since it was made.
device_writes() { awk -v dev="$(basename "$VOLUME_UPPER")" '$3 == dev { print $8 }' /proc/diskstats; }

# check_depth: that each limit can be reached by those who ask for more at once; the proof
# that the serial figures are not the limit's doing. Overwrites the device.
check_depth() {
  local limit
  for limit in "${FIO_LIMITS[@]}"; do
    volume_limit "$limit" $BPS
    DEPTH[$limit]=$(fio_write_rate iops --rw=randwrite --bs=4k --iodepth=32 --runtime=5)
  done
  volume_limit 0 0
}

# run_fio: serial appends with fdatasync, as etcd's documentation has them, under each limit.
run_fio() {
  local limit writes file
  printf 'iops_limit\tappends_per_s\tfdatasync_mean_us\tfdatasync_p99_us\tdevice_writes_per_s\tshare_of_limit\tdevice_writes_per_s_at_depth_32\n' > "$OUT/fio.tsv"
  for limit in "${FIO_LIMITS[@]}"; do
    volume_limit "$limit" $BPS
    say "fio: appends of 2,300 bytes, each with fdatasync, under $limit IOPS"
    file=$OUT/fio-$limit-iops.json
    writes=$(device_writes)
    (cd "$VOLUME_MOUNT" && volume_enter fio --name=etcd-wal --filename=fio.dat --rw=write --ioengine=sync --fdatasync=1 \
      --bs=2300 --size="$FIO_SIZE" --output-format=json) > "$file"
    writes=$(($(device_writes) - writes))
    rm "$VOLUME_MOUNT/fio.dat"
    jq -r --argjson limit "$limit" --argjson writes "$writes" --argjson deep "${DEPTH[$limit]}" '.jobs[0] | (.write.runtime / 1000) as $s |
      [$limit, .write.total_ios / $s, .sync.lat_ns.mean / 1000, .sync.lat_ns.percentile["99.000000"] / 1000, $writes / $s,
       $writes / $s / $limit, $deep] | map(. * 100 | round / 100) | @tsv' "$file" >> "$OUT/fio.tsv"
  done
  volume_limit $ETCD_LIMIT $BPS
}

ETCD_FAMILIES='^etcd_(disk_|server_|mvcc_put_total|debugging_mvcc_put_total|mvcc_db_total)'

start_etcd() {
  local peer
  PORT=$(free_port 12379) peer=$(free_port 12380)
  # etcd makes the log's folder itself, by renaming one beside it.
  mkdir "$VOLUME_MOUNT/etcd" "$WORK/data"
  chown nobody: "$VOLUME_MOUNT/etcd" "$WORK/data"
  chmod 700 "$VOLUME_MOUNT/etcd" "$WORK/data"
  # The log has the volume to itself, as in case 3; the database is in memory here.
  start TERM volume_enter setpriv --reuid nobody --regid "$(id -g nobody)" --clear-groups -- \
    etcd --name example --data-dir "$WORK/data" --wal-dir "$VOLUME_MOUNT/etcd/wal" \
    --listen-client-urls "http://127.0.0.1:$PORT" --advertise-client-urls "http://127.0.0.1:$PORT" \
    --listen-peer-urls "http://127.0.0.1:$peer" --initial-advertise-peer-urls "http://127.0.0.1:$peer" \
    --initial-cluster "example=http://127.0.0.1:$peer" --logger=zap --log-level=warn > "$WORK/etcd.log" 2>&1
  LOGS=$WORK/etcd.log wait_for 20 etcd curl -sf "http://127.0.0.1:$PORT/health"
}

start_recording() {
  local port
  start TERM scrape_loop "http://127.0.0.1:$PORT/metrics" "$ETCD_FAMILIES" "$WORK/etcd.prom"
  port=$(free_port 19100)
  start_node_exporter "$port"
  start TERM scrape_loop "http://127.0.0.1:$port/metrics" "$NODE_FAMILIES" "$WORK/node.prom"
  start INT record_iostat "$VOLUME_UPPER" "$OUT/iostat.log"
  pause 3
}

# client NUMBER FILE: puts of 256 bytes, the next when the last is answered, over one kept
# connection until it is stopped; a line for each with its seconds.
client() {
  local key value
  key=$(printf 'client-%d' "$1" | base64 -w0)
  value=$(head -c 192 /dev/urandom | base64 -w0 | base64 -w0)
  exec stdbuf -oL curl -s --no-progress-meter -o /dev/null -w '%{time_total}\n' \
    -d "{\"key\":\"$key\",\"value\":\"$value\"}" "http://127.0.0.1:$PORT/v3/kv/put?[1-99999999]" > "$2" 2>/dev/null
}

# counters: fdatasyncs so far and their seconds, as etcd tells, and the device's writes.
counters() {
  curl -sf "http://127.0.0.1:$PORT/metrics" | awk -v writes="$(device_writes)" '
    $1 == "etcd_disk_wal_fsync_duration_seconds_count" { n = $2 } $1 == "etcd_disk_wal_fsync_duration_seconds_sum" { s = $2 }
    END { printf "%.0f %.6f %d %s\n", n, s, writes, "'"$(date +%s.%3N)"'" }'
}

run_load() {
  local clients i before after keep=${#STARTED[@]} ended
  printf 'clients\tfrom_unix_s\tto_unix_s\tputs_per_s\tput_p50_ms\tput_p99_ms\tfdatasyncs_per_s\tfdatasync_mean_ms\ttime_in_fdatasync\tputs_per_fdatasync\tdevice_writes_per_s\n' > "$OUT/phases.tsv"
  for clients in "${CLIENTS[@]}"; do
    say "etcd: $clients clients, each a put after the other, for $PHASE_S s"
    rm -f "$WORK"/put.*
    before=$(counters)
    for ((i = 0; i < clients; i++)); do start TERM client "$i" "$WORK/put.$i"; done
    pause "$PHASE_S"
    after=$(counters)
    ended=("${STARTED[@]:keep}")
    STARTED=("${STARTED[@]:0:keep}")
    for i in "${ended[@]}"; do kill "${i#*:}" 2>/dev/null || true; done
    for i in "${ended[@]}"; do wait "${i#*:}" 2>/dev/null || true; done
    cat "$WORK"/put.* | sort -n | awk -v clients="$clients" -v before="$before" -v after="$after" '
      { v[NR] = $1 * 1000 }
      END { split(before, b); split(after, a); t = a[4] - b[4]; n = a[1] - b[1]; s = a[2] - b[2]
        printf "%d\t%.0f\t%.0f\t%.0f\t%.2f\t%.2f\t%.0f\t%.3f\t%.2f\t%.1f\t%.0f\n", clients, b[4], a[4], NR / t,
          v[int((NR + 1) / 2)], v[int(NR * .99 + .999)], n / t, s / n * 1000, s / t, NR / n, (a[3] - b[3]) / t }' >> "$OUT/phases.tsv"
    pause 3
  done
}

finish_recording() {
  stop_all
  gzip -9nc "$WORK/etcd.prom" > "$OUT/etcd.prom.gz"
  gzip -9nc "$WORK/node.prom" > "$OUT/node.prom.gz"
}

# verify: is it what the example is about? Stops with a word when it is not.
verify() {
  local scrapes
  cat "$OUT/fio.tsv" "$OUT/phases.tsv"
  scrapes=$(grep -c '^# scraped' "$WORK/etcd.prom")
  [ "$scrapes" -ge $((PHASE_S * ${#CLIENTS[@]} * 8 / 10)) ] || die "only $scrapes scrapes of etcd"
  grep -q '^etcd_disk_wal_fsync_duration_seconds_bucket' "$WORK/etcd.prom" || die "etcd did not give etcd_disk_wal_fsync_duration_seconds"
  awk -F'\t' 'NR > 1 && $6 > 0.95 { bad = 1 } END { exit bad }' "$OUT/fio.tsv" ||
    die "the limit was reached, so this is not latency-bound: raise DELAY_MS"
  awk -F'\t' -v limit=$ETCD_LIMIT 'NR > 1 && $11 > limit * 0.8 { bad = 1 } END { exit bad }' "$OUT/phases.tsv" ||
    die "etcd's log came near the limit of $ETCD_LIMIT IOPS"
}

rm -f "$OUT"/{iostat.log,fio.tsv,phases.tsv,etcd.prom.gz,node.prom.gz} "$OUT"/fio-*-iops.json
declare -A DEPTH
make_volume
check_depth
volume_format ext4 "$WORK/volume"
run_fio
start_etcd
start_recording
run_load
finish_recording
verify
du -sh "$OUT" >&2
[ -z "$QUICK" ] || say "quick run: all as it should be; the capture is removed again"
