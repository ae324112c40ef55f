// Package target resolves the target of a trace: the processes of a PID, a systemd unit or a
// command, or the file system of a folder, and the disks below their files.
package target

import (
	"fmt"
	"strings"
)

// A Choice is the target that the user asked for; exactly one field is set.
type Choice struct {
	All     bool // all processes' calls on all disks
	PID     int
	Unit    string
	Command string
	Path    string
}

// String describes the choice.
func (c Choice) String() string {
	switch {
	case c.All:
		return "all disks"
	case c.PID != 0:
		return fmt.Sprintf("process %d", c.PID)
	case c.Unit != "":
		return "unit " + c.Unit
	case c.Command != "":
		return c.Command
	}
	return c.Path
}

// An Error explains why a choice cannot be traced. It counts as bad input.
type Error struct{ What, Do string }

func (e *Error) Error() string { return "trace: " + e.What }

// Hint returns what to do instead.
func (e *Error) Hint() string { return e.Do }

// BadInput marks the error.
func (e *Error) BadInput() {}

// Unseen describes what a trace cannot see on a type of file system; "" if it sees everything.
// Fatal means that it would see nothing at all.
func Unseen(fsType string) (what string, fatal bool) {
	switch {
	case fsType == "tmpfs" || fsType == "ramfs" || fsType == "devtmpfs":
		return "its files are in memory: a sync there does not wait for a device", true
	case fsType == "overlay":
		return "it passes syncs on to another file system that is not accessible from here: trace on the host, or specify a folder on that file system, for example the container's volume",
			true
	case fsType == "nfs" || fsType == "nfs4" || fsType == "cifs" || fsType == "9p" ||
		strings.HasPrefix(fsType, "fuse."):
		return "its requests go to a server or program, not to a block device: run the trace there", true
	case fsType == "zfs":
		return "ZFS has its own cache, log and scheduler, without BTF tracepoints: only calls, lock waits and the disks' requests are traced, but not which file a request belongs to",
			false
	case fsType == "btrfs":
		return "btrfs's log and transaction commits are not traced: only calls, pages and the disks' requests are",
			false
	case fsType == "bcachefs" || fsType == "f2fs":
		return "its journal or checkpoints are not traced: only calls, pages and the disks' requests are",
			false
	}

	return "", false
}

// magics maps the magic numbers of statfs(2) to the types that [Unseen] knows. "fuse." stands for
// all FUSE file systems.
var magics = map[int64]string{
	0x01021994: "tmpfs", 0x858458f6: "ramfs", 0x794c7630: "overlay", 0x6969: "nfs", 0xff534d42: "cifs",
	0xfe534d42: "cifs",
	0x01021997: "9p", 0x65735546: "fuse.", 0x2fc12fc1: "zfs", 0x9123683e: "btrfs", 0xca451a4e: "bcachefs",
	0xf2f52010: "f2fs",
}
