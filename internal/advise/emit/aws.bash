tool=aws
login='check with aws sts get-caller-identity'
limits='EBS accepts a modification after the previous one is completed, and at most four in 24 hours'
changes_type=true
poll=${POLL_SECONDS:-15}
made=''

# select_disk DISK: set the options that find it by its id, or by the name that create gave it.
select_disk() {
	options=(--volume-ids "$1")
	[[ $1 == vol-* ]] || options=(--filters "Name=tag:Name,Values=$1" "Name=status,Values=creating,available,in-use")
}

# account: print whose disks these are.
account() { aws sts get-caller-identity --output text --query '[Account, Arn]'; }

# describe DISK: print its type, GiB, IOPS and MiB/s.
describe() {
	select_disk "$1"
	aws ec2 describe-volumes "${options[@]}" --output text --query 'Volumes[0].[VolumeType,Size,Iops,Throughput]'
}

# exists DISK: print the id of the disk with this name, if there is one; fail if the query fails.
exists() {
	local ids
	select_disk "$1"
	ids=$(aws ec2 describe-volumes "${options[@]}" --output text --query 'Volumes[].VolumeId') || return
	[[ $ids != *[[:space:]]* ]] || refuse "$ids all have the name $1: rename the other volumes"
	printf '%s\n' "$ids"
}

# machines DISK: print the instances that the disk is attached to.
machines() {
	select_disk "$1"
	aws ec2 describe-volumes "${options[@]}" --output text --query 'Volumes[].Attachments[].InstanceId'
}

# figures TYPE GIB IOPS MIBPS: set the options for these; 0 means not applicable to the type.
figures() {
	options=(--volume-type "$1" --size "$2")
	(($3 == 0)) || options+=(--iops "$3")
	(($4 == 0)) || options+=(--throughput "$4")
}

# change VOLUME GIB-NOW TYPE GIB IOPS MIBPS: make all changes in one modification, and wait until they apply.
change() {
	local id=$1 state started
	# The command fails for a volume that was never modified.
	read -r state started < <(aws ec2 describe-volumes-modifications --volume-ids "$id" --output text \
		--query 'VolumesModifications[0].[ModificationState,StartTime]' 2>/dev/null || echo none) || true
	case $state in
	modifying | optimizing) refuse "$id is being modified ($state since $started): EBS accepts the next modification after this one is completed" ;;
	esac
	figures "${@:3}"
	run aws ec2 modify-volume --volume-id "$id" "${options[@]}" --output text || return
	$dry_run || $checking || wait_modified "$id"
}

# wait_modified VOLUME: wait until it is being optimized; its new figures apply from then on.
wait_modified() {
	local state silent=0
	while :; do
		state=''
		read -r state _ < <(aws ec2 describe-volumes-modifications --volume-ids "$1" --output text --query 'VolumesModifications[0].ModificationState') || true
		case $state in
		optimizing | completed)
			say "$1 is $state"
			return
			;;
		failed) refuse "the modification of $1 failed: aws ec2 describe-volumes-modifications --volume-ids $1" ;;
		'') ((++silent < 8)) || refuse "$1 is being modified, but EBS does not report its progress, for the reason above: run this again" ;;
		esac
		say "$1 is ${state:-unknown}"
		sleep "$poll"
	done
}

# free_device INSTANCE: print the first free device name among those that Amazon recommends for EBS.
free_device() {
	local taken name
	taken=$(aws ec2 describe-instances --instance-ids "$1" --output text --query 'Reservations[0].Instances[0].BlockDeviceMappings[].DeviceName') || return
	for name in /dev/sd{f..p} /dev/xvd{b..d}{a..z}; do
		if [[ ! $taken =~ (^|[[:space:]])$name($|[[:space:]]) ]]; then
			printf '%s' "$name"
			return
		fi
	done
	refuse "$1 has no free device name: no more volumes can be attached"
}

# create INSTANCE NAME TYPE GIB IOPS MIBPS [SNAPSHOT MIBPS]: create a volume, empty or from a snapshot that is
# loaded at a rate (0: on access). The client token makes a second call return the first call's volume.
create() {
	local instance=$1 name=$2 zone token
	shift 2
	zone=$(aws ec2 describe-instances --instance-ids "$instance" --output text --query 'Reservations[0].Instances[0].Placement.AvailabilityZone') || return
	figures "$@"
	if [[ -n ${5:-} ]]; then
		options+=(--snapshot-id "$5")
		(($6 == 0)) || options+=(--volume-initialization-rate "$6")
	fi
	token=$(printf '%s ' "$instance" "$name" "$@" | sha256sum | cut -c -48)
	made=$(run aws ec2 create-volume --client-token "$token" --availability-zone "$zone" "${options[@]}" --encrypted \
		--tag-specifications "ResourceType=volume,Tags=[{Key=Name,Value=$name}]" --output text --query VolumeId)
}

# attach INSTANCE NAME: attach the volume that was just created, or the one with this name.
attach() {
	local id=$made device
	made=''
	[[ -n $id ]] || id=$(exists "$2") || return
	$dry_run || $checking || aws ec2 wait volume-available --volume-ids "$id" || return
	device=$(free_device "$1") || return
	run aws ec2 attach-volume --instance-id "$1" --device "$device" --volume-id "${id:-the new one}" --output text || return
	$dry_run || $checking || aws ec2 wait volume-in-use --volume-ids "$id"
}

# detach INSTANCE NAME
detach() {
	local id
	id=$(exists "$2") || return
	run aws ec2 detach-volume --instance-id "$1" --volume-id "$id" --output text || return
	run aws ec2 wait volume-available --volume-ids "$id"
}

# stopped INSTANCE TYPE-WAS TYPE WEIGHTING-WAS WEIGHTING: stop the instance and change its type and bandwidth
# weighting; - means no change. Local disks lose their data.
stopped() {
	local id=$1 type=$3 weighting=$5 is=() steps=()
	read -r -a is < <(aws ec2 describe-instances --instance-ids "$id" --output text \
		--query 'Reservations[0].Instances[0].[InstanceType,NetworkPerformanceOptions.BandwidthWeighting,State.Name]') || true
	((${#is[@]} == 3)) || unknown "$id"
	[[ $verb != undo ]] || type=$2 weighting=$4
	[[ $type == - || $type == "${is[0]}" ]] || steps+=(type)
	[[ $weighting == - || $weighting == "${is[1]}" ]] || steps+=(weighting)
	case $verb in
	look)
		say "$id: ${is[*]}; before this layout $2 $4, with it $3 $5 (-: no change)"
		return
		;;
	check)
		((${#steps[@]} == 0)) || { say "$id: ${is[0]} ${is[1]}, not yet $type $weighting" && wrong=1; }
		[[ ${is[2]} == running ]] || { say "$id is ${is[2]}" && wrong=1; }
		return
		;;
	undo) ((${#steps[@]} < 2)) || steps=(weighting type) ;; # the old type may not support weighting
	esac
	local all local_disks
	read -r -a all <<<"${INSTANCES//$'\n'/ }"
	if ((${#steps[@]} == 0)); then
		say "$id is unchanged: ${is[*]}"
		[[ ${is[2]} == running ]] || say "$id is ${is[2]}: start it with aws ec2 start-instances --instance-ids $id"
		return
	fi
	# One right after the other would leave a cluster without a majority, and on local disks without any copy.
	((${#all[@]} == 1)) || refuse "INSTANCES names ${#all[@]} instances, and $id has to stop: name one at a time, and go on once its database has caught up"
	local_disks=$(aws ec2 describe-instance-types --instance-types "${is[0]}" --output text --query 'InstanceTypes[0].InstanceStorageSupported') || unknown "${is[0]}"
	[[ $local_disks == False || ${LOCAL_DISKS:-} == lost ]] || refuse "$id is a ${is[0]}, whose local disks lose their data when it stops: if the database has none there, or other members have it too, set LOCAL_DISKS=lost"
	say "$id: ${is[0]} ${is[1]} -> $type $weighting, stopping it for this"
	run aws ec2 stop-instances --instance-ids "$id" --output text || failed "$id"
	run aws ec2 wait instance-stopped --instance-ids "$id" || halted "$id"
	local step
	for step in "${steps[@]}"; do
		case $step in
		type) run aws ec2 modify-instance-attribute --instance-id "$id" --instance-type "Value=$type" || halted "$id" ;;
		weighting) run aws ec2 modify-instance-network-performance-options --instance-id "$id" --bandwidth-weighting "$weighting" --output text || halted "$id" ;;
		esac
	done
	run aws ec2 start-instances --instance-ids "$id" --output text || halted "$id"
	run aws ec2 wait instance-running --instance-ids "$id" || halted "$id"
}

# halted INSTANCE: report that it may be stopped. The provider's own message is above.
halted() { refuse "$1 is stopped or stopping, for the reason above. Run this again, or start it without the change: aws ec2 start-instances --instance-ids $1"; }

