package emit

import (
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
)

// lvmScript is the common part of each script, after the lines that define its volume.
//
//go:embed lvm.bash
var lvmScript string

// lvm writes a script for each new volume that creates a volume group, a logical volume on all of its
// devices, a file system, and a line in fstab.
func lvm(transition *Transition, _ *Options) (*Part, error) {
	part := &Part{}
	for _, volume := range transition.disks {
		if !volume.isNew() || volume.after.snapshot { // a volume from a snapshot already has a file system
			continue
		}

		// lvcreate(8): a power of two from 4 KiB up to an extent, which is 4 MiB by default.
		if u := volume.after.unit; volume.after.width > 1 && (u < 4*units.KiB || u > 4*units.MiB || u&(u-1) != 0) {
			return nil, Inputf("use 64KiB, or another power of two",
				"%s.stripe_unit: LVM does not support stripes of %s, only powers of two from 4KiB to 4MiB",
				volume.path, u.Exact())
		}

		file := File{Path: "lvm/" + volume.name + ".sh", Text: []byte(transition.lvmOf(&volume)), Mode: executable}
		part.Files = append(part.Files, file)
		part.Applies = append(part.Applies, volume.path, "host.filesystem", "host.mount_options")
		devices := strings.Repeat(" DEVICE", min(volume.after.width, 3))

		if volume.after.width > 3 {
			devices = fmt.Sprintf(" DEVICE... (%d devices)", volume.after.width)
		}

		who := ""
		if volume.member > 0 {
			who = fmt.Sprintf(" of member %d", volume.member)
		}

		// Device names may change at boot, so explain how to identify the disks.
		which := "with the new volumes attached (identify them with `lsblk -o NAME,SIZE,SERIAL`: the serial is the volume's id)"
		if volume.local() {
			which = "on the instance's local disks (`lsblk -o NAME,SIZE,MODEL`: their model is Amazon EC2 NVMe Instance Storage)"
			part.Risks = append(part.Risks,
				fmt.Sprintf(
					"%s: the disks are empty after the instance stops, fails or moves to other hardware; they survive a reboot. The line in fstab has `nofail`, so the machine boots without the volume: "+
						"make the engine's unit require the mount (`RequiresMountsFor=%s`), or the engine starts on an empty folder of the root volume. After a loss, run the script again and let the member resync; without another copy the data is lost. "+
						"Local disks have no snapshots: use the engine's backups.", volume.path, transition.place(volume.volume).Mount))
		}

		part.Apply = append(part.Apply, fmt.Sprintf("On the machine%s, as root, %s: "+
			"`%s --dry-run%s`, then without `--dry-run`. It refuses any device that is not blank.%s", who, which,
			file.Path, devices, transition.brings(&volume)))
		if transition.moves(&volume) {
			transition.logMove(part, &volume)
		}

		if volume.after.width > 1 && !volume.local() {
			rate, how := "", ""
			if volume.after.provider == "aws" {
				rate, how = " (0.1-0.2 %, Amazon EBS features, \"Durability\")", " (`aws ec2 create-snapshots`)"
			}
			part.Risks = append(part.Risks,
				fmt.Sprintf(
					"%s: losing one of %d volumes loses the whole stripe: %d times the annual failure rate of one volume%s. "+
						"Take snapshots of all of them at the same time%s.", volume.path, volume.after.width, volume.after.width, rate, how))
		}
	}

	if len(part.Files) == 0 {
		return nil, nil
	}

	for _, d := range transition.disks {
		if d.isNew() && !d.after.snapshot && !d.local() {
			part.Risks = append(part.Risks, d.path+": its line in fstab has no `nofail`. If the volume is missing at a boot, the machine stops in emergency mode instead of starting the database on an empty folder.")
		}
	}

	part.Verify = append(
		[]string{"`findmnt -o TARGET,SOURCE,FSTYPE`, `lvs -o name,stripes,stripe_size` and `iostat -x 1`: the volumes of a stripe should be equally busy."}, part.Verify...)
	if slices.ContainsFunc(transition.disks,
		func(d disk) bool { return d.isNew() && !d.after.snapshot && !transition.moves(&d) }) {
		part.Back = append(
			part.Back, "The old volume is unchanged and can be mounted again: stop the engine, remove the new line from `/etc/fstab`, unmount the new volume, mount the old one, and start the engine. Anything written since the move is only on the new volume.")
		part.Restarts = append(part.Restarts, "the engine: it has to stop while its data moves to the new volume.")
	}

	return part, nil
}

// brings returns how a new volume gets its data, as a continuation of its text; "" for a log that a script
// moves.
func (l *Transition) brings(d *disk) string {
	if l.moves(d) {
		return ""
	}
	return " " + l.bring(d.volume)
}

// lvmOf returns the script for a volume.
func (l *Transition) lvmOf(d *disk) string {
	s := d.after
	what := fmt.Sprintf("%d devices, striped in units of %d KiB", s.width, int64(s.unit/units.KiB))
	if s.width == 1 {
		what = "one device"
	}

	var b strings.Builder
	b.WriteString("#!/bin/bash\n")
	b.WriteString(l.Head("#", "Creates the volume "+d.name+": "+what+", "+s.fs+".", d.why()))
	b.WriteString("# Run it with --dry-run first. A second run only does what is left to do.\nset -euo pipefail\n\n")
	mount := append([]string{"defaults"}, mountOptions(l.After)...)

	if d.local() { // may be missing after the instance stopped
		mount = append(mount, "nofail")
	}

	fmt.Fprintf(
		&b, "readonly width=%d\nreadonly unit_kib=%d\nreadonly size_gib=%d # of each device, at least\nreadonly filesystem=%s\nreadonly options=%s\n",
		s.width, max(int64(s.unit/units.KiB), 4), s.gib, s.fs, strings.Join(mount, ","))
	group := strings.ReplaceAll(l.slug(), "-", "_") + "_" + strings.ReplaceAll(d.name, "-", "_")
	fmt.Fprintf(&b, "readonly group=%s\nreadonly volume=%s\nmount_at=${MOUNT:-%s}\n\n", group,
		path.Base(d.volume), l.place(d.volume).Mount)
	b.WriteString(withFunctions(lvmScript))

	return b.String()
}
