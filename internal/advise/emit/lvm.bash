fstab=${FSTAB:-/etc/fstab}
dry_run=false
read_all=false
undo=false
new_volume=false # made by this run
devices=()

# How much of a device is read, in bytes (see usage).
readonly edge=$((64 << 20)) piece=$((1 << 20)) pieces=256

. ./say.bash

usage() {
	cat <<END
usage: $0 [--dry-run] [--read-all] DEVICE...
       $0 [--dry-run] --undo

Creates one logical volume on $width device(s), formats it as $filesystem and mounts it at
$mount_at (or at MOUNT=...), with a line in $fstab.

A device that is not blank - it has a file system, a partition, a volume group, a mount, or
bytes that are not zero - is refused and not changed. There is no --force.

To find such bytes, the script reads the first and last $((edge >> 20)) MiB, and $((piece >> 20)) MiB at each of $pieces places
in between, which finds data that fills at least a $pieces-th of the device; --read-all reads all of it.

--undo unmounts the volume, and removes its own line from $fstab and its empty folder. It keeps the
volume and what is on it. Move the data back first.
END
}

# run COMMAND...: run the command, or with --dry-run only print it.
run() {
	if $dry_run; then
		printf 'would run:'
	else
		printf 'running:'
	fi
	printf ' %q' "$@"
	printf '\n'
	$dry_run || "$@" </dev/null
}

# needs COMMAND PACKAGE: refuse to run without a command.
needs() {
	command -v "$1" >/dev/null && return
	if $dry_run; then
		say "note: $1 is not installed (package $2); the script needs it"
	else
		refuse "$1 is not installed: apt-get install $2"
	fi
}

# group_of DEVICE: print the volume group that a device belongs to.
group_of() {
	command -v pvs >/dev/null || return 0
	pvs --noheadings -o vg_name "$1" 2>/dev/null | tr -d '[:space:]' || true
}

# check_blank DEVICE: refuse the device if it has recognisable contents.
check_blank() {
	local device=$1 found status=0
	found=$(findmnt -rno TARGET -S "$device" || true)
	[[ -z $found ]] || refuse "$device is mounted at $found"
	found=$(lsblk -nro NAME "$device") || refuse "cannot inspect $device"
	[[ $(wc -l <<<"$found") == 1 ]] || refuse "$device has partitions, or is in use: $(tr '\n' ' ' <<<"$found")"
	grep -q "^$device " /proc/swaps && refuse "$device is used for swap"
	found=$(wipefs --no-act --noheadings "$device") || refuse "cannot read $device"
	[[ -z $found ]] || refuse "$device has a signature: $(tr -s '[:space:]' ' ' <<<"$found"). Is it the right device? Nothing was changed"
	# 2: nothing recognised. 0: something. 8: several contradictory signatures.
	blkid -p "$device" >/dev/null 2>&1 || status=$?
	((status == 2)) || refuse "$device contains something that blkid recognises (status $status): $(blkid -p "$device" 2>&1 || true)"
}

# zero DEVICE FROM BYTES HINT: refuse the device unless these bytes are all zero.
zero() {
	local status=0
	cmp -s -i "$2:0" -n "$3" "$1" /dev/zero || status=$?
	((status < 2)) || refuse "cannot read $1 at byte $2"
	((status == 0)) || refuse "$1 has bytes that are not zero (in $3 bytes from byte $2): $4"
}

# check_zero DEVICE HINT: refuse the device if it has non-zero bytes in the places that usage describes.
check_zero() {
	local device=$1 hint=$2 size n
	size=$(blockdev --getsize64 "$device") || refuse "cannot get the size of $device"
	if $read_all || ((size <= 2 * edge + pieces * piece)); then
		zero "$device" 0 "$size" "$hint"
		return
	fi
	zero "$device" 0 "$edge" "$hint"
	zero "$device" $((size - edge)) "$edge" "$hint"
	# Copies of ext4's superblock. Those of XFS are at quarters of the device, which are among the pieces.
	for n in 1 3 5 7 9 25 27 49 81 125; do
		((n * (128 << 20) + piece > size)) || zero "$device" $((n * (128 << 20))) "$piece" "$hint"
	done
	for ((n = 1; n < pieces; n++)); do
		zero "$device" $((size * n / pieces / 4096 * 4096)) "$piece" "$hint"
	done
}

# check_size DEVICE: refuse a device that is smaller than in the layout.
check_size() {
	local bytes
	bytes=$(blockdev --getsize64 "$1")
	((bytes >= size_gib * 1024 * 1024 * 1024)) || refuse "$1 has $((bytes / 1024 / 1024)) MiB, the layout has $size_gib GiB: is it the right device?"
}

# make_volume: create the volume group and its only logical volume, unless they exist.
make_volume() {
	local device in_group=0 count stripes=()
	for device in "${devices[@]}"; do
		[[ $(group_of "$device") != "$group" ]] || in_group=$((in_group + 1))
	done
	if ((in_group == 0)); then
		if command -v vgs >/dev/null && vgs "$group" >/dev/null 2>&1; then
			refuse "the volume group $group exists, but none of these devices belongs to it"
		fi
		for device in "${devices[@]}"; do
			check_size "$device"
			check_blank "$device"
		done
		for device in "${devices[@]}"; do
			check_zero "$device" "a new volume should be blank. If the data is not needed, clear it with blkdiscard, or with dd from /dev/zero"
		done
		run vgcreate "$group" "${devices[@]}"
	else
		count=$(vgs --noheadings -o pv_count "$group" | tr -d '[:space:]')
		((in_group == width && count == width)) || refuse "$in_group of these devices belong to $group, which has $count"
		say "the volume group $group exists"
	fi
	if ((in_group == 0)) || ! lvs "$group/$volume" >/dev/null 2>&1; then
		((width == 1)) || stripes=(--stripes "$width" --stripesize "${unit_kib}k")
		new_volume=true
		run lvcreate "${stripes[@]}" --extents 100%FREE --name "$volume" "$group"
	else
		say "the logical volume $group/$volume exists"
	fi
}

# make_filesystem DEVICE: format the device, unless it already has the file system; refuse any other contents.
make_filesystem() {
	local device=$1 type='' status=2 aligned=()
	if [[ -b $device ]]; then
		status=0
		type=$(blkid -p -s TYPE -o value "$device") || status=$?
	fi
	if ((status == 0)) && [[ $type == "$filesystem" ]]; then
		say "$device already has $filesystem"
		return
	fi
	((status == 2)) || refuse "$device contains something other than $filesystem: ${type:-unknown}"
	if ! $new_volume && [[ -b $device ]]; then
		say "$device already existed and has no file system: reading all of it, because it may contain data"
		read_all=true check_zero "$device" "if an interrupted run of this script created it, and its data is not needed: lvremove $group/$volume"
	fi
	case $filesystem in
	xfs) ((width == 1)) || aligned=(-d "su=${unit_kib}k,sw=$width") ;;
	ext4) ((width == 1)) || aligned=(-E "stride=$((unit_kib / 4)),stripe_width=$((unit_kib * width / 4))") ;;
	*) refuse "unknown file system $filesystem" ;;
	esac
	run "mkfs.$filesystem" -q "${aligned[@]}" "$device"
}

# rewrite_fstab COMMAND...: replace fstab by the command's output, as a whole or not at all. The copy takes
# over the file's owner and mode.
rewrite_fstab() {
	local file
	file=$(realpath -e "$fstab") || refuse "there is no $fstab"
	cp -p "$file" "$file.plimsoll-new"
	"$@" <"$file" >"$file.plimsoll-new"
	sync "$file.plimsoll-new"
	mv -f "$file.plimsoll-new" "$file"
}

# with_line LINE: copy stdin, whose last line may be unfinished, and add a line.
with_line() {
	awk 1
	printf '%s\n' "$1"
}

# without_volume UUID: copy stdin without the line of this volume and mount point.
without_volume() { awk -v id="UUID=$1" -v at="$mount_at" '!($1 == id && $2 == at)'; }

# mount_by_uuid DEVICE: add a line to fstab, and mount it.
mount_by_uuid() {
	local device=$1 uuid line
	if $dry_run && [[ ! -b $device ]]; then
		say "would add a line for $mount_at to $fstab, by the file system's UUID, and mount it"
		return
	fi
	uuid=$(blkid -p -s UUID -o value "$device") || {
		$dry_run && return
		refuse "$device has no UUID"
	}
	line="UUID=$uuid $mount_at $filesystem $options 0 0"
	if grep -q "^UUID=${uuid}[[:space:]]" "$fstab"; then
		say "$fstab already contains $uuid"
	elif awk -v at="$mount_at" '$1 !~ /^#/ && $2 == at { found = 1 } END { exit !found }' "$fstab"; then
		refuse "$fstab mounts something else at $mount_at: remove that line once its data is moved"
	elif mountpoint -q "$mount_at" && [[ $(findmnt -rno UUID "$mount_at") != "$uuid" ]]; then
		refuse "something else is mounted at $mount_at"
	elif ! mountpoint -q "$mount_at" && [[ -d $mount_at && -n $(ls -A "$mount_at") ]]; then
		# Without a line in fstab: the next boot would hide what is there.
		refuse "$mount_at is not empty: mounting would hide its contents. Mount elsewhere first (MOUNT=/mnt/new), move the contents, then mount here"
	elif $dry_run; then
		say "would add to $fstab: $line"
	else
		rewrite_fstab with_line "$line"
		say "added to $fstab: $line"
	fi
	if mountpoint -q "$mount_at"; then
		[[ $(findmnt -rno UUID "$mount_at") == "$uuid" ]] || refuse "something else is mounted at $mount_at"
		say "the volume is already mounted at $mount_at"
		return
	fi
	if [[ -d $mount_at && -n $(ls -A "$mount_at") ]]; then
		refuse "$mount_at is not empty: mounting would hide its contents, and the line in $fstab will do that at the next boot. Move the contents, then run this again"
	fi
	run mkdir -p "$mount_at"
	run mount --fstab "$fstab" "$mount_at"
}

# unmount: undo mount_by_uuid. It can be run again after an interruption at any point.
unmount() {
	local device=/dev/$group/$volume uuid
	[[ -b $device ]] || refuse "there is no $device: attach the volume first"
	uuid=$(blkid -p -s UUID -o value "$device") || refuse "$device has no UUID"
	if [[ -n ${log_link:-} && -L $log_link && $(readlink "$log_link") == "$mount_at"/* ]]; then
		refuse "$log_link leads to $mount_at: move the log back first, or the database does not start"
	fi
	local elsewhere
	elsewhere=$(awk -v id="UUID=$uuid" -v at="$mount_at" '$1 == id && $2 != at { print $2 }' "$fstab")
	[[ -z $elsewhere ]] || refuse "$fstab mounts the volume at $elsewhere: run this again with MOUNT=$elsewhere"
	if mountpoint -q "$mount_at"; then
		[[ $(findmnt -rno UUID "$mount_at") == "$uuid" ]] || refuse "something else is mounted at $mount_at"
		run umount "$mount_at"
	fi
	if ! grep -q "^UUID=${uuid}[[:space:]]" "$fstab"; then
		say "$fstab has no line of $uuid"
	elif $dry_run; then
		say "would remove the line of $uuid from $fstab"
	else
		rewrite_fstab without_volume "$uuid"
		say "removed the line of $uuid from $fstab"
	fi
	[[ ! -d $mount_at ]] || run rmdir --ignore-fail-on-non-empty "$mount_at"
	say "done: $device and what is on it are kept"
}

main() {
	local arg real seen=' '
	for arg in "$@"; do
		case $arg in
		--dry-run) dry_run=true ;;
		--read-all) read_all=true ;;
		--undo) undo=true ;;
		-h | --help)
			usage
			exit 0
			;;
		-*)
			usage >&2
			exit 2
			;;
		*)
			real=$(readlink -f "$arg") || refuse "$arg does not exist"
			[[ $seen != *" $real "* ]] || refuse "$arg is given twice"
			seen+="$real "
			devices+=("$real")
			;;
		esac
	done
	if $undo; then
		((${#devices[@]} == 0)) || refuse "--undo takes no device"
		((EUID == 0)) || refuse "this needs root"
		unmount
		return
	fi
	if ((${#devices[@]} != width)); then
		say "$width device(s) are needed, ${#devices[@]} were given"
		usage >&2
		exit 2
	fi
	((EUID == 0)) || refuse "this needs root"
	for arg in "${devices[@]}"; do
		[[ -b $arg ]] || refuse "$arg is not a block device"
	done
	needs vgcreate lvm2
	needs lvcreate lvm2
	if [[ $filesystem == xfs ]]; then needs mkfs.xfs xfsprogs; else needs mkfs.ext4 e2fsprogs; fi
	make_volume
	make_filesystem "/dev/$group/$volume"
	mount_by_uuid "/dev/$group/$volume"
	say "done"
}

main "$@"
