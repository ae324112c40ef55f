package rules

import (
	"math"

	"plimsoll/internal/record/timeline"
)

const (
	// AtLimit is the share of a container's I/O limit above which the limit counts as reached. The
	// kernel lets requests through in slices of about 100 ms, and a writer that issues one request
	// after the other loses the rest of each slice. An etcd member under a limit of 25 writes/s made 16 to
	// 23.
	AtLimit = 0.7
)

// An IOLimit is one of the four limits that a container may have for a device.
type IOLimit struct {
	Rate, Limit      *Signal
	What, Key, KeyV1 string
}

// IOLimits are the signals of the four limits, and their names in versions 2 and 1 of cgroups.
var IOLimits = []IOLimit{
	{ContainerWrites, ContainerWritesLimit, "writes", "wiops", "blkio.throttle.write_iops_device"},
	{ContainerWritten, ContainerWrittenLimit, "bytes written", "wbps", "blkio.throttle.write_bps_device"},
	{ContainerReads, ContainerReadsLimit, "reads", "riops", "blkio.throttle.read_iops_device"},
	{ContainerRead, ContainerReadLimit, "bytes read", "rbps", "blkio.throttle.read_bps_device"},
}

// HeldBack marks the cells in which a limit holds requests back: the rate is at the limit, or
// earlier requests have not been let through yet. Version 1 of cgroups counts requests when they
// arrive, so the burst of an entire checkpoint is counted in one second and held back over many.
// Version 2 counts them when they are let through.
func (t Time) HeldBack(rate, limit []float64) timeline.Mask {
	out := make(timeline.Mask, t.Grid.N)
	step := t.Grid.StepSeconds()
	behind := 0.0
	for k := range min(len(out), len(rate), len(limit)) {
		if math.IsNaN(rate[k]) || !(limit[k] > 0) {
			behind = 0
			continue
		}
		// behind is the backlog: requests counted on arrival but not yet let through.
		had := behind > 0
		behind = max(0, behind+(rate[k]-limit[k])*step)
		out[k] = rate[k] >= AtLimit*limit[k] || had
	}
	return out.Close(1)
}

// ContainersHeldBack marks the cells in which any container's I/O limit holds requests back.
func (sig *Signals) ContainersHeldBack() timeline.Mask {
	out := make(timeline.Mask, sig.Grid.N)
	for _, l := range IOLimits {
		for _, limit := range sig.Signal(l.Limit) {
			out = out.Or(sig.HeldBack(sig.OfContainer(l.Rate, limit, "device"), limit.Values))
		}
	}
	return out
}
