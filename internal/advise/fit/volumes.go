package fit

import (
	"fmt"
	"math"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/record/timeline"
)

// likeType is the type whose latency distribution is assumed: a mean over a second says nothing about the
// distribution of single requests.
const likeType = "gp3"

// fitVolumes adds the values of each volume.
func (f *Fitting) fitVolumes() error {
	like, err := catalog.Type(likeType)
	if err != nil {
		return err
	}

	limits := map[string]rules.Limit{}
	for _, l := range f.Limits() {
		limits[l.Device] = l
	}

	for _, u := range f.uses {
		l, found := limits[u.device]
		if !found {
			l = rules.Limit{Device: u.device}
		}

		w := &seenVolume{Fitting: f, use: u, limit: l, identity: f.identify(u), calm: f.calmAwaits(l)}

		// Providers limit reads and writes together; only a cgroup limits one direction.
		w.levels = f.levels(l, w.provider != "" && !w.model.Local)
		matches := w.matches()
		if w.local() || w.given.Type != "" || len(matches) > 0 && w.nameable(&matches[0]) {
			w.enter(matches)
		} else {
			w.enterCustom(matches, like)
		}

		w.enterParts()
	}

	return nil
}

// On returns a device's signal; nil if not measured.
func (f *Fitting) On(device string, signal *rules.Signal) []float64 {
	return f.For(signal, "device", device)
}

// exceeded returns the share of time for which a volume itself reported that it exceeded one of its limits:
// the driver's counters, if their volume is named like the device or is the only one.
func (f *Fitting) exceeded(device string, signal *rules.Signal) []float64 {
	tracks := f.Signal(signal)
	for _, t := range tracks {
		if t.Labels.Get("volume_id") == device || len(tracks) == 1 && len(f.uses) == 1 {
			return t.Values
		}
	}
	return nil
}

// The volume's own counters prove a limit if it was exceeded for nearly all of a cell, in at least as many
// cells as a plateau needs.
const (
	exceededAll   = 0.95
	exceededCells = 5
	plateauWidth  = 0.05
	// gradesMin is the minimum share of those cells at one level.
	gradesMin = 0.35
)

// A level is a constant rate of a device at a limit, or the maximum that it delivered.
type level struct {
	field, unit string // "iops", "read IOPS"
	as          func(float64) Quantity
	stood       *timeline.Plateau // nil: no limit was reached
	proof, sold string
	low, high   float64 // its range
	queued      float64 // requests in flight at that time
	most, often float64 // maximum in any second, and the 98th percentile
}

// requests are the signals for the requests of one direction.
var requests = map[string]*rules.Signal{"read": rules.DiskReads, "write": rules.DiskWrites}

// levels returns the levels of a volume's IOPS and throughput. For a provider's volume, reads and writes
// count together.
func (f *Fitting) levels(limit rules.Limit, rented bool) []level {
	var out []level
	for _, kind := range []struct {
		signal, exceeded *rules.Signal
		found            *timeline.Plateau
		level
	}{
		{rules.DiskOps, rules.EBSVolumeIOPSExceeded, limit.IOPS,
			level{field: "iops", unit: "IOPS", as: IOPS, sold: limit.SoldIOPS}},
		{rules.DiskMoved, rules.EBSVolumeThroughputExceeded, limit.Throughput,
			level{field: "throughput", as: throughput, sold: limit.SoldThroughput}},
	} {
		over := f.exceeded(limit.Device, kind.exceeded)
		if oneWay := kind.field == "iops" && limit.Counts != ""; oneWay && (over != nil || rented) {
			kind.found = nil
		} else if oneWay {
			kind.field, kind.signal, kind.unit = limit.Counts+"."+kind.field, requests[limit.Counts], limit.Counts+" "+kind.unit
		}

		values := f.On(limit.Device, kind.signal)
		kind.stood = kind.found

		// The volume's own counters are proof, so they replace the plateau found from rates.
		if over != nil {
			at := timeline.Where(over, func(r float64) bool { return r >= exceededAll })
			q, ok := timeline.FindPlateau(values, at, plateauWidth, exceededCells, 1)
			if kind.stood = nil; ok && q.Share >= gradesMin {
				kind.stood, kind.proof = &q, ", and the volume's own counters show that the limit was exceeded"
			}
		}

		kind.most, kind.often = timeline.Max(values), timeline.Quantile(values, 1-overShare)
		if kind.stood == nil && math.IsNaN(kind.most) {
			continue
		}

		if kind.stood != nil {
			at := timeline.At(values, kind.stood.Cells)
			kind.low, kind.high = timeline.Quantile(at, 0.05), timeline.Quantile(at, 0.95)
			kind.queued = timeline.Quantile(timeline.At(f.On(limit.Device, rules.DiskQueue), kind.stood.Cells), 0.5)
		}

		out = append(out, kind.level)
	}

	return standing(out)
}

// A rate that is constant only while another one is constant too is not a limit if it was followedOver
// times as high in other seconds: at a limit of bytes, requests of the same size have a constant rate. If
// a volume's credits have run out, the other rate is not constant.
const (
	followedOver  = 1.25
	followedShare = 0.9 // of its cells
)

// standing removes levels that are only a consequence of another limit.
func standing(levels []level) []level {
	follows := func(x, by *level) bool {
		if x.stood == nil || by.stood == nil {
			return false
		}
		both := x.stood.Cells.And(by.stood.Cells).Count()
		return float64(both) >= followedShare*float64(x.stood.Cells.Count()) &&
			x.often >= followedOver*x.stood.Level && by.often < followedOver*by.stood.Level
	}

	for i := range levels {
		for k := range levels {
			// Compare with the current state: of two mutually dependent levels, only one is
			// removed.
			if k != i && follows(&levels[i], &levels[k]) {
				levels[i].stood, levels[i].proof = nil, ""
			}
		}
	}

	return levels
}

// overShare of the seconds may exceed a limit, because of sampling, and because a limit may count several
// requests as one.
const overShare = 0.02

// text describes a level in a sentence.
func (x *level) text(f *Fitting) string {
	if x.stood == nil {
		return fmt.Sprintf("its %s limit: at least %s%s was delivered in a second without reaching the limit",
			x.field, trim(x.as(x.most)), unit(x.unit))
	}
	return fmt.Sprintf("the rate stayed at %s%s for %s while %s requests were queued%s: a limit",
		trim(x.as(x.stood.Level)),
		unit(x.unit),
		units.Seconds(f.Seconds(x.stood.Cells)), units.Number(x.queued), x.proof)
}

// limits adds the volume's IOPS and throughput limits, if they were reached.
func (w *seenVolume) limits(key string) {
	for i := range w.levels {
		x := &w.levels[i]
		if x.stood == nil {
			f := w.Add(key+x.field, Quantity{"", x.most, x.as(x.most).unit}, Assumed, "%s. No limit is set",
				x.text(w.Fitting))
			f.Between(x.most,
				math.NaN()).AsDefault().ToKnow("the provider's console, or plimsoll probe on an idle volume of the kind")
			continue
		}

		sold := ""
		if x.sold != "" {
			sold = " (a standard limit of " + x.sold + ")"
		}

		w.Add(key+x.field, x.as(x.stood.Level), Inferred, "%s%s", x.text(w.Fitting), sold).Between(x.low, x.high)
	}
}

// atLimit returns the cells in which a limit was reached.
func (w *seenVolume) atLimit() timeline.Mask {
	at := make(timeline.Mask, w.Grid.N)
	for i := range w.levels {
		if p := w.levels[i].stood; p != nil {
			at = at.Or(p.Cells)
		}
	}
	return at
}

func unit(u string) string {
	if u == "" {
		return ""
	}
	return " " + u
}

// trim formats a limit for a sentence.
func trim(q Quantity) string {
	if q.unit == "bytes/s" {
		return units.Bytes(q.number) + "/s"
	}
	return units.Number(q.number)
}

// Latency is measured in cells in which the device had requests, but as few in flight as in the calmest
// quarter of them; one in flight on average is few for any device. Of these, only those with the fewest
// bytes count, because they have the fewest requests that arrived together and waited for each other.
const (
	calmQueue  = 1.0
	calmOps    = 1.0
	calmCells  = 5
	calmShare  = 0.1
	flushFloor = 50e-6 // a shorter flush is negligible compared with the write before it
	apart      = 0.15  // relative difference above which reads get a separate latency
)

// calm returns the cells in which a device had few requests in flight and was not at any limit.
func (f *Fitting) calm(l rules.Limit, rate []float64) timeline.Mask {
	cells := timeline.Where(rate, func(x float64) bool { return x >= calmOps })
	for _, p := range []*timeline.Plateau{l.IOPS, l.Throughput} {
		// At a limit, requests wait, so those cells show the queue rather than the device.
		if p != nil {
			cells = cells.Without(p.Cells.Widen(1, 1))
		}
	}

	if queue := f.On(l.Device, rules.DiskQueue); queue != nil {
		most := max(calmQueue, timeline.Quantile(timeline.At(queue, cells), 0.25))
		cells = cells.And(timeline.Where(queue, func(x float64) bool { return x <= most }))
	}

	moved := f.On(l.Device, rules.DiskMoved)
	if moved == nil {
		return cells
	}

	at := timeline.At(moved, cells)
	n := max(float64(calmCells), calmShare*float64(len(at)))
	most := timeline.Quantile(at, min(1, n/max(float64(len(at)), 1)))

	return cells.And(timeline.Where(moved, func(x float64) bool { return x <= most }))
}

// An await is the duration of one kind of requests in calm seconds.
type await struct {
	seconds []float64 // one-second means; NaN outside calm cells
}

// median returns the median duration, NaN if there are too few seconds.
func (a *await) median() float64 {
	if timeline.Count(a.seconds) < calmCells {
		return math.NaN()
	}
	return timeline.Quantile(a.seconds, 0.5)
}

// calmAwaits returns the durations of a device's writes and reads with few requests in flight.
func (f *Fitting) calmAwaits(l rules.Limit) (out struct{ writes, reads await }) {
	of := func(signal, rate *rules.Signal) await {
		return await{timeline.At(f.On(l.Device, signal), f.calm(l, f.On(l.Device, rate)))}
	}
	out.writes, out.reads = of(rules.DiskWriteAwait, rules.DiskWrites), of(rules.DiskReadAwait, rules.DiskReads)
	return out
}

// latency adds the latency of requests: a type's distribution, scaled to the observed mean.
func (w *seenVolume) latency(key string, like *catalog.VolumeType) {
	usualWrite, usualRead := like.Write.Latency().Mean().Std().Seconds(),
		like.Read.Latency().Mean().Std().Seconds()
	write, read := w.calm.writes.median()/usualWrite, w.calm.reads.median()/usualRead
	w.Add(key+"latency.like", Word(likeType), Assumed,
		"latency distribution of single requests: counters only give one-second means; assumed as for %s",
		likeType).
		ToKnow("plimsoll probe, or the volume's NVMe log page 0xD0")

	main, k, usual, what := write, &w.calm.writes, usualWrite, "a write"

	// A read-only load still shows the device's speed.
	if math.IsNaN(write) {
		main, k, usual, what = read, &w.calm.reads, usualRead, "a read"
	}

	if math.IsNaN(main) || main <= 0 {
		w.Add(key+"latency.scale", Quantity{"100%", 1, "ratio"}, Assumed,
			"latency of requests: fewer than %d s with few requests in flight", calmCells).AsDefault()
		return
	}

	w.Add(key+"latency.scale", factor(main), Inferred,
		"%s took %s (median of %d s with few in flight), compared with %s on a %s", what,
		units.Seconds(k.median()), timeline.Count(k.seconds), units.Seconds(usual), likeType).
		// Requests that arrive together wait for each other at a limit, visible or not. That only
		// lengthens the latency, so there is an upper bound but no lower one.
		Between(math.NaN(), timeline.Quantile(k.seconds, 0.75)/usual)

	if !math.IsNaN(read) && !math.IsNaN(write) && math.Abs(read/write-1) > apart && read > 0 {
		lat := like.Read.Latency()
		for _, q := range []struct {
			field string
			share units.Ratio
		}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}} {
			v := w.Add(key+"latency.read."+q.field, Duration(lat.Quantile(q.share).Std().Seconds()*read), Inferred,
				"the value of %s, times %s as for p50", likeType, units.Number(read))
			if q.share == 0.5 {
				v.Evidence = fmt.Sprintf("a read took %s (median of %d s with few in flight), compared with %s on a %s",
					units.Seconds(w.calm.reads.median()),
					timeline.Count(w.calm.reads.seconds), units.Seconds(usualRead), likeType)
			}
		}
	}

	if flush := timeline.Quantile(timeline.At(w.On(w.device, rules.DiskFlushAwait), w.limit.Saturated.Not()),
		0.5); flush >= flushFloor {
		w.Add(key+"latency.flush.p50", Duration(flush), Inferred,
			"a flush took %s (median of unsaturated seconds)", units.Seconds(flush))
	}
}

// slotsUsual is the number of requests that the block layer keeps in flight on a provider's volume, as
// package catalog assumes.
const slotsUsual = 32

// A queue is full if its length stays constant for some seconds and hardly ever exceeds that level.
const (
	slotsCells = 3
	slotsLeast = 4
	slotsOver  = 1.25
	// slotsStep is the longest interval, in seconds, whose mean can show that a queue is full: averaged
	// over a minute, a constant load has a constant queue too.
	slotsStep = 10
)

// slots adds the number of requests that the device accepts concurrently: the length of a queue that stays
// constant while further requests wait.
func (w *seenVolume) slots(key string, product bool) {
	queue := w.On(w.device, rules.DiskQueue)
	how := "cat /sys/block/" + lastPart(w.device) + "/queue/nr_requests"
	p, ok := timeline.FindPlateau(queue, w.atLimit(), plateauWidth, slotsCells, 1)
	most := timeline.Max(queue)
	step := w.Grid.StepSeconds()
	span := "a second"

	if step > 1 {
		span = units.Seconds(step)
	}

	switch {
	case ok && p.Share >= gradesMin && p.Level >= slotsLeast && most <= slotsOver*p.Level && step <= slotsStep:
		w.Add(key+"queue_slots", Count(p.Level),
			Inferred, "the queue length stayed at %s for %s at the volume's limit and was hardly ever longer",
			units.Number(p.Level), units.Seconds(w.Seconds(p.Cells))).ToKnow(how)
	case most > slotsOver*slotsUsual && product:
		w.Add(key+"queue_slots", Count(math.Ceil(most)), Inferred,
			"up to %s requests were in flight (the longest queue of %s): at least that many fit",
			units.Number(most), span).ToKnow(how)
	case most > slotsOver*slotsUsual:
		w.Add(key+"queue_slots", Count(0),
			Inferred, "up to %s requests were in flight (the longest queue of %s): no limit is set",
			units.Number(most), span).AsDefault().ToKnow(how)
	default:
		v := w.Add(key+"queue_slots", Count(slotsUsual), Assumed,
			"number of requests that the device accepts concurrently; %d assumed", slotsUsual).ToKnow(how)
		if most > 0 {
			v.Evidence += fmt.Sprintf(", the longest queue of %s was %s", span, units.Number(most))
		}
	}
}

// lastPart returns a device's name without its member.
func lastPart(device string) string { return device[strings.LastIndexByte(device, '/')+1:] }
