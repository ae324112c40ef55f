package frame

import (
	"cmp"
	"math"
	"slices"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// clients lists the databases' classes of operation.
func (a *cursor) clients() (out []Client) {
	order := slices.Clone(a.Symptoms)
	slices.SortStableFunc(order, func(x, y rules.Stall) int { return cmp.Compare(rankOf(x), rankOf(y)) })

	for _, s := range order {
		if !s.IsDatabase {
			continue
		}

		c := Client{Name: s.Subject, Rate: a.recent(s.Ops), Mean: a.recent(s.Latency),
			Worst: timeline.Max(a.last(s.Latency, worstSpan)),
			Usual: math.NaN(), Recent: slices.Clone(a.last(s.Latency, recentSpan)), Threshold: s.Threshold}
		// The figures are those that were known at the moment: later cells are not used, so
		// that going back in time shows what was visible then.
		if a.k < len(s.Latency) {
			c.Usual = timeline.Quantile(s.Latency[:a.k+1], 0.5)
		}

		if a.k < len(s.Cells) {
			c.StalledS = a.Seconds(s.Cells[:a.k+1])
			c.Stalled = s.Cells[max(0, a.k+1-a.Cells(stalledSpan)):a.k+1].Count() > 0
		}

		out = append(out, c)
	}

	return out
}

// rankOf is how close a class of operation is to what clients wait for.
func rankOf(s rules.Stall) int {
	switch {
	case s.Foremost:
		return 0
	case !s.Aside:
		return 1
	}
	return 2
}

// devices lists the devices that report anything. Their limits are those known to headroom, or
// otherwise those that were seen to bind.
func (a *cursor) devices(report *diagnose.Report) (out []Device) {
	var names []string
	// Some sources report only one of the two.
	for _, s := range []*rules.Signal{rules.DiskBusy, rules.DiskOps} {
		for _, t := range a.Signal(s) {
			if dev := t.Labels.Get("device"); dev != "" && !slices.Contains(names, dev) {
				names = append(names, dev)
			}
		}
	}

	// Limits come from a diagnosis of the whole recording; the rates are those of the moment.
	caps := capsOf(report)
	for _, dev := range names {
		at := func(s *rules.Signal) float64 { return a.recent(a.For(s, "device", dev)) }
		device := Device{Name: dev, Busy: at(rules.DiskBusy), IOPS: at(rules.DiskOps), BytesS: at(rules.DiskMoved),
			Queue: at(rules.DiskQueue),
			AwaitS: await(at(rules.DiskReads), at(rules.DiskReadAwait), at(rules.DiskWrites),
				at(rules.DiskWriteAwait)), LimitIOPS: math.NaN(), LimitBytesS: math.NaN()}

		moved, ops := a.For(rules.DiskMoved, "device", dev), a.For(rules.DiskOps, "device", dev)
		device.Idle = !(timeline.Max(upTo(moved, a.k)) > 0 || timeline.Max(upTo(ops, a.k)) > 0)
		if x, ok := caps[dev]; ok {
			device.LimitIOPS, device.LimitBytesS = limit(x.IOPS), limit(x.Throughput)
		}

		// Headroom prefers a limit that was given or reported, so it replaces the one in a finding.
		for _, h := range report.Headroom {
			switch {
			case h.Limit == nil || h.Subject != dev:
			case h.Resource == volumeIOPS:
				device.LimitIOPS = limit(*h.Limit)
			case h.Resource == volumeThroughput:
				device.LimitBytesS = limit(*h.Limit)
			}
		}

		// An unknown rate or limit is NaN, and makes the share NaN.
		device.SharedIOPS, device.SharedBytesS = device.IOPS/device.LimitIOPS, device.BytesS/device.LimitBytesS
		out = append(out, device)
	}

	return out
}

// upTo returns the values up to a cell.
func upTo(values []float64, k int) []float64 { return values[:min(len(values), k+1)] }

// These limits are shown with their device, not in the list of limits.
const (
	volumeIOPS       = "volume_iops"
	volumeThroughput = "volume_throughput"
)

// shownRatio is the share of a limit below which it is too far away to be shown.
const shownRatio = 0.05

// limits lists the other known limits, most urgent first.
func limits(r *diagnose.Report) (out []Limit) {
	for _, h := range r.Headroom {
		if h.Limit == nil || h.Most == nil || h.Most.Ratio == nil || h.Resource == volumeIOPS ||
			h.Resource == volumeThroughput {
			continue
		}
		// A limit that is far away is still shown if it will be reached.
		if *h.Most.Ratio < shownRatio && h.Ends == nil {
			continue
		}

		l := Limit{Subject: h.Subject, Title: h.Title, Part: *h.Most.Ratio, EndsS: math.NaN()}
		if h.Ends != nil {
			l.EndsS = h.Ends.InS
		}

		out = append(out, l)
	}
	return out
}

// await is the mean time of a request.
func await(reads, readS, writes, writeS float64) float64 {
	sum, n := 0.0, 0.0
	for _, x := range [][2]float64{{reads, readS}, {writes, writeS}} {
		// Without requests there is no time per request, so such a side does not affect the mean. NaN
		// fails both comparisons.
		if x[0] > 0 && x[1] >= 0 {
			sum, n = sum+x[0]*x[1], n+x[0]
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / n
}

func limit(x float64) float64 {
	if !(x > 0) {
		return math.NaN()
	}
	return x
}

// capsOf returns the limits that a diagnosis found to bind, by device.
func capsOf(r *diagnose.Report) map[string]rules.Cap {
	out := map[string]rules.Cap{}
	all := slices.Clone(r.Findings)
	for _, x := range r.Incidents {
		all = append(all, x.Findings...)
	}

	for _, f := range all {
		if f.Cap == nil {
			continue
		}
		// Several findings may each have seen a limit bind. A device has served the highest of these
		// rates, so its limit is not below that.
		x := out[f.Subject]
		x.IOPS, x.Throughput = max(x.IOPS, f.Cap.IOPS), max(x.Throughput, f.Cap.Throughput)
		out[f.Subject] = x
	}

	return out
}

// hostFigures bounds the figures of the host and the engine.
const hostFigures = 5

// host lists figures of the host and of the engine's cache.
func (a *cursor) host() (out []Figure) {
	add := func(label, unit string, v float64) {
		if !math.IsNaN(v) && len(out) < hostFigures {
			out = append(out, Figure{label, units.Value(v, unit)})
		}
	}

	add("CPUs", rules.CPUBusy.Unit, a.recent(a.One(rules.CPUBusy)))
	add("page cache dirty", rules.MemoryDirty.Unit, a.recent(a.One(rules.MemoryDirty)))

	for _, e := range a.Pack.Engines() {
		for _, p := range e.Plots {
			add(p.Title, p.Signal.Unit, a.recent(a.One(p.Signal)))
		}
	}

	// A checkpoint is shown only while it runs.
	if cycles := a.Cycles(); len(cycles) > 0 && a.k < len(cycles[0].Cells) && cycles[0].Cells[a.k] {
		out = append(out, Figure{"checkpoint", "running"})
	}

	return out
}
