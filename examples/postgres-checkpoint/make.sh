#!/usr/bin/env bash
# Records PostgreSQL whose checkpoints stall its commits, on a volume of 3,000 IOPS and
# 48 MB/s. See README.md beside this file.
#
# usage: sudo ./make.sh [--quick] [--out DIR] [--work DIR]
#   --quick     90 seconds, small, into a temporary folder that is removed again: proves
#               that the script runs here. Ends with 77 where the kernel does not allow it.
#   --out DIR   where the capture goes; default: this folder
#   --work DIR  where the volume's backing file and the database live; default: /dev/shm
#               (memory: up to 6 GB, and about 3 GB of page cache and shared buffers)
#
# Everything it makes besides the capture is removed on any exit: processes, mount, loop
# devices, limits, files.
set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=examples/make/record.sh
. "$HERE/../make/record.sh"
# shellcheck source=examples/make/volume.sh
. "$HERE/../make/volume.sh"

# The volume: case 1's gp3 default IOPS, and 3,000 x 16 KB.
IOPS=3000
BPS=48000000
# The load: an open loop, as users arrive whether or not the last one was served.
RATE=1000
CLIENTS=64
SCALE=100
SECONDS_RECORDED=340
CHECKPOINT_S=60
SHARED_BUFFERS=2GB
VOLUME_MIB=6144
CHECK_S=4

OUT=$HERE WORK_PARENT=/dev/shm QUICK=''
while [ $# -gt 0 ]; do
  case $1 in
    --quick) QUICK=yes; shift ;;
    --out) OUT=${2:?--out wants a folder}; shift 2 ;;
    --work) WORK_PARENT=${2:?--work wants a folder}; shift 2 ;;
    -h | --help) sed -n '2,15s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) die "unknown argument $1 (see --help)" ;;
  esac
done
PG=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -1)
PATH=${PG:+$PG:}$PATH

need_root
need losetup mount setpriv util-linux fio fio jq jq curl curl ss iproute2 iostat sysstat \
  initdb postgresql pgbench postgresql prometheus-postgres-exporter prometheus-postgres-exporter \
  prometheus-node-exporter prometheus-node-exporter mkfs.ext4 e2fsprogs gzip gzip
getent passwd postgres >/dev/null || die "no user postgres to run the server as (Debian: apt-get install postgresql)"

why=$(volume_loop_available) || skip "$why"
why=$(volume_throttle_available) || skip "$why"
volume_throttle_available

WORK=$(mktemp -d "$WORK_PARENT/plimsoll-postgres.XXXXXX")
cleanup() {
  trap '' INT TERM
  stop_all
  volume_destroy
  rm -rf --one-file-system "$WORK"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

if [ -n "$QUICK" ]; then
  SCALE=8 SECONDS_RECORDED=70 CHECKPOINT_S=30 SHARED_BUFFERS=256MB VOLUME_MIB=2048 CHECK_S=2
  OUT=$WORK/out
fi
mkdir -p "$OUT"

make_volume() {
  say "volume: $IOPS IOPS, $BPS bytes/s"
  volume_create "$WORK/volume.img" "$VOLUME_MIB"
  volume_limit $IOPS $BPS
  check_volume $IOPS $BPS "$CHECK_S"
  volume_limit 0 0
  volume_format ext4 "$WORK/volume"
}

make_database() {
  SOCKET=$WORK/socket DATA=$WORK/volume/data
  mkdir "$SOCKET" "$DATA"
  # The folders above are root's: anyone may pass through, only postgres owns these.
  chmod 755 "$WORK"
  chown postgres: "$SOCKET" "$DATA"
  chmod 700 "$DATA"
  (as postgres "$PG/initdb" -D "$DATA" -A trust -U postgres --no-instructions >/dev/null)
  # Pacing off: the checkpointer writes everything into the page cache at once and
  # then syncs it, while commits need the same volume.
  cat >> "$DATA/postgresql.conf" <<CONF
listen_addresses = ''
unix_socket_directories = '$SOCKET'
shared_buffers = $SHARED_BUFFERS
max_connections = 100
checkpoint_timeout = ${CHECKPOINT_S}s
checkpoint_completion_target = 0
checkpoint_flush_after = 0
bgwriter_flush_after = 0
max_wal_size = 16GB
min_wal_size = 1GB
log_checkpoints = on
log_timezone = UTC
CONF
  # QUIT: an immediate shutdown; nothing of it is kept.
  start QUIT volume_enter setpriv --reuid postgres --regid "$(id -g postgres)" --clear-groups -- \
    "$PG/postgres" -D "$DATA" >> "$WORK/server.log" 2>&1
  LOGS=$WORK/server.log wait_for 20 PostgreSQL pg_isready -q -h "$SOCKET"
  say "loading pgbench's tables, scale $SCALE"
  pgbench -h "$SOCKET" -U postgres -i -q -s "$SCALE" -F 90 postgres > "$WORK/load.log" 2>&1 || { cat "$WORK/load.log" >&2; die "pgbench -i failed"; }
  psql -h "$SOCKET" -U postgres -qc CHECKPOINT postgres
}

PG_FAMILIES='^pg_(up|static|stat_bgwriter_|stat_database_(xact|blks|blk_)|stat_activity_(count|max_tx_duration)|stat_wal_|wal_|settings_(checkpoint|bgwriter_flush|max_wal_size|min_wal_size|shared_buffers|full_page|synchronous_commit|fsync$|wal_buffers|wal_writer))'

start_recording() {
  local port
  rm -f "$OUT"/{iostat.log,pgbench.log,seconds.tsv,checkpoints.log,postgres.prom.gz,node.prom.gz}
  port=$(free_port 19187)
  cp "$HERE/queries.yaml" "$WORK/queries.yaml"
  chmod 644 "$WORK/queries.yaml"
  start TERM as postgres env DATA_SOURCE_NAME="postgresql:///postgres?host=$SOCKET&user=postgres&sslmode=disable" \
    prometheus-postgres-exporter --log.level=error --web.listen-address="127.0.0.1:$port" --extend.query-path="$WORK/queries.yaml" \
    2> "$WORK/exporter.log"
  LOGS=$WORK/exporter.log wait_for 10 postgres_exporter curl -sf "http://127.0.0.1:$port/metrics"
  start TERM scrape_loop "http://127.0.0.1:$port/metrics" "$PG_FAMILIES" "$WORK/postgres.prom"
  port=$(free_port 19100)
  start_node_exporter "$port"
  start TERM scrape_loop "http://127.0.0.1:$port/metrics" "$NODE_FAMILIES" "$WORK/node.prom"
  start INT record_iostat "$VOLUME_UPPER" "$OUT/iostat.log"
}

run_load() {
  mkdir "$WORK/latency"
  chown postgres: "$WORK/latency"
  say "pgbench: $RATE transactions/s for $SECONDS_RECORDED s"
  start INT as postgres pgbench -h "$SOCKET" -U postgres -n -N --rate="$RATE" -c "$CLIENTS" -j 2 \
    -T "$SECONDS_RECORDED" -P 1 --progress-timestamp -l --log-prefix="$WORK/latency/tx" postgres > "$OUT/pgbench.log" 2>&1
  local pid=${STARTED[-1]#*:}
  wait "$pid" || { tail -5 "$OUT/pgbench.log" >&2; die "pgbench failed"; }
}

# seconds_table: for each second what the application saw and what the device did, side by
# side; latencies from pgbench's log of every transaction, by the second they ended in,
# from the moment they were due.
seconds_table() {
  {
    printf 'unix_s\ttps\tp50_ms\tp99_ms\tmax_ms\twrites_per_s\tMB_per_s\tkB_per_write\tw_await_ms\tqueue\tutil_pct\n'
    {
      sort -n -k5,5 -k3,3 "$WORK"/latency/tx.* | awk '
        function out() { if (n) printf "A %d %d %.1f %.1f %.1f\n", at, n, v[int((n + 1) / 2)] / 1000, v[int(n * 0.99 + 0.999)] / 1000, v[n] / 1000; n = 0 }
        $5 != at { out(); at = $5 } { v[++n] = $3 } END { out() }'
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
  # pgbench and its logs are complete; the recorders stop while the server still runs.
  sort -n -k3,3 "$WORK"/latency/tx.* | awk '{ v[NR] = $3 / 1000 } END {
    printf "latency of all %d transactions, from when they were due, ms: p50 %.1f  p95 %.1f  p99 %.1f  p99.9 %.1f  max %.1f\n", NR,
      v[int(NR * .5)], v[int(NR * .95)], v[int(NR * .99)], v[int(NR * .999)], v[NR] }' >> "$OUT/pgbench.log"
  grep -E 'checkpoint (starting|complete)' "$WORK/server.log" > "$OUT/checkpoints.log" || true
  stop_all
  seconds_table
  gzip -9nc "$WORK/postgres.prom" > "$OUT/postgres.prom.gz"
  gzip -9nc "$WORK/node.prom" > "$OUT/node.prom.gz"
}

# verify: is it what the example is about? Stops with a word when it is not.
verify() {
  local scrapes checkpoints
  tail -1 "$OUT/pgbench.log"
  scrapes=$(grep -c '^# scraped' "$WORK/postgres.prom")
  [ "$scrapes" -ge $((SECONDS_RECORDED * 8 / 10)) ] || die "only $scrapes scrapes of PostgreSQL in $SECONDS_RECORDED s"
  for family in pg_stat_bgwriter_checkpoint_sync_time pg_stat_database_xact_commit pg_stat_activity_max_tx_duration pg_settings_checkpoint_completion_target pg_stat_wal_wal_bytes; do
    grep -q "^$family" "$WORK/postgres.prom" || die "postgres_exporter did not give $family"
  done
  grep -q '^node_pressure_io_waiting_seconds_total' "$WORK/node.prom" || say "no pressure stall information in this kernel: node.prom.gz is without it"
  checkpoints=$(grep -c 'checkpoint complete' "$OUT/checkpoints.log") || true
  echo "$checkpoints checkpoints; the second before the worst one and those around it:"
  awk -F'\t' -v iops=$IOPS -v bps=$BPS '
    NR == 1 { head = $0; next }
    { row[NR] = $0; if ($5 + 0 > worst) { worst = $5 + 0; at = NR }
      if ($6 > iops * 0.95 || $7 > bps * 0.95e-6) pinned++ }
    END { print head; for (i = at - 20; i <= at + 4; i++) if (i in row) print row[i]
          printf "%d seconds with the volume at its limit; the slowest transaction took %.1f s\n", pinned, worst / 1000
          exit !pinned }' "$OUT/seconds.tsv" || die "the volume was never at its limit: raise RATE or SCALE"
}

make_volume
make_database
volume_limit $IOPS $BPS
start_recording
run_load
finish_recording
verify
du -sh "$OUT" >&2
[ -z "$QUICK" ] || say "quick run: all as it should be; the capture is removed again"
