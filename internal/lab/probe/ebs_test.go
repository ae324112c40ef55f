//go:build linux

package probe

import (
	"slices"
	"testing"

	"plimsoll/internal/record/ebs"
)

func TestLimitsExceeded(t *testing.T) {
	first := &ebs.StatsPage{VolumeThroughputUs: 8e6, InstanceIOPSUs: 9e6}
	later := *first
	later.VolumeThroughputUs += 2_500_000
	l := exceeded(first, &later)
	if l.VolumeThroughput != 2.5 || l.VolumeIOPS != 0 || !slices.Equal(l.Bit(), []string{"the volume's throughput"}) {
		t.Errorf("%+v, %v", l, l.Bit())
	}
	later.InstanceIOPSUs = 0 // reattached
	if l := exceeded(first, &later); l.InstanceIOPS != 0 {
		t.Errorf("%+v", l)
	}
}
