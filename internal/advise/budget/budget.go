// Package budget says what the disk of a deployment really gives: the least of what a volume was
// ordered with, what its machine lets pass, and what remains when bursts are used up. Engines have
// settings for it (how fast a checkpoint may write, how many pages a second are cleaned), and the
// figures that people put there are the volume's alone, or a benchmark's of ten minutes.
package budget

import (
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/volume"
)

// A Budget is what one volume gives for ever, and for a while. 0 is no limit.
type Budget struct {
	Volume      string  `json:"volume"` // as the scenario names it
	IOPS        float64 `json:"iops"`
	BytesPerSec float64 `json:"bytes_per_second"`
	// Limited by: "volume", "machine", or "burst": the volume bursts higher for a while.
	IOPSBy  string `json:"iops_by,omitempty"`
	BytesBy string `json:"bytes_by,omitempty"`
	// While bursts last; the same as above without any.
	BurstIOPS        float64 `json:"burst_iops"`
	BurstBytesPerSec float64 `json:"burst_bytes_per_second"`
}

// Of returns the budgets of member k's volumes (k from 1), in the order of the scenario. A volume
// that has none, because nothing bounds it, is left out.
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

// of is the budget of an order on a machine, nil if there is none.
func of(o *catalog.Order, l catalog.Limits, on *catalog.InstanceType) Budget {
	n := float64(o.Members())
	own := lower(l.Sustained, l.WriteOnly) // what an engine paces is what it writes
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

// least lowers a figure to the machine's, if the machine has a limit.
func least(figure *float64, by *string, machine float64) {
	if machine <= 0 || *figure > 0 && *figure <= machine {
		return
	}
	*figure = machine
	if by != nil {
		*by = "machine"
	}
}

// lower is the lower of two limits, of which 0 is none.
func lower(a, b volume.Rate) volume.Rate {
	if b.IOPS > 0 && (a.IOPS == 0 || b.IOPS < a.IOPS) {
		a.IOPS = b.IOPS
	}
	if b.Throughput > 0 && (a.Throughput == 0 || b.Throughput < a.Throughput) {
		a.Throughput = b.Throughput
	}
	return a
}

// A second's worth of writes is what a writer may wait behind: more dirty data than that in the
// page cache keeps everything that waits for the disk waiting for longer. A tenth of it starts the
// writing in the background. Both are chosen, not measured.
const (
	dirtySeconds      = 1.0
	backgroundSeconds = 0.1
)

// Dirty is how much dirty data the kernel may keep: where it starts to write, and where writers
// must wait; both 0 if the throughput has no limit.
func (b *Budget) Dirty() (background, most units.Size) {
	return units.Size(float64(b.BytesPerSec * backgroundSeconds)),
		units.Size(float64(b.BytesPerSec * dirtySeconds))
}

// Background is the IOPS for work that may wait, checkpoints and cleaning: half of all, so that the
// other half is left to the log and to reads (assumed).
func (b *Budget) Background() float64 { return b.IOPS / 2 }
