sys=${SYS:-/sys}
rules=${RULES:-/etc/udev/rules.d/61-plimsoll-queue.rules}
saved=${SAVED:-/var/lib/plimsoll/queue}
action=apply
devices=()

. ./say.bash

usage() {
	cat <<END
usage: $0 [--look | --dry-run | --undo] DEVICE...

Sets ${settings[*]} of each device, immediately and, through
a line in $rules, after each boot.

--look prints the current settings. --undo restores the previous ones (kept in $saved)
and removes the line.
END
}

# queue_of DEVICE: set name and queue for a whole disk; refuse devices without these settings.
queue_of() {
	local real under=()
	real=$(readlink -f "$1") || refuse "$1 does not exist"
	name=${real##*/}
	if [[ ! -d $sys/block/$name ]]; then
		refuse "$1 is not a whole disk: lsblk -s $1 shows which disk it belongs to"
	fi
	if [[ -d $sys/block/$name/slaves ]]; then
		mapfile -t under < <(ls "$sys/block/$name/slaves")
	fi
	if ((${#under[@]} > 0)); then
		refuse "$1 is made of other devices, which have these settings: name ${under[*]/#//dev/}"
	fi
	queue=$sys/block/$name/queue
}

# value SETTING: print the current value.
value() {
	local text
	text=$(cat "$queue/$1" 2>/dev/null) || return 1
	if [[ $text == *"["*"]"* ]]; then
		text=${text#*"["}
		text=${text%%"]"*}
	fi
	printf '%s\n' "$text"
}

# check DEVICE: refuse settings that the kernel would not accept.
check() {
	local setting scheduler
	scheduler=$(value scheduler || true)
	for setting in "${settings[@]}"; do
		[[ $setting != scheduler=* ]] || scheduler=${setting#*=}
	done
	for setting in "${settings[@]}"; do
		value "${setting%%=*}" >/dev/null || refuse "$1: this kernel has no setting ${setting%%=*} for it ($queue/${setting%%=*})"
		if [[ $setting == wbt_lat_usec=* && $scheduler == bfq ]]; then
			refuse "$1: its scheduler is bfq, which turns writeback throttling off"
		fi
	done
	case $(uname -r) in
	4.18.*) say "note: some 4.18 kernels hang with writeback throttling; check your vendor's advice first" ;;
	esac
}

# serial: print the disk's serial, which for EBS is the volume's id; nothing if it has none. Device names can
# change at boot.
serial() {
	local text
	text=$(udevadm info --query=property --name="$name" 2>/dev/null | sed -n 's/^ID_SERIAL=//p' || true)
	[[ ! $text =~ ^[A-Za-z0-9._-]+$ ]] || printf '%s\n' "$text"
}

# matching: print the udev match for the disk: by its serial if it has one, otherwise by its name.
matching() {
	local known
	known=$(serial)
	if [[ -n $known ]]; then
		printf 'ENV{ID_SERIAL}=="%s"' "$known"
	else
		printf 'KERNEL=="%s"' "$name"
	fi
}

# key: print the key of the disk's saved values.
key() {
	local known
	known=$(serial)
	printf '%s\n' "${known:-$name}"
}

# replace FILE: replace the file by stdin, as a whole or not at all: a full disk must not take other disks' values.
replace() { cat >"$1.new" && sync "$1.new" && mv -f "$1.new" "$1"; }

# lines FILE: print the file, if it exists.
lines() { [[ ! -f $1 ]] || cat "$1"; }

apply() {
	local setting line old key
	key=$(key)
	line="ACTION==\"add|change\", SUBSYSTEM==\"block\", ENV{DEVTYPE}==\"disk\", $(matching)"
	for setting in "${settings[@]}"; do
		line+=", ATTR{queue/${setting%%=*}}=\"${setting#*=}\""
	done
	for setting in "${settings[@]}"; do
		old=$(value "${setting%%=*}")
		if [[ $action == dry-run ]]; then
			say "would set ${setting%%=*} of $name from $old to ${setting#*=}"
			continue
		fi
		mkdir -p "${saved%/*}"
		if ! awk -v key="$key" -v setting="${setting%%=*}" '$1 == key && $2 == setting { found = 1 } END { exit !found }' "$saved" 2>/dev/null; then
			{ lines "$saved" && printf '%s %s %s\n' "$key" "${setting%%=*}" "$old"; } | replace "$saved"
		fi
		printf '%s\n' "${setting#*=}" >"$queue/${setting%%=*}"
		[[ $(value "${setting%%=*}") == "${setting#*=}" ]] || refuse "the kernel did not accept ${setting} for $name"
		say "$name: ${setting%%=*} was $old, is ${setting#*=}"
	done
	if [[ $action == dry-run ]]; then
		say "would add to $rules: $line"
	elif ! grep -qsxF "$line" "$rules"; then
		{ lines "$rules" && printf '%s\n' "$line"; } | replace "$rules"
		say "added to $rules: $line"
	fi
}

undo() {
	local device setting old kept key restored=0
	key=$(key)
	while read -r device setting old; do
		[[ $device == "$key" ]] || continue
		printf '%s\n' "$old" >"$queue/$setting"
		say "$name: restored $setting to $old"
		restored=1
	done < <(lines "$saved")
	((restored)) || say "$name: no values of it are saved in $saved, so they stay as they are"
	if [[ -f $saved ]]; then
		awk -v key="$key" '$1 != key' "$saved" | replace "$saved"
	fi
	if [[ -f $rules ]]; then
		kept=$(grep -vF "$(matching)," "$rules" || true)
		if [[ -n $kept ]]; then printf '%s\n' "$kept" | replace "$rules"; else rm -f "$rules"; fi
	fi
}

main() {
	local arg setting
	for arg in "$@"; do
		case $arg in
		--look | --dry-run | --undo) action=${arg#--} ;;
		-h | --help)
			usage
			exit 0
			;;
		-*)
			usage >&2
			exit 2
			;;
		*) devices+=("$arg") ;;
		esac
	done
	if ((${#devices[@]} == 0)); then
		usage >&2
		exit 2
	fi
	if [[ $action == apply || $action == undo ]] && ((EUID != 0)) && [[ $sys == /sys ]]; then
		refuse "this needs root"
	fi
	if [[ $action == apply || $action == dry-run ]]; then
		for arg in "${devices[@]}"; do
			queue_of "$arg"
			check "$arg"
		done
	fi
	for arg in "${devices[@]}"; do
		queue_of "$arg"
		case $action in
		look)
			for setting in "${settings[@]}"; do
				printf '%s %s %s\n' "$name" "${setting%%=*}" "$(value "${setting%%=*}" || echo "not supported")"
			done
			;;
		undo) undo ;;
		*) apply ;;
		esac
	done
	if [[ $action == apply || $action == undo ]] && [[ $sys == /sys ]] && command -v udevadm >/dev/null; then
		udevadm control --reload || true
	fi
}

main "$@"
