verb=''
dry_run=false
checking=false # apply and undo first run without doing anything, so that they refuse before they change anything
wrong=0

. ./say.bash

. ./run.bash

# same IS... WANT...: succeed if a disk's four figures are the wanted ones; a wanted 0 matches anything.
same() {
	[[ $1 == "$5" && $2 == "$6" ]] && { (($7 == 0)) || [[ $3 == "$7" ]]; } && { (($8 == 0)) || [[ $4 == "$8" ]]; }
}

# unknown DISK: report that the disk cannot be queried. The provider's own message is above.
unknown() { refuse "cannot query $1: does it exist, are you logged in ($login), and do you have permission to see it?"; }

# failed DISK: report that a change failed. The provider's own message is above.
failed() { refuse "$1 was not changed, for the reason above. If it was changed too often or is being changed now, wait ($limits); if you lack a permission, the message names it. Earlier changes stay: run this again"; }

# attached MACHINE DISK: succeed if it is attached.
attached() {
	local on one
	on=$(machines "$2") || unknown "$2"
	for one in ${on//;/ }; do # gcloud joins several machines with ;
		[[ $one != "$1" ]] || return 0
	done
	return 1
}

# modified DISK WAS... WANT...: change a disk in use; four figures each: type, GiB, IOPS, throughput.
modified() {
	local disk=$1 was=("${@:2:4}") want=("${@:6:4}") is=()
	read -r -a is < <(describe "$disk") || true
	((${#is[@]} == 4)) || unknown "$disk"
	case $verb in
	look)
		say "$disk: ${is[*]}; before this layout ${was[*]}, with it ${want[*]}"
		return
		;;
	check)
		same "${is[@]}" "${want[@]}" || { say "$disk: ${is[*]}, not yet ${want[*]}" && wrong=1; }
		return
		;;
	undo)
		want=("${was[0]}" "${is[1]}" "${was[2]}" "${was[3]}")
		((is[1] <= was[1])) || say "$disk keeps its ${is[1]} GiB: disks cannot shrink"
		;;
	esac
	if same "${is[@]}" "${want[@]}"; then
		say "$disk is unchanged: ${is[*]}"
		return
	fi
	$changes_type || [[ ${is[0]} == "${want[0]}" ]] || refuse "$disk is ${is[0]}, and its type cannot change in use"
	((is[1] <= want[1])) || refuse "$disk has ${is[1]} GiB, but the layout has ${want[1]}: disks cannot shrink"
	say "$disk: ${is[*]} -> ${want[*]}"
	change "$disk" "${is[1]}" "${want[@]}" || failed "$disk"
}

# fresh MACHINE DISK TYPE GIB IOPS THROUGHPUT [OPTION...]: create a disk, also with these options, and attach it
# to a machine.
fresh() {
	local machine=$1 disk=$2 is=() found
	found=$(exists "$disk") || unknown "$disk" # a failed query does not mean that the disk is missing
	if [[ -n $found ]]; then
		read -r -a is < <(describe "$disk") || true
		((${#is[@]} == 4)) || unknown "$disk"
	fi
	case $verb in
	look) say "$disk on $machine: ${is[*]:-it does not exist yet}" ;;
	check)
		if ((${#is[@]} != 4)); then
			say "$disk does not exist" && wrong=1
		elif ! attached "$machine" "$disk"; then
			say "$disk is not attached to $machine" && wrong=1
		fi
		;;
	apply)
		if ((${#is[@]} != 4)); then
			say "$disk: new, ${*:3}"
			create "$machine" "${@:2}" || failed "$disk"
		else
			same "${is[@]}" "${@:3:4}" || refuse "$disk exists and is ${is[*]}, not ${*:3:4}"
		fi
		if ((${#is[@]} == 4)) && attached "$machine" "$disk"; then
			say "$disk is attached to $machine"
		else
			attach "$machine" "$disk" || failed "$disk"
		fi
		;;
	undo)
		if ((${#is[@]} == 4)) && attached "$machine" "$disk"; then
			# Without its log's disk a database fails, and the pages not yet written are lost.
			$dry_run || [[ ${UNMOUNTED:-} == yes ]] || refuse "$disk is attached to $machine: move back what is on it and unmount it there, then set UNMOUNTED=yes"
			say "$disk: detaching it from $machine, where it must be unmounted. It is not deleted: delete it yourself once you no longer need its data"
			detach "$machine" "$disk" || failed "$disk"
		fi
		;;
	esac
}

main() {
	local whose
	command -v "$tool" >/dev/null || refuse "$tool is not installed"
	verb=${1:-}
	case "$verb ${2:-}" in
	'look ')
		whose=$(account) || refuse "are you logged in? ($login)"
		say "in the account or project $whose"
		;;
	'check ') ;;
	'apply ' | 'undo ')
		say "checking first"
		checking=true
		layout
		checking=false
		;;
	'apply --dry-run' | 'undo --dry-run') dry_run=true ;;
	*)
		say "usage: $0 look | apply [--dry-run] | check | undo [--dry-run]"
		exit 2
		;;
	esac
	layout
	((wrong == 0)) || exit 1
	say "done: $verb"
}
