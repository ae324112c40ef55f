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

// likeType is the type whose latency's shape is assumed: a mean over a second says nothing about
// the spread of single requests.
const likeType = "gp3"

// fitVolumes enters each volume.
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

// exceeded is for how much of the time a volume itself reported that it was over one of its limits:
// the driver's counters, if their volume is named like the device, or is the only one.
func (f *Fitting) exceeded(device string, signal *rules.Signal) []float64 {
	tracks := f.Signal(signal)
	for _, t := range tracks {
		if t.Labels.Get("volume_id") == device || len(tracks) == 1 && len(f.uses) == 1 {
			return t.Values
		}
	}
	return nil
}

// The volume's own counters prove a limit if it was exceeded for nearly all of a cell, in as many
// cells as make a plateau.
const (
	exceededAll   = 0.95
	exceededCells = 5
	plateauWidth  = 0.05
	// gradesMin is the share of those cells that must be at one level.
	gradesMin = 0.35
)

// A level is a constant rate of a device at a limit, or the most that was delivered.
type level struct {
	field, unit string // "iops", "read IOPS"
	as          func(float64) Quantity
	stood       *timeline.Plateau // nil: no limit was reached
	proof, sold string
	low, high   float64 // its range
	queued      float64 // requests in flight meanwhile
	most, often float64 // delivered in one second, and in more than a fiftieth of them
}

// requests are the signals of one direction's requests.
var requests = map[string]*rules.Signal{"read": rules.DiskReads, "write": rules.DiskWrites}

// levels are those of the volume's IOPS and throughput. For a rented volume reads and writes count
// together.
func (f *Fitting) levels(l rules.Limit, rented bool) []level {
	var out []level
	for _, x := range []struct {
		signal, exceeded *rules.Signal
		found            *timeline.Plateau
		level
	}{
		{rules.DiskOps, rules.EBSVolumeIOPSExceeded, l.IOPS,
			level{field: "iops", unit: "IOPS", as: iops, sold: l.SoldIOPS}},
		{rules.DiskMoved, rules.EBSVolumeThroughputExceeded, l.Throughput,
			level{field: "throughput", as: throughput, sold: l.SoldThroughput}},
	} {
		over := f.exceeded(l.Device, x.exceeded)
		if oneWay := x.field == "iops" && l.Counts != ""; oneWay && (over != nil || rented) {
			x.found = nil
		} else if oneWay {
			x.field, x.signal, x.unit = l.Counts+"."+x.field, requests[l.Counts], l.Counts+" "+x.unit
		}

		values := f.On(l.Device, x.signal)
		x.stood = x.found
		if over != nil {
			at := timeline.Where(over, func(r float64) bool { return r >= exceededAll })
			q, ok := timeline.FindPlateau(values, at, plateauWidth, exceededCells, 1)
			if x.stood = nil; ok && q.Share >= gradesMin {
				x.stood, x.proof = &q, ", and the volume's own counters say that the limit was exceeded"
			}
		}

		x.most, x.often = timeline.Max(values), timeline.Quantile(values, 1-overShare)
		if x.stood == nil && math.IsNaN(x.most) {
			continue
		}

		if x.stood != nil {
			at := timeline.At(values, x.stood.Cells)
			x.low, x.high = timeline.Quantile(at, 0.05), timeline.Quantile(at, 0.95)
			x.queued = timeline.Quantile(timeline.At(f.On(l.Device, rules.DiskQueue), x.stood.Cells), 0.5)
		}

		out = append(out, x.level)
	}

	return standing(out)
}

// A rate that is constant only where another is too is not a limit, if it was followedOver times as
// high in other seconds: at a limit of bytes, requests of one size have a constant rate. If a
// volume's credits have run out, the other rate is not constant there.
const (
	followedOver  = 1.25
	followedShare = 0.9 // of its cells
)

// standing removes limits that follow from another.
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
			if k != i && follows(&levels[i], &levels[k]) {
				levels[i].stood, levels[i].proof = nil, ""
			}
		}
	}

	return levels
}

// overShare of the seconds may exceed a limit: because of sampling, and of requests that the limit
// counts as one.
const overShare = 0.02

// text describes a level in a sentence.
func (x *level) text(f *Fitting) string {
	if x.stood == nil {
		return fmt.Sprintf("its %s limit: at least %s%s was delivered in a second, and the limit was not reached",
			x.field, trim(x.as(x.most)), unit(x.unit))
	}
	return fmt.Sprintf("%s%s held for %s while %s requests queued%s: a limit", trim(x.as(x.stood.Level)),
		unit(x.unit),
		units.Seconds(f.Seconds(x.stood.Cells)), units.Number(x.queued), x.proof)
}

// limits enters the volume's IOPS and throughput, if their limits were reached.
func (w *seenVolume) limits(key string) {
	for i := range w.levels {
		x := &w.levels[i]
		if x.stood == nil {
			f := w.Add(key+x.field, Quantity{"", x.most, x.as(x.most).unit}, Assumed, "%s. None is set",
				x.text(w.Fitting))
			f.Between(x.most,
				math.NaN()).AsDefault().ToKnow("the provider's console, or plimsoll probe on an idle volume of the kind")
			continue
		}

		sold := ""
		if x.sold != "" {
			sold = " (" + x.sold + " is sold so)"
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

func iops(x float64) Quantity {
	q := Count(x)
	q.unit = "1/s"
	return q
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

// A latency is taken from cells in which the device had some requests, and as few in flight as in
// the calmest quarter of them; one in flight on average is few on any device. Of these, those with
// the fewest bytes count, because they have the fewest requests that arrived together and waited
// for each other.
const (
	calmQueue  = 1.0
	calmOps    = 1.0
	calmCells  = 5
	calmShare  = 0.1
	flushFloor = 50e-6 // a flush that takes less is negligible beside the write before it
	apart      = 0.15  // difference from which reads get a latency of their own
)

// calm is where a device had few requests in flight, and was at none of its limits.
func (f *Fitting) calm(l rules.Limit, rate []float64) timeline.Mask {
	cells := timeline.Where(rate, func(x float64) bool { return x >= calmOps })
	for _, p := range []*timeline.Plateau{l.IOPS, l.Throughput} {
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

// An await is how long requests of a kind took in calm seconds.
type await struct {
	seconds []float64 // means of a second each; NaN elsewhere
}

// median is the usual time, NaN if there are too few seconds.
func (a *await) median() float64 {
	if timeline.Count(a.seconds) < calmCells {
		return math.NaN()
	}
	return timeline.Quantile(a.seconds, 0.5)
}

// calmAwaits are a device's writes and reads with few requests in flight.
func (f *Fitting) calmAwaits(l rules.Limit) (out struct{ writes, reads await }) {
	of := func(signal, rate *rules.Signal) await {
		return await{timeline.At(f.On(l.Device, signal), f.calm(l, f.On(l.Device, rate)))}
	}
	out.writes, out.reads = of(rules.DiskWriteAwait, rules.DiskWrites), of(rules.DiskReadAwait, rules.DiskReads)
	return out
}

// latency enters how long requests take: with a type's shape, scaled to the mean that was seen.
func (w *seenVolume) latency(key string, like *catalog.VolumeType) {
	usualWrite, usualRead := like.Write.Latency().Mean().Std().Seconds(),
		like.Read.Latency().Mean().Std().Seconds()
	write, read := w.calm.writes.median()/usualWrite, w.calm.reads.median()/usualRead
	w.Add(key+"latency.like", word(likeType), Assumed,
		"how individual requests' times spread: counters give only a second's mean; assumed as for %s", likeType).
		ToKnow("plimsoll probe, or the volume's NVMe log page 0xD0")
	main, k, usual, what := write, &w.calm.writes, usualWrite, "a write"

	if math.IsNaN(write) {
		main, k, usual, what = read, &w.calm.reads, usualRead, "a read"
	}

	if math.IsNaN(main) || main <= 0 {
		w.Add(key+"latency.scale", Quantity{"100%", 1, "ratio"}, Assumed,
			"requests' latency: no %d s in which few were in flight", calmCells).AsDefault()
		return
	}

	w.Add(key+"latency.scale", factor(main), Inferred,
		"%s took %s (median of %d s with few in flight), and %s on a %s", what,
		units.Seconds(k.median()), timeline.Count(k.seconds), units.Seconds(usual), likeType).
		// Requests that arrive together wait for each other at a limit, visible or not: that makes
		// it longer, never shorter.
		Between(math.NaN(), timeline.Quantile(k.seconds, 0.75)/usual)

	if !math.IsNaN(read) && !math.IsNaN(write) && math.Abs(read/write-1) > apart && read > 0 {
		lat := like.Read.Latency()
		for _, q := range []struct {
			field string
			share units.Ratio
		}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}} {
			v := w.Add(key+"latency.read."+q.field, Duration(lat.Quantile(q.share).Std().Seconds()*read), Inferred,
				"%s's, times %s as for p50", likeType, units.Number(read))
			if q.share == 0.5 {
				v.Evidence = fmt.Sprintf("a read took %s (median of %d s with few in flight), and %s on a %s",
					units.Seconds(w.calm.reads.median()),
					timeline.Count(w.calm.reads.seconds), units.Seconds(usualRead), likeType)
			}
		}
	}

	if flush := timeline.Quantile(timeline.At(w.On(w.device, rules.DiskFlushAwait), w.limit.Saturated.Not()),
		0.5); flush >= flushFloor {
		w.Add(key+"latency.flush.p50", Duration(flush), Inferred,
			"a flush took %s (median of seconds that were not saturated)", units.Seconds(flush))
	}
}

// slotsUsual is how many requests the block layer keeps in flight on a rented volume, as package
// catalog assumes.
const slotsUsual = 32

// A queue is full if it stays at a limit for some seconds, and is hardly ever longer.
const (
	slotsCells = 3
	slotsLeast = 4
	slotsOver  = 1.25
	// slotsStep is the longest interval, in seconds, whose mean shows that a queue is full: over a
	// minute, a constant load has a constant queue too.
	slotsStep = 10
)

// slots enters how many requests the device takes at a time: the length of a queue that stays
// constant while requests wait outside.
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
			Inferred, "the queue stood at %s for %s at the volume's limit and was hardly ever longer",
			units.Number(p.Level), units.Seconds(w.Seconds(p.Cells))).ToKnow(how)
	case most > slotsOver*slotsUsual && product:
		w.Add(key+"queue_slots", Count(math.Ceil(most)), Inferred,
			"as many as %s requests were in flight (the longest queue of %s): at least that many fit",
			units.Number(most), span).ToKnow(how)
	case most > slotsOver*slotsUsual:
		w.Add(key+"queue_slots", Count(0),
			Inferred, "as many as %s requests were in flight (the longest queue of %s): no bound is set",
			units.Number(most), span).AsDefault().ToKnow(how)
	default:
		v := w.Add(key+"queue_slots", Count(slotsUsual), Assumed,
			"how many requests the device takes at once; %d assumed", slotsUsual).ToKnow(how)
		if most > 0 {
			v.Evidence += fmt.Sprintf(", the longest queue of %s was %s", span, units.Number(most))
		}
	}
}

// lastPart is a device's name without its member.
func lastPart(device string) string { return device[strings.LastIndexByte(device, '/')+1:] }
