# shellcheck shell=bash
# A backing file that is a fixed time away, as the far side of a network volume is: nbdkit keeps
# its bytes in memory and lets each write wait, nbdfuse shows it as a file.
#
# The wait is for each request by itself and requests wait side by side, so there is no limit on
# IOPS in it: one writer at a time gets one over the latency, many at once get a multiple. A
# volume over this file is latency-bound before it is anything else. Nothing of it touches a
# disk, so other users of the machine's disk do not disturb it.
#
# To be sourced. remote_destroy comes after volume_destroy, undoes whatever was done so far, and
# may be called twice.

REMOTE_MOUNT='' REMOTE_SERVER='' REMOTE_FUSE=''
REMOTE_FILE=''

# remote_available says why a file in user space cannot be had, if so.
remote_available() {
  [ -c /dev/fuse ] || { echo "no /dev/fuse: the kernel has no FUSE, or this container may not use it"; return 1; }
}

# remote_create DIR MIB MS: REMOTE_FILE is then a file of MIB whose writes take MS milliseconds and
# what the way there adds (some 0.3 ms).
remote_create() {
  local dir=$1 mib=$2 ms=$3
  mkdir "$dir/remote"
  # In a session of their own: a Ctrl-C shall not reach them before the volume is gone.
  setsid nbdkit -f -U "$dir/remote.socket" --filter=delay memory "${mib}M" "wdelay=${ms}ms" &
  REMOTE_SERVER=$!
  wait_for 10 nbdkit test -S "$dir/remote.socket"
  # Requests of one connection are answered one after the other's start; eight keep
  # several thousand a second possible.
  setsid nbdfuse -C 8 "$dir/remote/volume.img" --unix "$dir/remote.socket" &
  REMOTE_FUSE=$! REMOTE_MOUNT=$dir/remote
  wait_for 10 nbdfuse test -f "$dir/remote/volume.img"
  # shellcheck disable=SC2034 # used by those who source this file
  REMOTE_FILE=$dir/remote/volume.img
}

# remote_destroy unmounts the file and ends the two processes by their ids.
remote_destroy() {
  local pid
  if [ -n "$REMOTE_MOUNT" ]; then
    fusermount3 -u "$REMOTE_MOUNT" 2>/dev/null || { sleep 1; fusermount3 -u "$REMOTE_MOUNT" || true; }
    REMOTE_MOUNT=''
  fi
  for pid in $REMOTE_FUSE $REMOTE_SERVER; do
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  REMOTE_FUSE='' REMOTE_SERVER=''
}
