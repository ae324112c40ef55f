// Package ebs reads the counters of an Amazon EBS volume itself: which limit delayed requests, the
// volume's or the instance's.
//
// If the volume reports its limits, no limit needs to be guessed from a plateau: NVMe log page 0xD0
// counts the time during which demand exceeded each limit. (Source: Amazon EBS User Guide, "Amazon
// EBS detailed performance statistics".) The page is vendor-specific, and another vendor's device
// may react to the request in any way. So the page is requested only from devices whose identify
// strings, which the kernel has already read, are Amazon's: [Volumes].
package ebs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A Volume is an Amazon EBS volume of this machine.
type Volume struct {
	Device string // "nvme1n1"
	ID     string // "vol-0123456789abcdef0"
}

// model is the identify string of EBS volumes (instance store has "Amazon EC2 NVMe Instance
// Storage"), and serial matches their serial number: the volume id without its dash. (Amazon EBS
// User Guide, "Amazon EBS volumes and NVMe".)
const model = "Amazon Elastic Block Store"

var serial = regexp.MustCompile(`^vol-?([0-9a-f]{8,17})$`)

// namespace matches the first namespace of a controller. An EBS volume has no other.
var namespace = regexp.MustCompile(`^nvme\d+n1$`)

const (
	// volumesMax bounds the volumes; an instance supports 128.
	volumesMax = 128
	// stringBytesMax bounds an identify string; the model is 40 bytes.
	stringBytesMax = 256
)

// Volumes lists the EBS volumes from /sys (below root). It sends nothing to any device.
func Volumes(root string) []Volume {
	dir := filepath.Join(root, "sys", "block")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}

	var out []Volume
	for _, e := range entries {
		at := filepath.Join(dir, e.Name(), "device")
		if !namespace.MatchString(e.Name()) || text(filepath.Join(at, "model")) != model {
			continue
		}
		m := serial.FindStringSubmatch(text(filepath.Join(at, "serial")))
		if m == nil || len(out) == volumesMax {
			continue
		}
		out = append(out, Volume{Device: e.Name(), ID: "vol-" + m[1]})
	}

	slices.SortFunc(out, func(a, b Volume) int { return strings.Compare(a.Device, b.Device) })
	return out
}

// text returns the content of a short file, or "" if it cannot be read.
func text(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	b := make([]byte, stringBytesMax)
	n, err := f.Read(b)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b[:n]))
}
