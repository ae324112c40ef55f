tool=gcloud
login='gcloud auth login'
limits='Hyperdisk: once every four hours'
changes_type=false
zone=${ZONE:?the zone of the machines and disks}

# account: print whose disks these are.
account() { gcloud config get-value project; }

# describe DISK: print its type, GiB, IOPS and MiB/s; 0 if not applicable.
describe() {
	gcloud compute disks describe "$1" --zone="$zone" --format='csv[no-heading,separator=" "](type.basename(),sizeGb,provisionedIops.yesno(no=0),provisionedThroughput.yesno(no=0))'
}

# exists DISK: print its name, if it exists; fail if the query fails.
exists() { gcloud compute disks list --filter="name=$1" --zones="$zone" --format='value(name)'; }

# figures IOPS MIBPS: set the options for these.
figures() {
	options=()
	(($1 == 0)) || options+=("--provisioned-iops=$1")
	(($2 == 0)) || options+=("--provisioned-throughput=$2")
}

# change DISK GIB-NOW TYPE GIB IOPS MIBPS: make all changes in one modification.
change() {
	figures "$5" "$6"
	if (($2 < $4)); then
		options+=("--size=${4}GB")
	fi
	run gcloud compute disks update "$1" --zone="$zone" "${options[@]}"
}

# create MACHINE DISK TYPE GIB IOPS MIBPS
create() {
	figures "$5" "$6"
	run gcloud compute disks create "$2" --zone="$zone" --type="$3" --size="${4}GB" "${options[@]}"
}

# machines DISK: print the machines that the disk is attached to.
machines() { gcloud compute disks describe "$1" --zone="$zone" --format='value(users.basename())'; }

attach() { run gcloud compute instances attach-disk "$1" --disk="$2" --device-name="$2" --zone="$zone"; }

detach() { run gcloud compute instances detach-disk "$1" --disk="$2" --zone="$zone"; }

