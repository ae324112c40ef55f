// Package target finds what a trace is about: the processes of a pid, a systemd unit or a command,
// or the file system of a folder, and the disks below their files.
package target

import (
	"fmt"
	"strings"
)

// A Choice is what was asked for; one of its fields is set.
type Choice struct {
	All     bool // all processes' calls on all disks
	PID     int
	Unit    string
	Command string
	Path    string
}

// String is the choice in words.
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

// An Error says why a choice cannot be traced. It is bad input.
type Error struct{ What, Do string }

func (e *Error) Error() string { return "trace: " + e.What }

// Hint says what to do.
func (e *Error) Hint() string { return e.Do }

// BadInput marks the error.
func (e *Error) BadInput() {}

// Unseen says what a trace cannot see on a file system of a type; "" if it sees all. Fatal says
// that it would see nothing at all.
func Unseen(fsType string) (what string, fatal bool) {
	switch {
	case fsType == "tmpfs" || fsType == "ramfs" || fsType == "devtmpfs":
		return "its files are in memory: a sync there waits for no device", true
	case fsType == "overlay":
		return "it passes syncs on to another file system, whose folder cannot be reached from here: trace on the host, or name a folder on that one, for example the container's volume",
			true
	case fsType == "nfs" || fsType == "nfs4" || fsType == "cifs" || fsType == "9p" ||
		strings.HasPrefix(fsType, "fuse."):
		return "its requests go to a server or a program, not to a block device: trace there", true
	case fsType == "zfs":
		return "ZFS has its own cache, log and scheduler, without BTF tracepoints: only calls, lock waits and the disks' requests are seen, and not which file a request belongs to",
			false
	case fsType == "btrfs":
		return "btrfs's log and transaction commits are not followed: only calls, pages and the disks' requests are seen",
			false
	case fsType == "bcachefs" || fsType == "f2fs":
		return "its journal or checkpoints are not followed: only calls, pages and the disks' requests are seen",
			false
	}
	return "", false
}

// magics are the numbers by which statfs(2) tells the types of which [Unseen] knows something.
var magics = map[int64]string{
	0x01021994: "tmpfs", 0x858458f6: "ramfs", 0x794c7630: "overlay", 0x6969: "nfs", 0xff534d42: "cifs",
	0xfe534d42: "cifs",
	0x01021997: "9p", 0x65735546: "fuse.", 0x2fc12fc1: "zfs", 0x9123683e: "btrfs", 0xca451a4e: "bcachefs",
	0xf2f52010: "f2fs",
}
