# What rollout.sh needs to know of MongoDB.

# shellcheck shell=bash disable=SC2034,SC2154  # names that rollout.sh has
readonly volume=journal folder=journal room=20GiB objective='write_p99 < 30ms' look=60s long=150s
clients=(load)

needs() {
	[[ -n ${PLIMSOLL_MONGOD:-} ]] || missing "PLIMSOLL_MONGOD names no mongod"
	[[ -x $PLIMSOLL_MONGOD ]] || missing "PLIMSOLL_MONGOD: $PLIMSOLL_MONGOD is not there"
	command -v go >/dev/null || missing "the clients need go"
}

volumes() {
	cat <<-END
		plimsoll: 1
		name: volumes of a rollout
		host: {filesystem: xfs}
		volumes:
		  data: {type: io2, size: $room, iops: 10000}
		  journal: {type: gp3, size: 10GiB}
		engine: {mongodb: {cache: 1GB}}
		workload: {arrivals: {poisson: 100/s}, mix: {update: 100%}, keys: {count: 150000}, document: {size: 4KiB}}
	END
}

# A replica set of one. prove needs six checkpoints.
install_server() {
	local port
	port=$(shuf -i 20000-29999 -n 1)
	address="mongodb://127.0.0.1:$port/?directConnection=true"
	(cd "$here/../.." && go build -o "$work/clients" ./examples/rollout/clients)
	install -d -m 755 -o nobody "$data" "$work/log"
	chown nobody "$log"
	cat >"$work/mongod.conf" <<-END
		storage:
		  dbPath: $data
		  syncPeriodSecs: $([[ $quick ]] && echo 4 || echo 15)
		  wiredTiger:
		    engineConfig: {cacheSizeGB: 1}
		replication: {replSetName: rollout, oplogSizeMB: 990}
		net: {bindIp: 127.0.0.1, port: $port, unixDomainSocket: {enabled: false}}
		systemLog: {destination: file, path: $work/log/mongod.log, logAppend: true}
		processManagement: {fork: true}
	END
	start="runuser -u nobody -- $PLIMSOLL_MONGOD --config $work/mongod.conf"
	stop="runuser -u nobody -- $PLIMSOLL_MONGOD --dbpath $data --shutdown >/dev/null"
}

fill() { "$work/clients" make "$address"; }

load() {
	"$work/clients" write "$address" acknowledged &
	local writers=$!
	while [[ -e $work/writes ]]; do sleep 0.2; done
	kill "$writers"
	wait "$writers"
}

# It checkpoints often enough.
checkpoints() { :; }

# The pid file may be of a second mongod that found the first one's port in use; the lock has the server's.
crash() {
	local server
	server=$(cat "$data/mongod.lock" 2>/dev/null) || return 0
	grep -qs "$work/mongod.conf" "/proc/${server:-none}/cmdline" || return 0
	kill -KILL "$server"
	while fuser -s "$data/mongod.lock" 2>/dev/null; do sleep 0.1; done
}

count() { "$work/clients" check "$address" acknowledged; }
