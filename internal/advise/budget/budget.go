// Package budget computes the sustained limits of a deployment's volumes: the minimum of a volume's
// provisioned limits and its machine's limits, after bursts are used up. Engines have settings for that
// (how fast a checkpoint may write, how many pages are cleaned per second), but people often set them to
// the volume's limits alone, or to the result of a ten-minute benchmark.
package budget

import (
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/scenario"
)

// A Budget is a volume's limits, sustained and during bursts. 0: no limit.
type Budget struct {
	Volume      string  `json:"volume"` // by its name in the scenario
	IOPS        float64 `json:"iops"`
	BytesPerSec float64 `json:"bytes_per_second"`
	// What limits it: "volume", "machine", or "burst" if the volume is faster while its burst lasts.
	IOPSBy  string `json:"iops_by,omitempty"`
	BytesBy string `json:"bytes_by,omitempty"`
	// Limits while bursts last; the same as above without bursts.
	BurstIOPS        float64 `json:"burst_iops"`
	BurstBytesPerSec float64 `json:"burst_bytes_per_second"`
}

// Of returns the budgets of member k's volumes (k from 1), in the order of the scenario, without volumes
// that have no limit.
func Of(sc *scenario.Scenario, k int) []Budget {
	var out []Budget
	for _, v := range sc.VolumesOf(k) {
		limits, err := sc.LimitsOf(k, v.Name)
		if err != nil {
			continue
		}
		b := of(&v.Value, limits, sc.Instance())
		if b.Volume = v.Name; b.IOPS > 0 || b.BytesPerSec > 0 {
			out = append(out, b)
		}
	}
	return out
}

// of returns the budget of an order on a machine.
func of(o *catalog.Order, l catalog.Limits, on *catalog.InstanceType) Budget {
	n := float64(o.Members())
	own := l.Sustained.Lower(l.WriteOnly) // engines use the budget for pacing writes
	b := Budget{IOPS: n * float64(own.IOPS), BytesPerSec: n * float64(own.Throughput), IOPSBy: "volume",
		BytesBy: "volume"}
	b.BurstIOPS, b.BurstBytesPerSec = b.IOPS, b.BytesPerSec

	if l.Burst != nil {
		if at := n * float64(l.Burst.At.IOPS); at > b.BurstIOPS {
			b.BurstIOPS, b.IOPSBy = at, "burst"
		}
		if at := n * float64(l.Burst.At.Throughput); at > b.BurstBytesPerSec {
			b.BurstBytesPerSec, b.BytesBy = at, "burst"
		}
	}

	if on == nil {
		return b
	}

	if share, ok := on.ShareOf(o); ok {
		least(&b.IOPS, &b.IOPSBy, float64(share.Baseline.IOPS))
		least(&b.BytesPerSec, &b.BytesBy, float64(share.Baseline.Throughput))
		least(&b.BurstIOPS, nil, float64(share.Maximum.IOPS))
		least(&b.BurstBytesPerSec, nil, float64(share.Maximum.Throughput))
	}

	return b
}

// least lowers a figure to the machine's limit, if there is one.
func least(figure *float64, by *string, machine float64) {
	if machine <= 0 || *figure > 0 && *figure <= machine {
		return
	}
	*figure = machine
	if by != nil {
		*by = "machine"
	}
}

// The page cache may hold one second's worth of dirty data: with more, everything that waits for the disk
// waits longer than that. Background writeback starts at a tenth of it. Both are chosen, not measured.
const (
	dirtySeconds      = 1.0
	backgroundSeconds = 0.1
)

// Dirty returns how much dirty data the kernel should keep before background writeback starts, and before
// writers must wait; both are 0 if the throughput has no limit.
func (b *Budget) Dirty() (background, most units.Size) {
	return units.Size(float64(b.BytesPerSec * backgroundSeconds)),
		units.Size(float64(b.BytesPerSec * dirtySeconds))
}

// Background returns the IOPS for deferrable work such as checkpoints and cleaning: half of the total, which
// leaves the other half to the log and to reads (assumed).
func (b *Budget) Background() float64 { return b.IOPS / 2 }
