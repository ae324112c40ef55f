tool=az
login='az login'
limits='Premium SSD v2 and Ultra: four times in 24 hours'
changes_type=false
group=${RESOURCE_GROUP:?the resource group of the machines and disks}

# describe DISK: print its type, GiB, IOPS and MB/s. Older versions of az spell the properties differently.
describe() {
	az disk show --resource-group "$group" --name "$1" --output tsv \
		--query "join(' ', [sku.name, to_string(not_null(diskSizeGB, diskSizeGb)), to_string(not_null(diskIOPSReadWrite, diskIopsReadWrite)), to_string(not_null(diskMBpsReadWrite, diskMbpsReadWrite))])"
}

# exists DISK: print its name if there is one; fail if that cannot be asked.
exists() { az disk list --resource-group "$group" --output tsv --query "[?name=='$1'].name"; }

# figures IOPS MBPS: the options for these.
figures() {
	options=()
	(($1 == 0)) || options+=(--disk-iops-read-write "$1")
	(($2 == 0)) || options+=(--disk-mbps-read-write "$2")
}

# change DISK GIB-NOW TYPE GIB IOPS MBPS
change() {
	figures "$5" "$6"
	if (($2 < $4)); then
		options+=(--size-gb "$4")
	fi
	run az disk update --resource-group "$group" --name "$1" "${options[@]}" --output none
}

# bursting DISK WAS WANT: whether a disk bursts on demand. It begins only while the disk is in no running machine.
bursting() {
	local disk=$1 want=$3 is state
	read -r is state < <(az disk show --resource-group "$group" --name "$disk" --output tsv --query "join(' ', [to_string(not_null(burstingEnabled, \`false\`)), diskState])") || true
	[[ -n $is ]] || unknown "$disk"
	case $verb in
	look)
		say "$disk bursts on demand: $is; before this layout $2, with it $3"
		return
		;;
	check)
		[[ $is == "$3" ]] || { say "$disk bursts on demand: $is, not yet $3" && wrong=1; }
		return
		;;
	undo) want=$2 ;;
	esac
	if [[ $is == "$want" ]]; then
		say "$disk bursts on demand already as wanted: $is"
		return
	fi
	[[ $want == false || $state != Attached ]] || refuse "$disk is in a running machine: deallocate it (az vm deallocate) or detach the disk, then run this again; on-demand bursting begins only then"
	say "$disk bursts on demand: $is -> $want"
	run az disk update --resource-group "$group" --name "$disk" --enable-bursting "$want" --output none || failed "$disk"
}

# cached DISK WAS WANT: how the host caches a disk. Azure detaches the disk and attaches it again to change that.
cached() {
	local disk=$1 want=$3 machine lun is state
	machine=$(machines "$disk") || unknown "$disk"
	if [[ -z $machine ]]; then
		say "$disk is attached to no machine, and its host caching belongs to the attachment"
		[[ $verb == look ]] || wrong=1
		return
	fi
	read -r lun is < <(az vm show --resource-group "$group" --name "$machine" --output tsv --query "join(' ', storageProfile.dataDisks[?name=='$disk'].[to_string(lun), caching][])") || true
	[[ -n $is ]] || unknown "$disk"
	case $verb in
	look)
		say "$disk is cached by the host of $machine: $is; before this layout $2, with it $3"
		return
		;;
	check)
		[[ $is == "$3" ]] || { say "$disk is cached by the host of $machine: $is, not yet $3" && wrong=1; }
		return
		;;
	undo) want=$2 ;;
	esac
	if [[ $is == "$want" ]]; then
		say "$disk is cached by the host already as wanted: $is"
		return
	fi
	state=$(az disk show --resource-group "$group" --name "$disk" --output tsv --query diskState) || unknown "$disk"
	[[ $state != Attached || ${UNMOUNTED:-} == yes ]] || refuse "$disk is in the running machine $machine, and Azure detaches it for this: deallocate the machine (az vm deallocate); or stop the database, unmount the file system, and set UNMOUNTED=yes"
	say "$disk is cached by the host of $machine: $is -> $want"
	run az vm update --resource-group "$group" --name "$machine" --disk-caching "$lun=$want" --output none || failed "$disk"
}

# create MACHINE DISK TYPE GIB IOPS MBPS [OPTION...]: in the machine's location and zone.
create() {
	local location zone
	read -r location zone < <(az vm show --resource-group "$group" --name "$1" --output tsv --query "join(' ', [location, not_null(zones[0], '')])") || true
	figures "$5" "$6"
	[[ -z $zone ]] || options+=(--zone "$zone")
	run az disk create --resource-group "$group" --name "$2" --location "$location" --sku "$3" --size-gb "$4" "${options[@]}" "${@:7}" --output none
}

# machines DISK: print the one that it is attached to: the end of its id.
machines() {
	local id
	id=$(az disk show --resource-group "$group" --name "$1" --output tsv --query managedBy) || return
	printf '%s\n' "${id##*/}"
}

# attach MACHINE DISK: with the host's caching in $caching.
attach() { run az vm disk attach --resource-group "$group" --vm-name "$1" --name "$2" --caching "${caching:-None}" --output none; }

detach() { run az vm disk detach --resource-group "$group" --vm-name "$1" --name "$2" --output none; }

