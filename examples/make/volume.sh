# shellcheck shell=bash
# A volume with limits, as a rented one shows itself to its guest, out of two loop
# devices:
#
#   file system           what the database sees
#   upper loop device     its queue, await and %util are what iostat shows
#   lower loop device     the kernel's block throttle holds it to N IOPS and M bytes/s
#   backing file          in memory (tmpfs) or on a disk
#
# One device is not enough: requests that blk-throttle holds back are not counted in
# the statistics of the device it throttles, so that iostat would show a short await and
# an idle device. A rented volume's queue is on the guest's side of the limit; so is
# the upper device's.
#
# The throttle has to see all I/O, that of kernel threads (the file system's journal, the
# page cache's writeback) included. Cgroup v1: a limit in the root group of blkio, which
# they are charged to; v1 limits each group by itself, so volume_enter moves what it starts
# into the root group. Cgroup v2: the root group has no io.max; a group of our own
# gets it, writeback is charged to it, and what the journal's own kernel thread writes
# escapes the limit.
#
# To be sourced. Sets VOLUME_UPPER, VOLUME_LOWER and VOLUME_MOUNT. The caller's trap calls
# volume_destroy, which undoes whatever was done so far and may be called twice.

VOLUME_LOWER='' VOLUME_UPPER='' VOLUME_MOUNT='' VOLUME_FILE='' VOLUME_LIMITED=''
VOLUME_GROUP='' VOLUME_GROUP_MADE='' VOLUME_CACHE=''
# Where cgroups are mounted: another folder in tests of this file.
CGROUP_ROOT=${CGROUP_ROOT:-/sys/fs/cgroup}

# volume_throttle_available finds the cgroup that can limit a device, or says why
# there is none.
volume_throttle_available() {
  if [ -w "$CGROUP_ROOT/blkio/blkio.throttle.write_iops_device" ]; then
    VOLUME_GROUP=$CGROUP_ROOT/blkio
  elif grep -qw io "$CGROUP_ROOT/cgroup.controllers" 2>/dev/null && [ -w "$CGROUP_ROOT/cgroup.subtree_control" ]; then
    VOLUME_GROUP=$CGROUP_ROOT/plimsoll-example-$$
  else
    echo "no cgroup that can throttle a block device: neither $CGROUP_ROOT/blkio (v1) nor an io controller in $CGROUP_ROOT/cgroup.controllers (v2)"
    return 1
  fi
}

# volume_loop_available says why loop devices cannot be used, if so.
volume_loop_available() {
  [ -c /dev/loop-control ] || { echo "no /dev/loop-control: the kernel has no loop devices, or this container may not use them"; return 1; }
  losetup -f >/dev/null 2>&1 || { echo "losetup -f finds no free loop device"; return 1; }
}

# volume_create FILE MIB: the two devices over the file, not yet limited. A file that is
# not there is made, and removed by volume_destroy. volume_throttle_available comes first.
volume_create() {
  local file=$1 mib=$2
  if [ ! -e "$file" ]; then
    VOLUME_FILE=$file
    # tmpfs gets its pages when they are written; elsewhere the blocks are written in
    # advance, so that their first write costs no more than the next.
    if [ "$(stat -f -c %T "$(dirname "$file")")" = tmpfs ]; then
      truncate -s "${mib}M" "$file"
    else
      dd if=/dev/zero of="$file" bs=1M count="$mib" conv=fsync status=none
    fi
  fi
  VOLUME_LOWER=$(losetup --show -f --direct-io=on "$file")
  VOLUME_UPPER=$(losetup --show -f --direct-io=on "$VOLUME_LOWER")
  volume_limit 0 0 # makes the group, where one is needed
}

# volume_format FSTYPE DIR: a new file system on the upper device, mounted on DIR.
volume_format() {
  local fstype=$1 dir=$2
  case $fstype in
    ext4) mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$VOLUME_UPPER" ;;
    xfs) mkfs.xfs -q -f "$VOLUME_UPPER" ;;
    *) echo "file system $fstype: want ext4 or xfs" >&2; return 1 ;;
  esac
  mkdir -p "$dir"
  mount "$VOLUME_UPPER" "$dir"
  VOLUME_MOUNT=$dir
}

# volume_limit IOPS BYTES_PER_SECOND: the limits of the lower device, reads and writes
# each; 0 takes a limit away.
volume_limit() {
  local iops=$1 bps=$2 number dir
  number=$(stat -c '%Hr:%Lr' "$VOLUME_LOWER")
  VOLUME_LIMITED=$number
  if [ -e "$VOLUME_GROUP/blkio.throttle.write_iops_device" ]; then
    for dir in read write; do
      echo "$number $iops" > "$VOLUME_GROUP/blkio.throttle.${dir}_iops_device"
      echo "$number $bps" > "$VOLUME_GROUP/blkio.throttle.${dir}_bps_device"
    done
    return
  fi
  if [ -z "$VOLUME_GROUP_MADE" ]; then
    # memory: without it a page's writer is unknown and writeback escapes.
    grep -qw io "$CGROUP_ROOT/cgroup.subtree_control" || echo +io > "$CGROUP_ROOT/cgroup.subtree_control"
    grep -qw memory "$CGROUP_ROOT/cgroup.subtree_control" || echo +memory > "$CGROUP_ROOT/cgroup.subtree_control"
    mkdir "$VOLUME_GROUP"
    VOLUME_GROUP_MADE=yes
  fi
  [ "$iops" = 0 ] && iops=max
  [ "$bps" = 0 ] && bps=max
  echo "$number riops=$iops wiops=$iops rbps=$bps wbps=$bps" > "$VOLUME_GROUP/io.max"
}

# volume_write_through: the upper device has no volatile cache, so the kernel sends no flushes
# (Amazon's volumes over NVMe announce none either). Right only over a backing file whose
# every write is durable when it returns.
volume_write_through() {
  VOLUME_CACHE=/sys/block/$(basename "$VOLUME_UPPER")/queue/write_cache
  echo "write through" > "$VOLUME_CACHE"
}

# volume_enter COMMAND...: becomes the command, inside the cgroup that is limited.
# Call it in a subshell or in the background.
volume_enter() {
  echo "$BASHPID" > "$VOLUME_GROUP/cgroup.procs"
  exec "$@"
}

# volume_destroy unmounts, takes the limits away and detaches the two devices, by
# the names losetup printed.
volume_destroy() {
  local tries
  # Limits first: else the last dirty pages drain through them.
  if [ -n "$VOLUME_LIMITED" ]; then volume_limit 0 0 2>/dev/null || true; VOLUME_LIMITED=''; fi
  if [ -n "$VOLUME_MOUNT" ]; then
    for tries in 1 2 3 4 5 6 7 8 9 10; do
      umount "$VOLUME_MOUNT" 2>/dev/null && { VOLUME_MOUNT=''; break; }
      sleep 0.5
    done
    [ -z "$VOLUME_MOUNT" ] || echo "could not unmount $VOLUME_MOUNT after $tries tries: unmount it by hand, then losetup -d $VOLUME_UPPER $VOLUME_LOWER" >&2
  fi
  if [ -z "$VOLUME_MOUNT" ]; then
    # The setting outlives the device's backing file.
    if [ -n "$VOLUME_CACHE" ]; then echo "write back" > "$VOLUME_CACHE" || true; VOLUME_CACHE=''; fi
    if [ -n "$VOLUME_UPPER" ]; then losetup -d "$VOLUME_UPPER" || true; VOLUME_UPPER=''; fi
    if [ -n "$VOLUME_LOWER" ]; then losetup -d "$VOLUME_LOWER" || true; VOLUME_LOWER=''; fi
    if [ -n "$VOLUME_FILE" ]; then rm -f "$VOLUME_FILE"; VOLUME_FILE=''; fi
  fi
  if [ -n "$VOLUME_GROUP_MADE" ]; then rmdir "$VOLUME_GROUP" 2>/dev/null || true; VOLUME_GROUP_MADE=''; fi
}
