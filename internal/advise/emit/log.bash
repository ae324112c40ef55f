# log_in, pattern and mount_at are set above.

. ./say.bash

usage() {
	cat <<END
usage: $0 look DATA | move DATA | check DATA | back DATA

DATA is the database's data folder, with its log in $log_in.

look   shows where the log is, and which processes use it
move   copies the log to $mount_at, compares both, and leaves a link in its place; the old folder
       stays next to it
check  exits with code 0 if the log is on its volume
back   moves the log back, with everything written since, and removes the old folder

move and back refuse while a process uses the database's files: stop it first. Both can be run again
after an interruption at any point.
END
}

# users FOLDER...: print the processes that have a file in these folders open, or their working directory there.
users() {
	local pid
	{
		find -- "$@" -printf '%D:%i\n' || true # files and processes come and go
		find -L /proc/[0-9]*/cwd -maxdepth 0 -printf '%D:%i %p\n' || true
		find -L /proc/[0-9]*/fd -mindepth 1 -maxdepth 1 -printf '%D:%i %p\n' || true
	} 2>/dev/null | awk 'NF == 1 { file[$1] } NF == 2 && $1 in file { split($2, at, "/"); print at[3] }' | sort -un |
		while read -r pid; do
			printf '%s (process %s) ' "$(cat "/proc/$pid/comm" 2>/dev/null || true)" "$pid"
		done
}

# unused: fail if a process uses the database's files. A supervisor may have started the database again.
unused() {
	local who folders=("$data")
	[[ ! -d $new ]] || folders+=("$new")
	who=$(users "${folders[@]}")
	[[ -z $who ]] || refuse "${who% } uses $data: stop the database, and pause whatever restarts it"
}

# room FROM AT: fail unless a folder fits in another place.
room() {
	local need free
	need=$(du -sb "$1" | cut -f 1)
	free=$(df -B1 --output=avail "$2" | tail -n 1)
	((need < free)) || refuse "$1 has $need bytes, but $2 only has room for $free"
}

# The steps for both directions are those of the init containers in Kubernetes.
move_log() {
	. ./podmove.sh
}

bring_back() {
	. ./podback.sh
}

main() {
	local verb=${1:-}
	case "$# $verb" in
	'2 look' | '2 move' | '2 check' | '2 back') ;;
	*)
		usage >&2
		exit 2
		;;
	esac
	data=$(realpath -e -- "$2") || refuse "$2 does not exist"
	cd /
	log=$data/$log_in
	new=$mount_at/${log_in##*/}
	[[ -L $log || -d $log || -d $log.plimsoll-old || -d $log.plimsoll-back ]] || refuse "there is no log at $log: is $data the data folder?"
	case $verb in
	look)
		ls -ld "$log"
		du -shL "$log"
		local who
		who=$(users "$data")
		say "used by: ${who:-no process}"
		return
		;;
	check)
		[[ -L $log && $(readlink "$log") == "$new" ]] || refuse "$log does not lead to $new"
		[[ -n $(find "$new/." -type f -name "$pattern" -size +0c | head -n 1) ]] || refuse "there is no log in $new"
		say "the log is in $new"
		return
		;;
	esac
	((EUID == 0)) || refuse "this needs root: other users cannot see which processes use the log"
	mountpoint -q "$mount_at" || refuse "nothing is mounted at $mount_at"
	unused
	if [[ $verb == move ]]; then
		[[ -L $log || ! -d $log ]] || room "$log" "$mount_at"
		move_log "$log" "$new" "$pattern" "$data"
	else
		[[ ! -L $log ]] || room "$new" "$data"
		bring_back "$log" "$new" "$pattern"
	fi
}

main "$@"
