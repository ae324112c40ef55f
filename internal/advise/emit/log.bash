# log_in, pattern and mount_at are set above, and data and unit if they are known.

. ./say.bash

usage() {
	cat <<END
usage: $0 look | apply | check | undo | finish   [DATA]
       $0 move | back                            [DATA]

DATA is the database's data folder${data:+ (default: $data)}, with its log in $log_in. UNIT=... is its
systemd unit${unit:+ (default: $unit)}.

look    shows the unit, where the log is, and which processes use it
apply   stops the unit, does move and check, and starts it again
check   exits with code 0 if the log is on its volume
undo    stops the unit, does back, and starts it again
finish  removes the old folder, once the change has helped; undo still works afterwards

move    copies the log to $mount_at, compares both, and leaves a link in its place; the old folder
        stays next to it
back    moves the log back, with everything written since, and removes the old folder

move and back refuse while a process uses the database's files. All can be run again after an
interruption at any point. The database is never started on an empty or incomplete log: then the unit
stays stopped, and the message says why. Meanwhile a drop-in of the unit, plimsoll-log.conf, also keeps a
boot from starting it.
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

# full FOLDER: succeed if there is a log in it.
full() { [[ -d $1 && -n $(find "$1/." -type f -name "$pattern" -size +0c | head -n 1) ]]; }

# moved: succeed if the log is on its volume.
moved() { [[ -L $log && $(readlink "$log") == "$new" ]] && full "$new"; }

# fits VERB: fail if the log cannot move. All of this can be checked while the database runs.
fits() {
	((EUID == 0)) || refuse "this needs root: other users cannot see which processes use the log"
	mountpoint -q "$mount_at" || refuse "nothing is mounted at $mount_at"
	if [[ $1 == move ]]; then
		[[ -L $log || ! -d $log ]] || room "$log" "$mount_at"
	else
		[[ ! -L $log ]] || room "$new" "$data"
	fi
}

# The steps for both directions are those of the init containers in Kubernetes.
move_log() {
	. ./podmove.sh
}

bring_back() {
	. ./podback.sh
}

# dropin: print the path of a drop-in of the unit.
dropin() {
	local id
	id=$(systemctl show -p Id --value "$unit")
	printf '%s/%s.d/plimsoll-log.conf' "${UNITS:-/etc/systemd/system}" "${id:-$unit}"
}

# hold: from now on the unit does not start without a log, not even at a boot. While the log moves there is
# none for a moment, and a database would begin a new, empty one.
hold() {
	local file
	file=$(dropin)
	mkdir -p "$(dirname "$file")" || refuse "nothing has changed"
	# The file appears as a whole. In it, %% is a percent sign.
	{
		printf '[Unit]\n# %s removes this file once the log has moved.\nAssertPathExists=%s\n' \
			"$self" "${log//%/%%}" >"$file.new" && mv "$file.new" "$file" && sync && systemctl daemon-reload
	} || {
		rm -f "$file" "$file.new"
		refuse "nothing has changed"
	}
}

# release: the unit starts again as it did before.
release() {
	local file
	file=$(dropin)
	[[ -d $(dirname "$file") ]] || return 0
	rm -f "$file" "$file.new"
	rmdir --ignore-fail-on-non-empty "$(dirname "$file")"
	systemctl daemon-reload
}

# restarted AS VERB: stop the unit, run VERB, and start the unit again, whether or not the log moved.
restarted() {
	local as=$1 verb=$2 failed=0
	[[ -n $unit ]] || refuse "set UNIT to the database's systemd unit"
	systemctl cat "$unit" >/dev/null || refuse "there is no unit $unit"
	fits "$verb"
	exec 9<"$self"
	flock -n 9 || refuse "another $self is running"
	# A lost connection must not leave the database stopped.
	trap '' HUP
	hold
	say "stopping $unit"
	systemctl stop "$unit" 9<&- || failed=1
	# In a process of its own, because a condition would switch off set -e in it.
	((failed)) || bash "$self" "$verb" "$data" 9<&- || failed=1
	if ! moved && { [[ -L $log ]] || ! full "$log"; }; then
		refuse "$unit stays stopped, also after a boot, because $log is not complete. Fix what is said above, then run $self $as again, or $self undo"
	fi
	release
	say "starting $unit"
	systemctl start "$unit" 9<&- || refuse "$unit does not start (journalctl -u $unit). The log is complete, in $(realpath "$log"). To go back: $self undo"
	((failed == 0)) || refuse "the log did not move, see above: it is in $(realpath "$log"), and $unit is started"
	say "$unit is started, its log is in $(realpath "$log")"
}

look() {
	[[ -z $unit ]] || systemctl show -p Id -p ActiveState -p MainPID "$unit" || true
	ls -ld "$data" "$log"
	du -shL "$log"
	df -h "$data/." "$(dirname "$mount_at")" || true
	findmnt "$mount_at" || say "nothing is mounted at $mount_at"
	local who
	who=$(users "$data")
	say "used by: ${who:-no process}"
}

# finish: remove the old folder, which is out of date.
finish() {
	moved || refuse "the log is not in $new: nothing is removed"
	local who=''
	[[ ! -d $log.plimsoll-old ]] || who=$(users "$log.plimsoll-old")
	[[ -z $who ]] || refuse "${who% } uses $log.plimsoll-old: nothing is removed"
	rm -rf "$log.plimsoll-old"
	say "removed $log.plimsoll-old"
}

main() {
	local verb=${1:-}
	case $verb in
	look | apply | check | undo | finish | move | back) ;;
	*) verb= ;;
	esac
	data=${2:-$data}
	if [[ -z $verb || -z $data || $# -gt 2 ]]; then
		usage >&2
		exit 2
	fi
	self=$(realpath -e -- "${BASH_SOURCE[0]}")
	data=$(realpath -e -- "$data") || refuse "$data does not exist"
	cd /
	log=$data/$log_in
	new=$mount_at/${log_in##*/}
	[[ -L $log || -d $log || -d $log.plimsoll-old || -d $log.plimsoll-back ]] || refuse "there is no log at $log: is $data the data folder?"
	case $verb in
	look | finish) "$verb" ;;
	check)
		[[ -L $log && $(readlink "$log") == "$new" ]] || refuse "$log does not lead to $new"
		full "$new" || refuse "there is no log in $new"
		say "the log is in $new"
		;;
	apply) restarted apply move ;;
	undo)
		if [[ ! -L $log ]] && full "$log" && [[ ! -e $log.plimsoll-old && ! -e $log.plimsoll-back ]]; then
			[[ -z $unit ]] || release # of a run that was interrupted before its first step
			say "the log is in $log: there is nothing to undo"
			return
		fi
		restarted undo back
		;;
	move | back)
		fits "$verb"
		unused
		if [[ $verb == move ]]; then
			move_log "$log" "$new" "$pattern" "$data"
		else
			bring_back "$log" "$new" "$pattern"
		fi
		;;
	esac
}

main "$@"
