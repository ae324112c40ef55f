tool=az
login='az login'
limits='Premium SSD v2 and Ultra: four times in 24 hours'
changes_type=false
group=${RESOURCE_GROUP:?the resource group of the machines and disks}

# account: print whose disks these are.
account() { az account show --output tsv --query "join(' ', [name, id])"; }

# describe DISK: print its type, GiB, IOPS and MB/s. Older versions of az spell the properties differently.
describe() {
	az disk show --resource-group "$group" --name "$1" --output tsv \
		--query "join(' ', [sku.name, to_string(not_null(diskSizeGB, diskSizeGb)), to_string(not_null(diskIOPSReadWrite, diskIopsReadWrite)), to_string(not_null(diskMBpsReadWrite, diskMbpsReadWrite))])"
}

# exists DISK: print its name, if it exists; fail if the query fails.
exists() { az disk list --resource-group "$group" --output tsv --query "[?name=='$1'].name"; }

# figures IOPS MBPS: set the options for these.
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

# bursting DISK WAS WANT: turn on-demand bursting on or off. It can only be turned on while the disk is not in a
# running machine.
bursting() {
	local disk=$1 want=$3 is state
	read -r is state < <(az disk show --resource-group "$group" --name "$disk" --output tsv --query "join(' ', [to_string(not_null(burstingEnabled, \`false\`)), diskState])") || true
	[[ -n $is ]] || unknown "$disk"
	case $verb in
	look)
		say "$disk: on-demand bursting is $is; before this layout $2, with it $3"
		return
		;;
	check)
		[[ $is == "$3" ]] || { say "$disk: on-demand bursting is $is, not yet $3" && wrong=1; }
		return
		;;
	undo) want=$2 ;;
	esac
	if [[ $is == "$want" ]]; then
		say "$disk is unchanged: on-demand bursting is $is"
		return
	fi
	[[ $want == false || $state != Attached ]] || refuse "$disk is in a running machine: deallocate it (az vm deallocate) or detach the disk, then run this again; on-demand bursting can only be turned on then"
	say "$disk: on-demand bursting $is -> $want"
	run az disk update --resource-group "$group" --name "$disk" --enable-bursting "$want" --output none || failed "$disk"
}

# cached DISK WAS WANT: change a disk's host caching. For that, Azure detaches the disk and attaches it again.
cached() {
	local disk=$1 want=$3 machine lun is state
	machine=$(machines "$disk") || unknown "$disk"
	if [[ -z $machine ]]; then
		say "$disk is not attached to any machine, so it has no host caching"
		[[ $verb == look ]] || wrong=1
		return
	fi
	read -r lun is < <(az vm show --resource-group "$group" --name "$machine" --output tsv --query "join(' ', storageProfile.dataDisks[?name=='$disk'].[to_string(lun), caching][])") || true
	[[ -n $is ]] || unknown "$disk"
	case $verb in
	look)
		say "$disk on $machine: host caching is $is; before this layout $2, with it $3"
		return
		;;
	check)
		[[ $is == "$3" ]] || { say "$disk on $machine: host caching is $is, not yet $3" && wrong=1; }
		return
		;;
	undo) want=$2 ;;
	esac
	if [[ $is == "$want" ]]; then
		say "$disk is unchanged: host caching is $is"
		return
	fi
	state=$(az disk show --resource-group "$group" --name "$disk" --output tsv --query diskState) || unknown "$disk"
	[[ $state != Attached || ${UNMOUNTED:-} == yes ]] || refuse "$disk is in the running machine $machine, and Azure would detach it for this: either deallocate the machine (az vm deallocate), or stop the database, unmount the file system, and set UNMOUNTED=yes"
	say "$disk on $machine: host caching $is -> $want"
	run az vm update --resource-group "$group" --name "$machine" --disk-caching "$lun=$want" --output none || failed "$disk"
}

# create MACHINE DISK TYPE GIB IOPS MBPS [OPTION...]: create a disk in the machine's location and zone.
create() {
	local location zone
	read -r location zone < <(az vm show --resource-group "$group" --name "$1" --output tsv --query "join(' ', [location, not_null(zones[0], '')])") || true
	figures "$5" "$6"
	[[ -z $zone ]] || options+=(--zone "$zone")
	run az disk create --resource-group "$group" --name "$2" --location "$location" --sku "$3" --size-gb "$4" "${options[@]}" "${@:7}" --output none
}

# machines DISK: print the machine that the disk is attached to: the last part of its id.
machines() {
	local id
	id=$(az disk show --resource-group "$group" --name "$1" --output tsv --query managedBy) || return
	printf '%s\n' "${id##*/}"
}

# attach MACHINE DISK: attach the disk with the host caching in $caching.
attach() { run az vm disk attach --resource-group "$group" --vm-name "$1" --name "$2" --caching "${caching:-None}" --output none; }

detach() { run az vm disk detach --resource-group "$group" --vm-name "$1" --name "$2" --output none; }

