#!/bin/bash
# What the kernel's writeback throttling does to each engine's writes: engine x file system x
# throttling on and off x with and without a neighbour that writes through the page cache, with real
# engines on emulated volumes. One line of measured.tsv for each run. A run that has its line is not
# made again, so it can be stopped at any time and started again.
#
#   sudo examples/throttling/measure.sh [SECONDS]   # stop before a run that could end later than that
#
# It needs root and what `plimsoll lab run` needs: PostgreSQL, etcd, bin/plimsoll-wiredtiger. Where
# PLIMSOLL_MONGOD names a mongod, that one is measured, too.
set -euo pipefail
cd "$(dirname "$0")"

plimsoll=${PLIMSOLL:-../../bin/plimsoll}
out=${OUT:-measured.tsv}
limit=${1:-86400}
readonly a_run=250 # seconds that a run takes at most: loading, warm-up, measurement, shutting down

readonly slow='{type: custom, size: 6GiB, iops: 1000, throughput: 40MiB/s, operation: 256KiB, latency: {like: gp3}}'
declare -A scenario=(
	[wiredtiger]=../scenarios/lab-wiredtiger.yaml
	[postgres]=../scenarios/lab-postgres.yaml
	[etcd]=../scenarios/lab-etcd.yaml
	[mongodb]=../arc/mongodb.yaml
)
# PostgreSQL stays on the volume of its scenario, 3,000 IOPS and 48 MB/s.
declare -A sets=(
	[wiredtiger]="volumes.data=$slow|workload.arrivals.poisson=400/s|workload.keys.count=100000|run.duration=60s"
	[postgres]="run.duration=60s"
	[etcd]="volumes.wal=$slow|volumes.data=$slow|workload.arrivals.poisson=100/s|run.duration=45s"
	[mongodb]="run={duration: 100s, warmup: 40s}|workload.arrivals={poisson: 200/s}"
)
declare -A volume=([wiredtiger]=data [postgres]=data [etcd]=wal [mongodb]=data)
engines=(wiredtiger postgres etcd)
[[ -z ${PLIMSOLL_MONGOD:-} ]] || engines+=(mongodb)

# neighbour PID VOLUME: write 48 MiB through the page cache every 8 s, as long as the process lives.
neighbour() {
	local dir
	while kill -0 "$1" 2>/dev/null; do
		dir=$("$plimsoll" lab status -o json 2>/dev/null | jq -r --arg v "$2" '.. | objects | select(.name? == $v and .dir? != null) | .dir' | head -n 1)
		if [[ -n $dir && -d $dir ]]; then
			dd if=/dev/zero of="$dir/neighbour" bs=1M count=48 conv=notrunc status=none 2>/dev/null || true
		fi
		sleep 8
	done
}

# one ENGINE FILESYSTEM WBT NEIGHBOUR SEED
one() {
	local engine=$1 fs=$2 wbt=$3 beside=$4 seed=$5 args=() set json status=0
	grep -qs "^$engine	$fs	$wbt	$beside	$seed	" "$out" && return
	if ((SECONDS + a_run > limit)); then
		echo "stopped before $engine $fs $wbt $beside $seed: $limit s" >&2
		exit 0
	fi
	while IFS= read -r -d '|' set; do args+=(--set "$set"); done <<<"${sets[$engine]}|"
	if [[ $engine == mongodb ]]; then args+=(--mongod "$PLIMSOLL_MONGOD"); fi
	json=$(mktemp)
	"$plimsoll" lab run "${scenario[$engine]}" "${args[@]}" --set "host.filesystem=$fs" --set "host.wbt_lat_usec=$wbt" \
		--seed "$seed" --compare-model=false -o json >"$json" &
	local pid=$!
	if [[ $beside == yes ]]; then neighbour "$pid" "${volume[$engine]}" & fi
	wait "$pid" || status=$?
	if ((status != 0)); then
		echo "$engine $fs $wbt $beside $seed failed ($status)" >&2
		rm -f "$json"
		return
	fi
	jq -r --arg run "$engine	$fs	$wbt	$beside	$seed" --arg load "$(cut -d ' ' -f 1 /proc/loadavg)" '
		[$run, (.writes.all | .p50_seconds, .p99_seconds, .max_seconds), .checkpoints.median_seconds,
		 .done_per_second, .lab.saturated, $load] | map(if . == null then "-" else tostring end) | join("\t")' "$json" >>"$out"
	tail -n 1 "$out"
	rm -f "$json"
	wait
}

[[ -f $out ]] || printf 'engine\tfilesystem\twbt_lat_usec\tneighbour\tseed\twrite_p50_s\twrite_p99_s\twrite_max_s\tcheckpoint_median_s\toperations_per_second\tsaturated\tload_average\n' >"$out"
for round in "no 1" "no 2" "yes 1" "yes 2" "no 3"; do
	read -r beside seed <<<"$round"
	for engine in "${engines[@]}"; do
		for fs in xfs ext4; do
			for wbt in 2000 0; do
				one "$engine" "$fs" "$wbt" "$beside" "$seed"
			done
		done
	done
done
