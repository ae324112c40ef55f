package source

import "regexp"

// partition separates the name of a disk from the number of a partition: sda3, nvme0n1p1,
// mmcblk0p2, and, with persistent names, scsi-0QEMU_disk-part1.
var partition = regexp.MustCompile(`^((?:s|h|v|xv)d[a-z]+)\d+$|^(.*\d)p\d+$|^(.+)-part\d+$`)

// DiskOf returns the disk in a name that looks like that of a partition. Other devices may have
// such names too: it is a partition only if that disk exists.
func DiskOf(name string) (disk string, ok bool) {
	m := partition.FindStringSubmatch(name)
	if m == nil {
		return "", false
	}
	return m[1] + m[2] + m[3], true
}
