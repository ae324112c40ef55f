package source

import "regexp"

// partition separates a disk's name from a partition's number: sda3, nvme0n1p1, mmcblk0p2, and with
// persistent names scsi-0QEMU_disk-part1.
var partition = regexp.MustCompile(`^((?:s|h|v|xv)d[a-z]+)\d+$|^(.*\d)p\d+$|^(.+)-part\d+$`)

// DiskOf returns the disk of which a device's name is that of a partition. Other devices may have such
// names too: it is a partition if that disk exists.
func DiskOf(name string) (disk string, ok bool) {
	m := partition.FindStringSubmatch(name)
	if m == nil {
		return "", false
	}
	return m[1] + m[2] + m[3], true
}
