package emit

import (
	"fmt"
	"strings"
)

// snapshotOf is the name of volume n of a stripe in names of variables, in capitals or not.
func (d *disk) snapshotOf(n int, letters func(string) string) string {
	name := letters(strings.ReplaceAll(d.name, "-", "_"))
	if d.after.width > 1 {
		name += fmt.Sprintf("_%d", n)
	}
	return name
}

// numbered says which volume of a stripe is meant.
func numbered(n, width int) string {
	if width == 1 {
		return ""
	}
	return fmt.Sprintf(", number %d of its stripe", n)
}

// arrival says how a new volume comes into use.
func (l *Layout) arrival(d *disk) string {
	if !d.after.snapshot {
		return l.arrives(d)
	}
	stripe := ""
	if d.after.width > 1 {
		stripe = " The snapshots of a stripe must have been taken at the same time (`aws ec2 create-snapshots`); `vgchange --activate y` finds its volume group."
	}
	return fmt.Sprintf("%s is made from a snapshot, whose id you fill in. It is at least as large as that, and has its file system and data already: mount it at `%s`, and do not make a new one.%s",
		d.path, l.place(d.volume).Mount, stripe)
}

// snapshotClaims says how claims are made from a snapshot.
func (l *Layout) snapshotClaims(d *disk) string {
	rate := ""
	if d.after.fetch > 0 {
		rate = fmt.Sprintf(" The rate of its initialization, %d MiB/s, is not among the parameters of a StorageClass: create the volumes with the `aws` target instead if you need it.",
			d.after.fetch)
	}
	return fmt.Sprintf("%s is made from a snapshot: fill in its VolumeSnapshot as `dataSource` of the claim template (`{apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: NAME}`), before any claim is made.%s",
		d.path, rate)
}
