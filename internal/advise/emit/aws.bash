dry_run=true
checking=false # the layout is first gone through without doing anything
poll=${POLL_SECONDS:-15}

. ./say.bash

. ./run.bash

# figures TYPE GIB IOPS MIBPS: print the options for these; 0 cannot be chosen for this type.
figures() {
	options=(--volume-type "$1" --size "$2")
	(($3 == 0)) || options+=(--iops "$3")
	(($4 == 0)) || options+=(--throughput "$4")
}

# modify VOLUME TYPE GIB IOPS MIBPS: in place, and wait until its new figures apply.
modify() {
	local id=$1 is=() state started
	shift
	read -r -a is < <(aws ec2 describe-volumes --volume-ids "$id" --output text --query 'Volumes[0].[VolumeType,Size,Iops,Throughput]') || true
	((${#is[@]} == 4)) || refuse "$id cannot be described: is it a volume of this region, are you logged in (aws sts get-caller-identity), and may you ec2:DescribeVolumes?"
	if [[ ${is[0]} == "$1" && ${is[1]} == "$2" ]] && { (($3 == 0)) || [[ ${is[2]} == "$3" ]]; } && { (($4 == 0)) || [[ ${is[3]} == "$4" ]]; }; then
		say "$id is unchanged: ${is[*]}"
		return
	fi
	((is[1] <= $2)) || refuse "$id has ${is[1]} GiB: a volume cannot shrink, but the layout has $2"
	# For a volume that was never modified the command fails.
	read -r state started < <(aws ec2 describe-volumes-modifications --volume-ids "$id" --output text \
		--query 'VolumesModifications[0].[ModificationState,StartTime]' 2>/dev/null || echo none) || true
	case $state in
	modifying | optimizing) refuse "$id is being modified ($state since $started): EBS takes the next modification when this one is completed" ;;
	esac
	say "$id: ${is[*]} -> $*"
	figures "$@"
	run aws ec2 modify-volume --volume-id "$id" "${options[@]}" --output text ||
		refuse "$id is as it was, for the reason above. VolumeModificationRateExceeded: it had four modifications in 24 hours. UnauthorizedOperation: you may not ec2:ModifyVolume. What was done before stays: run this again once the reason is gone"
	$dry_run || wait_modified "$id"
}

# wait_modified VOLUME: wait until it is being optimized; from then on its new figures apply.
wait_modified() {
	local state
	while :; do
		read -r state < <(aws ec2 describe-volumes-modifications --volume-ids "$1" --output text --query 'VolumesModifications[0].ModificationState') || true
		case $state in
		optimizing | completed)
			say "$1 is $state"
			return
			;;
		failed) refuse "the modification of $1 failed: aws ec2 describe-volumes-modifications --volume-ids $1" ;;
		esac
		say "$1 is ${state:-unknown}"
		sleep "$poll"
	done
}

# free_device INSTANCE: print the first free device name of those that Amazon recommends for EBS.
free_device() {
	local taken name
	taken=$(aws ec2 describe-instances --instance-ids "$1" --output text --query 'Reservations[0].Instances[0].BlockDeviceMappings[].DeviceName')
	for name in /dev/sd{f..p} /dev/xvd{b..d}{a..z}; do
		if [[ ! $taken =~ (^|[[:space:]])$name($|[[:space:]]) ]]; then
			printf '%s' "$name"
			return
		fi
	done
	refuse "nothing more can be attached to $1"
}

# create INSTANCE NAME TYPE GIB IOPS MIBPS [SNAPSHOT MIBPS]: create a volume, empty or from a snapshot that is
# fetched at a rate (0: on access), and attach it. The token makes a second call return the first call's volume.
create() {
	local instance=$1 name=$2 zone token id state device
	shift 2
	zone=$(aws ec2 describe-instances --instance-ids "$instance" --output text --query 'Reservations[0].Instances[0].Placement.AvailabilityZone')
	figures "$@"
	if [[ -n ${5:-} ]]; then
		options+=(--snapshot-id "$5")
		(($6 == 0)) || options+=(--volume-initialization-rate "$6")
	fi
	say "$instance: $name, $*"
	if $dry_run; then
		run aws ec2 create-volume --availability-zone "$zone" "${options[@]}" --encrypted
		run aws ec2 attach-volume --instance-id "$instance" --volume-id "the new one"
		return
	fi
	token=$(printf '%s ' "$instance" "$name" "$@" | sha256sum | cut -c -48)
	id=$(aws ec2 create-volume --client-token "$token" --availability-zone "$zone" "${options[@]}" --encrypted \
		--tag-specifications "ResourceType=volume,Tags=[{Key=Name,Value=$name}]" --output text --query VolumeId)
	state=$(aws ec2 describe-volumes --volume-ids "$id" --output text --query 'Volumes[0].State')
	if [[ $state == in-use ]]; then
		say "$id is already attached"
		return
	fi
	aws ec2 wait volume-available --volume-ids "$id"
	device=$(free_device "$instance")
	aws ec2 attach-volume --instance-id "$instance" --device "$device" --volume-id "$id" --output text
	aws ec2 wait volume-in-use --volume-ids "$id"
	say "$id is attached to $instance as $device"
}

# retype INSTANCE TYPE: stop it, change its type, start it.
retype() {
	local is
	is=$(aws ec2 describe-instances --instance-ids "$1" --output text --query 'Reservations[0].Instances[0].InstanceType')
	if [[ $is == "$2" ]]; then
		say "$1 already is $2"
		return
	fi
	say "$1: $is -> $2, stopping it for this"
	run aws ec2 stop-instances --instance-ids "$1" --output text
	run aws ec2 wait instance-stopped --instance-ids "$1"
	run aws ec2 modify-instance-attribute --instance-id "$1" --instance-type "Value=$2"
	run aws ec2 start-instances --instance-ids "$1" --output text
	run aws ec2 wait instance-running --instance-ids "$1"
}

# weigh INSTANCE WEIGHTING: stop it, weigh its bandwidth, start it.
weigh() {
	local is
	is=$(aws ec2 describe-instances --instance-ids "$1" --output text --query 'Reservations[0].Instances[0].NetworkPerformanceOptions.BandwidthWeighting')
	if [[ $is == "$2" ]]; then
		say "$1 already has the weighting $2"
		return
	fi
	say "$1: $is -> $2, stopping it for this"
	run aws ec2 stop-instances --instance-ids "$1" --output text
	run aws ec2 wait instance-stopped --instance-ids "$1"
	run aws ec2 modify-instance-network-performance-options --instance-id "$1" --bandwidth-weighting "$2" --output text
	run aws ec2 start-instances --instance-ids "$1" --output text
	run aws ec2 wait instance-running --instance-ids "$1"
}

# main runs layout once without changing anything, so that it refuses before it has changed anything, and then
# for real.
main() {
	command -v aws >/dev/null || refuse "the AWS CLI is not installed"
	case ${1:-} in
	--dry-run)
		layout
		say "nothing was changed"
		return
		;;
	'') ;;
	*)
		say "usage: $0 [--dry-run]"
		exit 2
		;;
	esac
	say "checking first"
	checking=true
	layout
	checking=false dry_run=false
	say "applying the changes"
	layout
	say "done"
}
