tool=az
group=${RESOURCE_GROUP:?the resource group of the machines and disks}

# describe DISK: print its type, GiB, IOPS and MB/s. Older versions of az spell the properties differently.
describe() {
	az disk show --resource-group "$group" --name "$1" --output tsv \
		--query "join(' ', [sku.name, to_string(not_null(diskSizeGB, diskSizeGb)), to_string(not_null(diskIOPSReadWrite, diskIopsReadWrite)), to_string(not_null(diskMBpsReadWrite, diskMbpsReadWrite))])"
}

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

# create MACHINE DISK TYPE GIB IOPS MBPS: in the machine's location and zone.
create() {
	local location zone
	read -r location zone < <(az vm show --resource-group "$group" --name "$1" --output tsv --query "join(' ', [location, not_null(zones[0], '')])") || true
	figures "$5" "$6"
	[[ -z $zone ]] || options+=(--zone "$zone")
	run az disk create --resource-group "$group" --name "$2" --location "$location" --sku "$3" --size-gb "$4" "${options[@]}" --output none
}

attached() {
	[[ $(az disk show --resource-group "$group" --name "$2" --output tsv --query managedBy) == *"/$1" ]]
}

attach() { run az vm disk attach --resource-group "$group" --vm-name "$1" --name "$2" --caching None --output none; }

detach() { run az vm disk detach --resource-group "$group" --vm-name "$1" --name "$2" --output none; }

