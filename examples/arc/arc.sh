#!/bin/bash
# The arc from end to end, with a real engine on an emulated volume: it stalls; diagnose says why;
# fit makes a scenario of the recording; plan finds a fix by simulating; emit writes the files; the
# same load again, with the fix; prove compares; and what was predicted stands beside what happened.
#
#   sudo examples/arc/arc.sh [postgres | mongodb] [DIR]
#
# mongodb needs a mongod, whose path is in PLIMSOLL_MONGOD; it becomes a replica set of one, written
# with {w: majority, j: true}. Results go into DIR (build/arc-ENGINE); a step whose result is there is
# not repeated. UNTIL=STEP ends after a step: before, diagnose, fit, plan, emit, after, prove, power.
# POWER_LOSS=50 adds that many losses of power at the end, once as written above and once with writes
# that wait for no disk, and counts what is lost. Exit status 77: something is missing.
set -euo pipefail
cd "$(dirname "$0")/../.."

engine=${1:-${ENGINE:-mongodb}}
dir=${2:-build/arc-$engine}
plimsoll=${PLIMSOLL:-bin/plimsoll}
until_step=${UNTIL:-}

missing() {
	echo "skipped: $*" >&2
	exit 77
}

case $engine in
mongodb)
	[[ -n ${PLIMSOLL_MONGOD:-} ]] || missing "PLIMSOLL_MONGOD names no mongod; make arc ENGINE=postgres needs none"
	program=(--mongod "$PLIMSOLL_MONGOD")
	target=mongod
	objective='write_p99 < 250ms' # a mongod 5.0.7 with throttling had 129 ms
	weak=engine.mongodb.journal_each_write=false # {w: 1, j: false}
	;;
postgres)
	compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || command -v postgres >/dev/null || missing "PostgreSQL is not installed (Debian: postgresql)"
	program=()
	target=postgres
	objective='write_p99 < 100ms'
	weak=engine.postgres.synchronous_commit=false
	;;
*)
	echo "usage: $0 [postgres | mongodb] [DIR]" >&2
	exit 2
	;;
esac
((EUID == 0)) || missing "emulated volumes need root"
[[ -e /dev/fuse ]] || missing "emulated volumes need /dev/fuse"
command -v jq >/dev/null || missing "jq is not installed (Debian: jq)"
[[ -x $plimsoll ]] || missing "$plimsoll is not there (make build)"

readonly scenario=examples/arc/$engine.yaml
mkdir -p "$dir"

# step NAME RESULT: begin a step; fail if its result is there already. The step before may have been
# the last.
last=''
step() {
	[[ -z $until_step || $last != "$until_step" ]] || exit 0
	last=$1
	printf '\n=== %s\n' "$1"
	[[ ! -s $dir/$2 ]] || ! echo "($dir/$2 is there)"
}

# show COMMAND...: print a command, and run it.
show() {
	{
		printf '$'
		printf ' %q' "$@"
		printf '\n'
	} >&2
	"$@"
}

# lab RECORDING SEED SET...: run the engine under its load, with assignments over its scenario.
lab() {
	local name=$1 seed=$2 args=() set
	shift 2
	for set in "$@"; do args+=(--set "$set"); done
	rm -rf "${dir:?}/$name"
	show "$plimsoll" lab run "$scenario" "${program[@]}" --seed "$seed" "${args[@]}" \
		--out "$dir/$name" --compare-model=false -o json >"$dir/$name.part"
	mv "$dir/$name.part" "$dir/$name.json"
}

# figures RUN: print what its clients felt.
figures() {
	jq -r '"writes: p50 \(.writes.all.p50_seconds * 1e3 | round) ms, p99 \(.writes.all.p99_seconds * 1e3 | round) ms, slowest \(.writes.all.max_seconds * 1e3 | round) ms; \(.done_per_second | round)/s; \(.lab.server), \(.lab.kernel), \(.lab.filesystem)\(if .lab.saturated then "; the emulator was SATURATED" else "" end)"' "$dir/$1.json"
}

# findings COMMAND...: run it; findings (exit code 3) are what is asked for.
findings() {
	local status=0
	show "$@" || status=$?
	((status == 0 || status == 3)) || exit "$status"
}

if step before before.json; then lab before 1; fi
figures before

if step diagnose diagnosis.txt; then
	findings "$plimsoll" diagnose "$dir/before" --width 100 >"$dir/diagnosis.part"
	mv "$dir/diagnosis.part" "$dir/diagnosis.txt"
fi
cat "$dir/diagnosis.txt"

if step fit fitted.yaml; then
	show "$plimsoll" fit "$dir/before" --out "$dir/fitted.yaml"
fi

# What was rented is known, also where no second of the recording reached a limit. It is what it is:
# only what costs nothing may change. (Without --keep volumes, plan also orders IOPS, throughput or a
# volume for the log.)
plan=("$plimsoll" plan "$dir/fitted.yaml" --objective "$objective" --unpriced --keep volumes
	--set volumes.data.iops=1000 --set volumes.data.throughput=40MiB/s --set volumes.data.operation=256KiB
	--set 'volumes.data.latency={like: gp3}')
if step plan plan.json; then
	findings "${plan[@]}" --width 100 >"$dir/plan.txt"
	findings "${plan[@]}" -o json >"$dir/plan.part"
	mv "$dir/plan.part" "$dir/plan.json"
fi
cat "$dir/plan.txt"
jq -e '.chosen != null' "$dir/plan.json" >/dev/null || {
	echo "the plan chose nothing: no setting meets $objective by the model" >&2
	exit 3
}
mapfile -t sets < <(jq -r '.chosen.sets[]' "$dir/plan.json")

if step emit layout/README.md; then
	show "$plimsoll" emit "$dir/plan.json" --target sysctl --target udev --target "$target" --out "$dir/layout"
fi

# The lab applies the same assignments as the files: the kernel's limits by sysctl, the queue in
# /sys/block, the engine's settings in its configuration, and undoes them afterwards.
if step after after.json; then lab after 2 "${sets[@]}"; fi
figures after

if step prove proof.txt; then
	findings "$plimsoll" prove "$dir/before" "$dir/after" --require "$objective" --width 100 >"$dir/proof.part"
	mv "$dir/proof.part" "$dir/proof.txt"
fi
cat "$dir/proof.txt"

printf '\n=== predicted and measured\n'
jq -r -n --slurpfile plan "$dir/plan.json" --slurpfile before "$dir/before.json" --slurpfile after "$dir/after.json" '
	def ms: if . == null then "-" else . * 1e4 | round / 10 | tostring + " ms" end;
	def row($name; $said; $was): select($said != null and $was != null)
		| "\($name): predicted \($said.value | ms), with the claimed error bar \($said.low | ms) to \($said.high | ms); measured \($was | ms): \(if $was >= $said.low and $was <= $said.high then "within" else "OUTSIDE" end)";
	($plan[0].now.predicted) as $now | ($plan[0].chosen.predicted) as $chosen
	| row("before, write p50"; $now.write_p50_seconds; $before[0].writes.all.p50_seconds),
	  row("before, write p99"; $now.write_p99_seconds; $before[0].writes.all.p99_seconds),
	  row("before, checkpoint"; $now.checkpoint_median_seconds; $before[0].checkpoints.median_seconds),
	  row("after, write p50"; $chosen.write_p50_seconds; $after[0].writes.all.p50_seconds),
	  row("after, write p99"; $chosen.write_p99_seconds; $after[0].writes.all.p99_seconds),
	  row("after, checkpoint"; $chosen.checkpoint_median_seconds; $after[0].checkpoints.median_seconds)'

# power NAME SET...: lose power again and again, and count what acknowledged writes are gone.
power() {
	local name=$1
	shift
	if step "$name" "$name.json"; then
		findings "$plimsoll" lab run "$scenario" "${program[@]}" "$@" --power-loss "$POWER_LOSS" --compare-model=false -o json >"$dir/$name.part"
		mv "$dir/$name.part" "$dir/$name.json"
	fi
	jq -r '.power_loss | "\(.cuts) losses of power: \(.acknowledged_writes) acknowledged writes, \(.lost) documents lost, \(.wrong) wrong, \(.unreadable) unreadable, \(.failed_recoveries) failed recoveries"' "$dir/$name.json"
}

if ((${POWER_LOSS:-0} > 0)); then
	power power
	power power-without-waiting --set "$weak" # for the disk, which may lose some
fi
