# What rollout.sh needs to know of PostgreSQL.

# shellcheck shell=bash disable=SC2034,SC2154  # names that rollout.sh has
readonly volume=wal folder=pg_wal room=10GiB objective='write_p99 < 15ms' look=100s long=230s
clients=(load acknowledge)

needs() {
	bin=$(compgen -G '/usr/lib/postgresql/*/bin' | sort -V | tail -1) || missing "PostgreSQL is not installed (Debian: postgresql)"
	for program in "$bin/postgres" "$bin/pgbench" "$bin/psql"; do
		command -v "$program" >/dev/null || missing "$program is not installed (Debian: postgresql)"
	done
}

volumes() {
	cat <<-END
		plimsoll: 1
		name: volumes of a rollout
		host: {filesystem: ext4}
		volumes:
		  data: {type: io2, size: 10GiB, iops: 1200}
		  wal: {type: gp3, size: 10GiB}
		engine: {postgres: {}}
		workload: {preset: pgbench}
	END
}

install_server() {
	socket=$work/socket
	export PGHOST=$socket PGUSER=postgres PGDATABASE=postgres
	address="postgres://postgres@/postgres?host=$socket"
	as=(runuser -u postgres -- env -C /)
	install -d -o postgres -g postgres "$socket"
	install -d -m 700 -o postgres -g postgres "$data"
	chown postgres: "$log"
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
}

fill() {
	"$bin/pgbench" --initialize --scale=2 --fillfactor=90 --quiet 2>/dev/null
	"$bin/psql" -qXc 'CREATE TABLE acknowledged (id bigint PRIMARY KEY)' -c CHECKPOINT
	cat >"$work/update.sql" <<-'END'
		\set aid random(1, 200000)
		UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :aid;
	END
}

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

crash() {
	[[ ! -e $data/postmaster.pid ]] || "${as[@]}" "$bin/pg_ctl" -D "$data" -w -m immediate stop >/dev/null
}

count() {
	"$bin/psql" -XAtqc 'SELECT id FROM acknowledged' | sort >there
	local lost
	lost=$(sort -u acknowledged | comm -23 - there | wc -l)
	printf '%s acknowledged commits, %s lost\n' "$(sort -u acknowledged | wc -l)" "$lost"
	((lost == 0))
}
