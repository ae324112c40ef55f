#!/bin/bash
# A rollout from end to end, with a real PostgreSQL on emulated volumes: its commits stall, diagnose
# says why, plan moves the WAL to a volume of its own, rollout carries that out with recordings before
# and after, the recordings prove better, and --finish removes the old log. Meanwhile clients write,
# and each acknowledged commit is looked for at the end.
#
#   sudo examples/rollout/rollout.sh [--quick] [DIR]
#
# KILL=copy,start ends the rollout by kill -9 in these steps, each once, and resumes it (default: in all
# of them, in both recordings and while they are compared; --quick: copy, start and prove). --quick takes
# three minutes: the plan is made from the scenario, and somebody asks for a checkpoint every eight
# seconds. Results go into DIR (build/rollout). Exit status 77: something is missing.
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

bin=$(compgen -G '/usr/lib/postgresql/*/bin' | sort -V | tail -1) || missing "PostgreSQL is not installed (Debian: postgresql)"
for program in "$bin/postgres" "$bin/pgbench" "$bin/psql" mkfs.ext4 findmnt runuser; do
	command -v "$program" >/dev/null || missing "$program is not installed (Debian: postgresql, e2fsprogs, util-linux)"
done
((EUID == 0)) || missing "emulated volumes need root"
[[ -e /dev/fuse ]] || missing "emulated volumes need /dev/fuse"
[[ -x $plimsoll ]] || missing "$plimsoll is not there (make build)"

if [[ $quick ]]; then
	record_for=75s
	kill=${KILL-copy,start,prove}
else
	record_for=230s
	kill=${KILL-record before,stop,copy,swap,start,record after,prove}
fi

mkdir -p "$dir"
cd "$dir"
rm -rf before rollout acknowledged ./*.log ./*.json ./*.txt ./*.yaml

# PostgreSQL's user may enter it.
work=$(mktemp -d /var/tmp/plimsoll-rollout-XXXXXX)
chmod 755 "$work"
readonly data=$work/volumes/data/main wal=$work/volumes/wal socket=$work/socket
export PGHOST=$socket PGUSER=postgres PGDATABASE=postgres
readonly address="postgres://postgres@/postgres?host=$socket"
as=(runuser -u postgres -- env -C /)

jobs=()
cleanup() {
	rm -f "$work/writes"
	local job
	for job in "${jobs[@]}"; do wait "$job" || true; done
	[[ ! -e $data/postmaster.pid ]] || "${as[@]}" "$bin/pg_ctl" -D "$data" -m immediate stop >/dev/null || true
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

printf '=== a PostgreSQL on a volume of 500 IOPS, and an empty volume\n'
mkdir "$work/volumes"
cat >"$work/volumes.yaml" <<-END
	plimsoll: 1
	name: volumes of a rollout
	host: {filesystem: ext4}
	volumes:
	  data: {type: io2, size: 10GiB, iops: 1200}
	  wal: {type: gp3, size: 10GiB}
	engine: {postgres: {}}
	workload: {preset: pgbench}
END
"$plimsoll" lab mount "$work/volumes.yaml" "$work/volumes"
chmod 755 "$work/volumes"/*
install -d -o postgres -g postgres "$socket"
install -d -m 700 -o postgres -g postgres "$data"
chown postgres: "$wal"
"${as[@]}" "$bin/initdb" -D "$data" -A trust --no-sync --locale=C -E UTF8 >/dev/null
cat >>"$data/postgresql.conf" <<-END
	listen_addresses = ''
	unix_socket_directories = '$socket'
	shared_buffers = 256MB
	max_wal_size = 2GB
	autovacuum = off
	checkpoint_timeout = $([[ $quick ]] && echo 30min || echo 30s)
	checkpoint_completion_target = 0
	checkpoint_flush_after = 0
END
start="runuser -u postgres -- $bin/pg_ctl -D $data -w -t 120 -l $socket/log start"
stop="runuser -u postgres -- $bin/pg_ctl -D $data -w -t 120 -m fast stop"
sh -c "$start" >/dev/null
"$bin/pgbench" --initialize --scale=2 --fillfactor=90 --quiet 2>/dev/null
"$bin/psql" -qXc 'CREATE TABLE acknowledged (id bigint PRIMARY KEY)' -c CHECKPOINT
sync --file-system "$work/volumes/data"
"$plimsoll" lab set "$work/volumes" volumes.data.iops=500 >/dev/null

cat >"$work/update.sql" <<-'END'
	\set aid random(1, 200000)
	UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :aid;
END
touch "$work/writes" acknowledged

# Clients that connect again whenever the server is back.
load() {
	while [[ -e $work/writes ]]; do
		"$bin/pgbench" --no-vacuum --protocol=prepared --file="$work/update.sql" --client=24 --rate=150 --time=5 >/dev/null 2>&1 || sleep 0.2
	done
}

# One that writes down each commit that was acknowledged.
acknowledge() {
	local id=0
	while [[ -e $work/writes ]]; do
		id=$(tail -n 1 acknowledged)
		while [[ -e $work/writes ]]; do
			echo "INSERT INTO acknowledged VALUES ($((++id))) ON CONFLICT DO NOTHING RETURNING id;"
			sleep 0.05
		done | "$bin/psql" -XAtq -v ON_ERROR_STOP=1 >>acknowledged 2>/dev/null || sleep 0.2
	done
}

# Somebody who asks for a checkpoint, at once.
checkpoints() {
	while [[ -e $work/writes ]]; do
		"$bin/psql" -qXc CHECKPOINT 2>/dev/null || true
		sleep 8
	done
}

load &
jobs+=($!)
acknowledge &
jobs+=($!)
if [[ $quick ]]; then
	checkpoints &
	jobs+=($!)
fi

# Neither PostgreSQL's settings nor its volume may change.
plan=(--objective 'write_p99 < 15ms' --keep engine --keep volumes.data)
if [[ $quick ]]; then
	plan=("$here/postgres.yaml" "${plan[@]}")
else
	printf '\n=== diagnose\n'
	show "$plimsoll" record "$address" host --for 100s --out before
	findings "$plimsoll" diagnose before --width 100 >diagnosis.txt
	sed -n 1,12p diagnosis.txt
	# What was rented is known, also where no second of the recording reached a limit.
	device=$(basename "$(findmnt -nro SOURCE --target "$data")")
	plan=(before "${plan[@]}" --device "data=$device" --set 'volumes.data={type: io2, size: 10GiB, iops: 500}')
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
	    volumes: {wal: $wal}
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
[[ ! -e $data/pg_wal.plimsoll-old && $(readlink "$data/pg_wal") == "$wal/pg_wal" ]]

# Every commit that was acknowledged is there, also after a crash.
rm "$work/writes"
for job in "${jobs[@]}"; do wait "$job" || true; done
jobs=()
"${as[@]}" "$bin/pg_ctl" -D "$data" -w -m immediate stop >/dev/null
sh -c "$start" >/dev/null
"$bin/psql" -XAtqc 'SELECT id FROM acknowledged' | sort >there
lost=$(sort -u acknowledged | comm -23 - there | wc -l)
printf '\n%s acknowledged commits, %s lost\n' "$(sort -u acknowledged | wc -l)" "$lost"
((lost == 0))
