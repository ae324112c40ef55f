package emit

import (
	"fmt"
	"strings"
)

// snapshotOf returns the name of volume n of a stripe for variables, converted by letters.
func (d *disk) snapshotOf(n int, letters func(string) string) string {
	name := letters(strings.ReplaceAll(d.name, "-", "_"))
	if d.after.width > 1 {
		name += fmt.Sprintf("_%d", n)
	}
	return name
}

// numbered identifies a volume of a stripe.
func numbered(n, width int) string {
	if width == 1 {
		return ""
	}
	return fmt.Sprintf(", number %d of its stripe", n)
}

// arrival describes how to start using a new volume.
func (l *Transition) arrival(d *disk) string {
	if !d.after.snapshot {
		return l.arrives(d)
	}
	stripe := ""
	if d.after.width > 1 {
		stripe = " The snapshots of a stripe must have been taken at the same time (`aws ec2 create-snapshots`); `vgchange --activate y` finds its volume group."
	}
	return fmt.Sprintf("%s is created from a snapshot, whose id you fill in. It is at least as large as the snapshot, and already has its file system and data: mount it at `%s`, and do not create a new file system.%s",
		d.path, l.place(d.volume).Mount, stripe)
}

// snapshotClaims describes how to create claims from a snapshot.
func (l *Transition) snapshotClaims(d *disk) string {
	rate := ""
	if d.after.fetch > 0 {
		rate = fmt.Sprintf(" A StorageClass has no parameter for its initialization rate of %d MiB/s: create the volumes with the `aws` target instead if you need it.",
			d.after.fetch)
	}
	return fmt.Sprintf("%s is created from a snapshot: fill in its VolumeSnapshot as `dataSource` of the claim template (`{apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: NAME}`), before any claim is created.%s",
		d.path, rate)
}
