#!/bin/bash
# A rollout from end to end, with a real PostgreSQL or mongod on emulated volumes: its writes stall,
# diagnose says why, plan moves the log to a volume of its own, rollout carries that out with recordings
# before and after, the recordings prove better, and --finish removes the old log. Meanwhile clients
# write, and each acknowledged write is looked for at the end.
#
#   sudo examples/rollout/rollout.sh [--quick] [DIR]
#
# ENGINE=mongodb takes the mongod that PLIMSOLL_MONGOD names (default: postgres, as it is installed).
# KILL=copy,start ends the rollout by kill -9 in these steps, each once, and resumes it (default: in all
# of them, in both recordings and while they are compared; --quick: copy, start and prove). --quick takes
# three minutes: the plan is made from the scenario, and somebody asks for a checkpoint every eight
# seconds. Results go into DIR (build/rollout). Exit status 77: something is missing.
#
# What differs between the engines is in postgres.sh and mongodb.sh.
set -euo pipefail
cd "$(dirname "$0")/../.."

quick=''
if [[ ${1:-} == --quick ]]; then
	quick=yes
	shift
fi
dir=$(realpath -m "${1:-build/rollout}")
plimsoll=$(realpath "${PLIMSOLL:-bin/plimsoll}")
readonly here=$PWD/examples/rollout

missing() {
	echo "skipped: $*" >&2
	exit 77
}

engine=${ENGINE:-postgres}
case $engine in
postgres | mongodb)
	# shellcheck source=examples/rollout/mongodb.sh
	source "$here/$engine.sh"
	;;
*)
	echo "ENGINE is postgres or mongodb, not $engine" >&2
	exit 2
	;;
esac
needs
for program in mkfs.ext4 mkfs.xfs findmnt runuser; do
	command -v "$program" >/dev/null || missing "$program is not installed (Debian: e2fsprogs, xfsprogs, util-linux)"
done
((EUID == 0)) || missing "emulated volumes need root"
[[ -e /dev/fuse ]] || missing "emulated volumes need /dev/fuse"
[[ -x $plimsoll ]] || missing "$plimsoll is not there (make build)"

if [[ $quick ]]; then
	record_for=75s
	kill=${KILL-copy,start,prove}
else
	record_for=$long
	kill=${KILL-record before,stop,copy,swap,start,record after,prove}
fi

mkdir -p "$dir"
cd "$dir"
rm -rf before rollout acknowledged ./*.log ./*.json ./*.txt ./*.yaml

# The server's user may enter it.
work=$(mktemp -d /var/tmp/plimsoll-rollout-XXXXXX)
chmod 755 "$work"
readonly data=$work/volumes/data/main log=$work/volumes/$volume

jobs=()
cleanup() {
	rm -f "$work/writes"
	local job
	for job in "${jobs[@]}"; do wait "$job" || true; done
	crash || true
	"$plimsoll" lab umount "$work/volumes" >/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT

# show COMMAND...: print a command, and run it.
show() {
	{
		printf '$ plimsoll'
		printf ' %q' "${@:2}"
		printf '\n'
	} >&2
	"$@"
}

# findings COMMAND...: run it; findings (exit code 3) are what is asked for.
findings() {
	local status=0
	show "$@" || status=$?
	((status == 0 || status == 3)) || exit "$status"
}

printf '=== %s on a slow volume, and an empty volume\n' "$engine"
mkdir "$work/volumes"
volumes >"$work/volumes.yaml"
"$plimsoll" lab mount "$work/volumes.yaml" "$work/volumes"
chmod 755 "$work/volumes"/*
install_server
sh -c "$start" >/dev/null
fill
sync --file-system "$work/volumes/data"
"$plimsoll" lab set "$work/volumes" volumes.data.iops=500 >/dev/null

touch "$work/writes" acknowledged
for client in "${clients[@]}"; do
	"$client" &
	jobs+=($!)
done
if [[ $quick ]]; then
	checkpoints &
	jobs+=($!)
fi

# Neither the server's settings nor its volume may change.
plan=(--objective "$objective" --keep engine --keep volumes.data)
if [[ $quick ]]; then
	plan=("$here/$engine.yaml" "${plan[@]}")
else
	printf '\n=== diagnose\n'
	show "$plimsoll" record "$address" host --for "$look" --out before
	findings "$plimsoll" diagnose before --width 100 >diagnosis.txt
	sed -n 1,12p diagnosis.txt
	# What was rented is known, also where no second of the recording reached a limit.
	device=$(basename "$(findmnt -nro SOURCE --target "$data")")
	plan=(before "${plan[@]}" --device "data=$device" --set "volumes.data={type: io2, size: $room, iops: 500}")
fi
printf '\n=== plan\n'
findings "$plimsoll" plan "${plan[@]}" --width 100 >plan.txt
sed -n 1,8p plan.txt
findings "$plimsoll" plan "${plan[@]}" -o json >plan.json 2>/dev/null

printf '\n=== rollout\n'
cat >site.yaml <<-END
	members:
	  - name: main
	    data: $data
	    volumes: {$volume: $log}
	    start: $start
	    stop: $stop
	    address: $address
END

# rollout ARGUMENT...: run it in the background; what it says is added to a file.
rollout() {
	printf '$ plimsoll rollout %s\n' "$*" >>rollout.log
	from=$(wc -l <rollout.log)
	"$plimsoll" rollout "$@" >rollout.txt 2>>rollout.log &
	running=$!
}

# begun STEP: whether the newest run has begun it.
begun() { sed -n "$from,\$p" rollout.log | grep -qE "[0-9] $1\$"; }

rollout plan.json --site site.yaml --record-for "$record_for"
IFS=, read -ra kills <<<"$kill"
for step in "${kills[@]}"; do
	[[ $step == record* || $step == prove ]] || step="main: $step"
	until begun "$step" || ! kill -0 "$running" 2>/dev/null; do sleep 0.05; done
	[[ $step != *copy ]] || sleep "0.$((RANDOM % 4))" # in the middle of it; the others are short
	kill -KILL "$running" 2>/dev/null || break
	wait "$running" 2>/dev/null || true
	echo "(killed)" >>rollout.log
	rollout --resume
done
status=0
wait "$running" || status=$?
cat rollout.log
((status == 0)) || exit "$status"
sed -n 1,3p rollout.txt

printf '\n=== prove\n'
show "$plimsoll" prove rollout/before rollout/after --width 100 >proof.txt || (($? == 3))
cat proof.txt

printf '\n=== finish\n'
show "$plimsoll" rollout --finish >finish.txt
sed -n 1p finish.txt
[[ ! -e $data/$folder.plimsoll-old && $(readlink "$data/$folder") == "$log/$folder" ]]

# Every write that was acknowledged is there, also after a crash.
rm "$work/writes"
for job in "${jobs[@]}"; do wait "$job" || true; done
jobs=()
crash
sh -c "$start" >/dev/null
printf '\n'
count
