//go:build linux

package probe

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/record/ebs"
)

// Limits says which limits of an Amazon EBS volume, or of the instance, were exceeded during a
// probe, according to the volume's own statistics (NVMe log page 0xD0).
type Limits struct {
	// Reason says why this is unknown; "" if it is known.
	Reason string `json:"not_measurable,omitempty"`
	// Seconds during the probe in which the demand exceeded the limit.
	VolumeIOPS         float64 `json:"volume_iops_exceeded_seconds"`
	VolumeThroughput   float64 `json:"volume_throughput_exceeded_seconds"`
	InstanceIOPS       float64 `json:"instance_iops_exceeded_seconds"`
	InstanceThroughput float64 `json:"instance_throughput_exceeded_seconds"`
}

// Bit lists the limits that were exceeded.
func (l *Limits) Bit() []string {
	var out []string
	for _, x := range []struct {
		seconds float64
		name    string
	}{
		{l.VolumeIOPS, "the volume's IOPS"}, {l.VolumeThroughput, "the volume's throughput"},
		{l.InstanceIOPS, "the instance's IOPS"}, {l.InstanceThroughput, "the instance's throughput"},
	} {
		if x.seconds > 0 {
			out = append(out, x.name)
		}
	}
	return out
}

// sysBlock is the folder that lists devices by number.
var sysBlock = "/sys/dev/block"

// deviceOf returns the name of the device below a path, and a function that returns its statistics.
func deviceOf(path string) (name string, stats func() (*ebs.StatsPage, error)) {
	none := func(reason string) func() (*ebs.StatsPage, error) {
		return func() (*ebs.StatsPage, error) { return nil, errors.New(reason) }
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return "", none(err.Error())
	}

	link := fmt.Sprintf("%s/%d:%d", sysBlock, unix.Major(st.Dev), unix.Minor(st.Dev))
	real, err := filepath.EvalSymlinks(link)
	if err != nil {
		return "", none("the file system is not on a block device")
	}

	if _, err := os.Stat(filepath.Join(real, "partition")); err == nil {
		real = filepath.Dir(real)
	}

	name = filepath.Base(real)
	if !strings.HasPrefix(name, "nvme") {
		return name, none(name + " is not an NVMe device; only Amazon EBS volumes report which limit was exceeded")
	}

	if !slices.ContainsFunc(ebs.Volumes("/"), func(v ebs.Volume) bool { return v.Device == name }) {
		return name,
			none(name +
				" is not an Amazon EBS volume, judging by its identify string; only those report which limit was exceeded")
	}

	first, err := ebs.Read("/dev/" + name)
	if err != nil {
		return name, none(err.Error())
	}

	return name, func() (*ebs.StatsPage, error) { return first, nil }
}

// limitsSince compares the current statistics with earlier ones.
func limitsSince(path string, before func() (*ebs.StatsPage, error)) Limits {
	a, err := before()
	if err != nil {
		return Limits{Reason: err.Error()}
	}
	_, now := deviceOf(path)
	b, err := now()
	if err != nil {
		return Limits{Reason: err.Error()}
	}
	return exceeded(a, b)
}

// exceeded returns for how long limits were exceeded between two pages.
func exceeded(s, later *ebs.StatsPage) Limits {
	grew := func(a, b uint64) float64 {
		if b < a {
			return 0 // the volume was reattached, which resets its counters
		}
		return float64(b-a) / 1e6
	}
	return Limits{
		VolumeIOPS:         grew(s.VolumeIOPSUs, later.VolumeIOPSUs),
		VolumeThroughput:   grew(s.VolumeThroughputUs, later.VolumeThroughputUs),
		InstanceIOPS:       grew(s.InstanceIOPSUs, later.InstanceIOPSUs),
		InstanceThroughput: grew(s.InstanceThroughputUs, later.InstanceThroughputUs),
	}
}
