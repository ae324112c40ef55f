package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
)

// A Credit is a bucket of burst credits that a load empties.
type Credit struct {
	Text   string
	Empty  time.Duration // time until the bucket is empty, starting full
	Demand float64       // per second, on average over the run
	Refill float64       // per second
}

// instanceBurst is how long an instance sustains its maximum, in seconds (Amazon EC2 user guide,
// "Amazon EBS-optimized instances": 30 minutes at least once a day).
const instanceBurst = 1800

// CreditsOf returns the buckets of a scenario's volumes and machines that its load empties, given the
// requests of a run. Its machines are alike, so the first represents all.
func CreditsOf(sc *scenario.Scenario, r *Result) []Credit {
	var out, machine []Credit
	for k := 1; k <= sc.MemberCount(); k++ {
		out = append(out, volumeCredits(sc, r, k)...)
		if len(machine) == 0 {
			machine = machineCredits(sc, r, k)
		}
	}
	return append(out, machine...)
}

// feltCredit is the credit whose exhaustion clients notice first; nil if they notice none. A
// cluster does not wait for a minority of its members, unless its leader is among them.
func feltCredit(sc *scenario.Scenario, r *Result) *Credit {
	cluster := sc.Engine.Cluster
	var first []Credit // of each member whose credits run out
	for k := 1; k <= sc.MemberCount(); k++ {
		all := append(volumeCredits(sc, r, k), machineCredits(sc, r, k)...)
		if len(all) == 0 {
			continue
		}
		one := slices.MinFunc(all, func(a, b Credit) int { return cmp.Compare(a.Empty, b.Empty) })
		// Every write passes through the leader, so its credits decide regardless of the other
		// members.
		if cluster != nil && cluster.Leader(sc.Engine.Config) == k {
			return &one
		}
		first = append(first, one)
	}

	minority := 0
	if cluster != nil {
		// A write needs a majority: clients notice once more than this many members are slow.
		minority = (sc.MemberCount() - 1) / 2
	}

	if len(first) <= minority {
		return nil
	}

	slices.SortFunc(first, func(a, b Credit) int { return cmp.Compare(a.Empty, b.Empty) })
	return &first[minority]
}

// volumeCredits returns the buckets of a member's volumes.
func volumeCredits(sc *scenario.Scenario, r *Result, k int) []Credit {
	var out []Credit
	for _, v := range sc.VolumesOf(k) {
		name := sc.DeviceName(k, v.Name)
		asked := r.volume(name)
		l, err := sc.LimitsOf(k, v.Name)
		if asked == nil || err != nil || l.Burst == nil {
			continue
		}

		// LimitsOf returns the limits of one volume. A stripe spreads its load evenly over its
		// volumes.
		n := float64(v.Value.Members())
		b := bucket{float64(l.Burst.Initial), asked.IOPS / n, float64(l.Sustained.IOPS)}
		if l.Burst.Bytes {
			b.demand, b.refill = asked.BytesPerSec/n, float64(l.Sustained.Throughput)
		}

		out = append(out, b.emptied(sc, "volumes."+name)...)
		if l.Burst.BytesCapacity > 0 {
			bytes := bucket{float64(l.Burst.BytesCapacity), asked.BytesPerSec / n, float64(l.Sustained.Throughput)}
			out = append(out, bytes.emptied(sc, "volumes."+name)...)
		}
	}

	return out
}

// machineCredits returns the first bucket that a member's machine runs out of, operations before bytes.
// The machine's own disks use none of it.
func machineCredits(sc *scenario.Scenario, r *Result, k int) []Credit {
	on := sc.Instance()
	if on == nil {
		return nil
	}

	var names []string // of the limits that volumes share, in their order
	buckets := map[string]*[2]bucket{}
	for _, v := range sc.VolumesOf(k) {
		asked := r.volume(sc.DeviceName(k, v.Name))
		share, ok := on.ShareOf(&v.Value)
		if asked == nil || !ok {
			continue
		}

		b := buckets[share.Name]
		if b == nil {
			most, base := share.Maximum, share.Baseline
			b = &[2]bucket{
				{bucket: float64(most.IOPS-base.IOPS) * instanceBurst, refill: float64(base.IOPS)},
				{bucket: float64(most.Throughput-base.Throughput) * instanceBurst, refill: float64(base.Throughput)},
			}
			buckets[share.Name], names = b, append(names, share.Name)
		}

		b[0].demand += asked.IOPS
		b[1].demand += asked.BytesPerSec
	}

	for _, name := range names {
		for _, b := range buckets[name] {
			if b.bucket <= 0 { // it does not burst
				continue
			}
			if c := b.emptied(sc, on.Name); len(c) > 0 {
				return c
			}
		}
	}

	return nil
}

// volume returns the result of the named volume, nil if there is none.
func (r *Result) volume(name string) *VolumeResult {
	if i := slices.IndexFunc(r.Volumes, func(v VolumeResult) bool { return v.Name == name }); i >= 0 {
		return &r.Volumes[i]
	}
	return nil
}

// A bucket holds credits, with the demand and the refill per second.
type bucket struct{ bucket, demand, refill float64 }

// emptied reports when a full bucket runs empty; nothing if it never does.
func (b bucket) emptied(sc *scenario.Scenario, name string) []Credit {
	after, ok := b.lasts(sc)
	if !ok {
		return nil
	}
	day := int(after/(24*time.Hour)) + 1
	return []Credit{{
		Text: fmt.Sprintf("%s: credits run out after %s at the mean demand, on day %d: %s per second needed, %s refilled",
			name,
			units.Seconds(after.Seconds()), day, units.Number(b.demand), units.Number(b.refill)),
		Empty: after, Demand: b.demand, Refill: b.refill,
	}}
}

// lasts returns how long a full bucket lasts, and false if a load that rises and falls refills it
// before. The requests to volumes are assumed to rise and fall with the arrivals.
func (b bucket) lasts(sc *scenario.Scenario) (time.Duration, bool) {
	if b.refill <= 0 {
		return 0, false
	}

	load := sc.Workloads()
	period, from := load.Period(), sc.Run.Warmup.Std()
	measured := sc.Run.Duration.Std()

	mean := load.Expected(from, from+measured) / measured.Seconds()
	if period <= 0 || mean <= 0 {
		if b.demand <= b.refill {
			return 0, false
		}
		return time.Duration(b.bucket / (b.demand - b.refill) * 1e9), true
	}

	// Step through periods until one ends with as many credits as it began with.
	step := max(period/periodSteps, time.Second)
	var net []float64
	for at := time.Duration(0); at < period; at += step {
		asked := b.demand * load.Expected(at, at+step) / step.Seconds() / mean
		net = append(net, (b.refill-asked)*step.Seconds())
	}

	// The mean demand is not enough: a daily peak may empty a bucket that lasts on average.
	left := b.bucket
	for n := range periodsMost {
		before := left
		for i, change := range net {
			if left = min(left+change, b.bucket); left < 0 {
				return time.Duration(n)*period + time.Duration(i)*step, true
			}
		}
		// No credits were lost over a whole period, so every later one repeats this.
		if left >= before {
			return 0, false
		}
	}

	return 0, false // it lasts for years
}

// periodSteps is the number of steps in a period, and periodsMost the maximum number of periods:
// almost three years of days.
const (
	periodSteps = 288
	periodsMost = 1000
)
