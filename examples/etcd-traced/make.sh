#!/usr/bin/env bash
# Records etcd beside a dd on one volume, with a trace of etcd's slow calls. See README.md beside
# this file.
#
# usage: sudo ./make.sh [--quick] [--out DIR]
#   --quick     15 seconds, into a temporary folder that is removed again: proves that the script
#               runs here. Ends with 77 where the kernel does not allow it.
#   --out DIR   where the recordings go; default: this folder
#
# PLIMSOLL=FILE is the program; by default it is built. What it makes besides the recordings is
# removed on any exit.
set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=examples/make/record.sh
. "$HERE/../make/record.sh"

OUT=$HERE FOR=75 PAUSE=15 QUICK=''
while [ $# -gt 0 ]; do
  case $1 in
    --quick) QUICK=yes FOR=15 PAUSE=2; shift ;;
    --out) OUT=${2:?--out wants a folder}; shift 2 ;;
    -h | --help) sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) die "unknown argument $1 (see --help)" ;;
  esac
done

need_root
need etcd etcd-server curl curl mkfs.xfs xfsprogs dd coreutils
[ -r /sys/kernel/btf/vmlinux ] || skip "this kernel has no BTF: nothing can be traced"

WORK=$(mktemp -d /dev/shm/plimsoll-traced.XXXXXX)
PLIMSOLL=${PLIMSOLL:-}
if [ -z "$PLIMSOLL" ]; then
  PLIMSOLL=$WORK/plimsoll
  (cd "$HERE/../.." && CGO_ENABLED=0 go build -trimpath -o "$PLIMSOLL" ./cmd/plimsoll)
fi
pids=()
cleanup() {
  trap '' INT TERM
  for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done
  wait
  "$PLIMSOLL" lab umount --force "$WORK/volume" >"$WORK/umount" 2>&1 || cat "$WORK/umount"
  rm -rf --one-file-system "$WORK"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
[ -z "$QUICK" ] || OUT=$WORK/out

mkdir "$WORK/volume"
"$PLIMSOLL" lab mount "$HERE/volume.yaml" "$WORK/volume" || skip "no volume can be emulated here"

say "etcd with 4 clients that write one value after the other, and a dd of 300 MB every $PAUSE seconds"
etcd --data-dir "$WORK/volume/etcd" --listen-client-urls http://127.0.0.1:23790 \
  --advertise-client-urls http://127.0.0.1:23790 --listen-peer-urls http://127.0.0.1:23800 >"$WORK/etcd.log" 2>&1 &
pids+=($!)
value=$(head -c 256 /dev/zero | base64 -w 0)
for i in 1 2 3 4; do
  curl -s -o "$WORK/answers$i" --retry 30 --retry-connrefused --retry-delay 1 \
    -d "{\"key\":\"$(printf 'key%d' "$i" | base64 -w 0)\",\"value\":\"$value\"}" "http://127.0.0.1:23790/v3/kv/put?[1-99999999]" &
  pids+=($!)
done
(while sleep "$PAUSE"; do dd if=/dev/zero of="$WORK/volume/big" bs=1M count=300 conv=fsync,notrunc 2>/dev/null; done) &
pids+=($!)
sleep 3

rm -rf "$OUT/recorded" "$OUT/traced"
mkdir -p "$OUT"
"$PLIMSOLL" trace --command etcd --for "${FOR}s" --out "$OUT/traced" >"$WORK/trace.txt" &
tracer=$!
"$PLIMSOLL" record host http://127.0.0.1:23790/metrics --for "${FOR}s" --out "$OUT/recorded" >"$WORK/record.txt"
wait "$tracer"
cat "$WORK/trace.txt"
"$PLIMSOLL" lab status "$WORK/volume"
[ -n "$QUICK" ] || grep -q 'behind pages of big' "$WORK/trace.txt" || die "the trace does not name dd's file"
