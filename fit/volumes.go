package fit

import (
	"fmt"
	"math"
	"strings"

	"plimsoll/catalog"
	"plimsoll/rules"
	"plimsoll/timeline"
	"plimsoll/units"
)

// likeType is whose latency a volume is taken to be like, in shape: a mean over a second says nothing of single requests' spread.
const likeType = "gp3"

// fitVolumes enters what each volume is.
func (f *fitting) fitVolumes() error {
	like, err := catalog.Type(likeType)
	if err != nil {
		return err
	}
	limits := map[string]rules.Limit{}
	for _, l := range f.Limits() {
		limits[l.Device] = l
	}
	for _, u := range f.uses {
		key := "volumes." + u.volume + "."
		f.add(key+"type", word("custom"), u.known, "device %s is the volume %s: %s. Which product it is, no metric tells; its limits and latency are those seen", u.device, u.volume, u.why)
		l, found := limits[u.device]
		if !found {
			l = rules.Limit{Device: u.device}
		}
		atLimit := f.limit(key, l)
		f.latency(key, u.device, l, like)
		f.slots(key, l, atLimit)
	}
	return nil
}

// on is a device's signal; nil if not measured.
func (f *fitting) on(device, signal string) []float64 {
	return f.For(rules.SignalPrefix+signal, "device", device)
}

// exceeded is for how much of the time a volume itself said that it was over one of its limits: the driver's counters, where their
// volume is called like the device, or is the only one.
func (f *fitting) exceeded(device, what string) []float64 {
	tracks := f.Signal(rules.SignalPrefix + "ebs_volume_" + what + "_exceeded:ratio")
	for _, t := range tracks {
		if t.Labels.Get("volume_id") == device || len(tracks) == 1 && len(f.uses) == 1 {
			return t.Values
		}
	}
	return nil
}

// The volume's own counters prove a limit where it was exceeded nearly all of a cell, in as many cells as make a plateau.
const (
	exceededAll   = 0.95
	exceededCells = 5
	plateauWidth  = 0.05
	// gradesMin is the share of those cells that must stand at one level.
	gradesMin = 0.35
)

// limit enters the volume's IOPS and throughput, if they were reached, and gives the cells in which one was.
func (f *fitting) limit(key string, l rules.Limit) timeline.Mask {
	atLimit := make(timeline.Mask, f.Grid.N)
	for _, x := range []struct {
		field, what, signal string
		found               *timeline.Plateau
		sold                string
		as                  func(float64) quantity
		unit                string
	}{
		{"iops", "iops", "disk_ops:rate", l.IOPS, l.SoldIOPS, iops, "IOPS"},
		{"throughput", "throughput", "disk_moved:bytes", l.Throughput, l.SoldThroughput, throughput, ""},
	} {
		if x.what == "iops" && l.Counts != "" { // of one direction alone
			x.field, x.signal, x.unit = l.Counts+"."+x.field, "disk_"+l.Counts+"s:rate", l.Counts+" "+x.unit
		}
		values := f.on(l.Device, x.signal)
		over := f.exceeded(l.Device, x.what)
		p, proof := x.found, ""
		if over != nil {
			at := timeline.Where(over, func(r float64) bool { return r >= exceededAll })
			q, ok := timeline.FindPlateau(values, at, plateauWidth, exceededCells)
			if p = nil; ok && q.Share >= gradesMin {
				p, proof = &q, ", and the volume's own counters say that the limit was exceeded"
			}
		}
		if p == nil {
			most := timeline.Max(values)
			if math.IsNaN(most) {
				continue
			}
			q := x.as(most)
			f.add(key+x.field, quantity{"", most, q.unit}, Assumed,
				"its %s limit: at least %s%s was delivered in a second, and the limit was not reached. None is set", x.field, trim(q), unit(x.unit)).
				between(most, math.NaN()).left().measure("the provider's console, or plimsoll probe on an idle volume of the kind")
			continue
		}
		sold := ""
		if x.sold != "" {
			sold = " (" + x.sold + " is sold so)"
		}
		q := x.as(p.Level)
		at := timeline.At(values, p.Cells)
		atLimit = atLimit.Or(p.Cells)
		f.add(key+x.field, q, Inferred, "%s%s held for %s while %s requests queued%s: a limit%s", trim(q), unit(x.unit),
			units.Seconds(f.Seconds(p.Cells)), units.Number(timeline.Quantile(timeline.At(f.on(l.Device, "disk_queue:requests"), p.Cells), 0.5)), proof, sold).
			between(timeline.Quantile(at, 0.05), timeline.Quantile(at, 0.95))
	}
	return atLimit
}

func iops(x float64) quantity {
	q := count(x)
	q.unit = "1/s"
	return q
}

func unit(u string) string {
	if u == "" {
		return ""
	}
	return " " + u
}

// trim prints a limit for a sentence.
func trim(q quantity) string {
	if q.unit == "bytes/s" {
		return units.Bytes(q.number) + "/s"
	}
	return units.Number(q.number)
}

// A latency is taken from cells in which the device had some requests, and as few in flight as in the calmest quarter of them; one in flight on
// average is few on any device. Of these, those count in which the fewest bytes were moved, as they have the fewest requests that came
// together and waited for each other.
const (
	calmQueue  = 1.0
	calmOps    = 1.0
	calmCells  = 5
	calmShare  = 0.1
	flushFloor = 50e-6 // a flush that takes less costs nothing beside the write before it
	apart      = 0.15  // from which reads get a latency of their own
)

// calm is where a device worked with few requests in flight, and at none of its limits.
func (f *fitting) calm(l rules.Limit, rate []float64) timeline.Mask {
	cells := timeline.Where(rate, func(x float64) bool { return x >= calmOps })
	for _, p := range []*timeline.Plateau{l.IOPS, l.Throughput} {
		if p != nil {
			cells = cells.Without(p.Cells.Widen(1, 1))
		}
	}
	if queue := f.on(l.Device, "disk_queue:requests"); queue != nil {
		most := max(calmQueue, timeline.Quantile(timeline.At(queue, cells), 0.25))
		cells = cells.And(timeline.Where(queue, func(x float64) bool { return x <= most }))
	}
	moved := f.on(l.Device, "disk_moved:bytes")
	if moved == nil {
		return cells
	}
	at := timeline.At(moved, cells)
	n := max(float64(calmCells), calmShare*float64(len(at)))
	most := timeline.Quantile(at, min(1, n/max(float64(len(at)), 1)))
	return cells.And(timeline.Where(moved, func(x float64) bool { return x <= most }))
}

// latency enters how long requests take: like a type's in shape, scaled to the mean that was seen.
func (f *fitting) latency(key, device string, l rules.Limit, like *catalog.VolumeType) {
	type kind struct {
		await []float64 // in calm cells
		usual float64   // of the type, in seconds
	}
	of := func(await, rate string, usual units.Duration) kind {
		calm := f.calm(l, f.on(device, rate))
		return kind{timeline.At(f.on(device, await), calm), usual.Std().Seconds()}
	}
	writes := of("disk_write_await:seconds", "disk_writes:rate", like.Write.Latency().Mean())
	reads := of("disk_read_await:seconds", "disk_reads:rate", like.Read.Latency().Mean())
	scale := func(k kind) float64 {
		if timeline.Count(k.await) < calmCells {
			return math.NaN()
		}
		return timeline.Quantile(k.await, 0.5) / k.usual
	}
	w, r := scale(writes), scale(reads)
	f.add(key+"latency.like", word(likeType), Assumed, "how single requests' times spread: a second's mean is all that counters tell; as of %s", likeType).
		measure("plimsoll probe, or the volume's NVMe log page 0xD0")
	main, k, what := w, writes, "a write"
	if math.IsNaN(w) {
		main, k, what = r, reads, "a read"
	}
	if math.IsNaN(main) || main <= 0 {
		f.add(key+"latency.scale", quantity{"100%", 1, "ratio"}, Assumed, "requests' latency: no %d s in which few were in flight", calmCells).left()
		return
	}
	f.add(key+"latency.scale", factor(main), Inferred, "%s took %s (median of %d s with few in flight), and %s on a %s", what,
		units.Seconds(timeline.Quantile(k.await, 0.5)), timeline.Count(k.await), units.Seconds(k.usual), likeType).
		// Requests that come in pairs wait for each other at a limit, seen or not: that makes it longer, never shorter.
		between(math.NaN(), timeline.Quantile(k.await, 0.75)/k.usual)
	if !math.IsNaN(r) && !math.IsNaN(w) && math.Abs(r/w-1) > apart && r > 0 {
		lat := like.Read.Latency()
		for _, q := range []struct {
			field string
			share units.Ratio
		}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}} {
			v := f.add(key+"latency.read."+q.field, duration(lat.Quantile(q.share).Std().Seconds()*r), Inferred,
				"%s's, times %s as for p50", likeType, units.Number(r))
			if q.share == 0.5 {
				v.Evidence = fmt.Sprintf("a read took %s (median of %d s with few in flight), and %s on a %s", units.Seconds(timeline.Quantile(reads.await, 0.5)),
					timeline.Count(reads.await), units.Seconds(reads.usual), likeType)
			}
		}
	}
	if flush := timeline.Quantile(timeline.At(f.on(device, "disk_flush_await:seconds"), l.Saturated.Not()), 0.5); flush >= flushFloor {
		f.add(key+"latency.flush.p50", duration(flush), Inferred, "a flush took %s (median of seconds that were not saturated)", units.Seconds(flush))
	}
}

// slotsUsual is what the block layer keeps in flight on a rented volume, as package catalog assumes.
const slotsUsual = 32

// A queue is full where it stands still at a limit for some seconds, and is hardly ever longer.
const (
	slotsCells = 3
	slotsLeast = 4
	slotsOver  = 1.25
)

// slots enters how many requests the device takes at once: a queue that stands still while requests wait outside.
func (f *fitting) slots(key string, l rules.Limit, atLimit timeline.Mask) {
	queue := f.on(l.Device, "disk_queue:requests")
	how := "cat /sys/block/" + lastPart(l.Device) + "/queue/nr_requests"
	if p, ok := timeline.FindPlateau(queue, atLimit, plateauWidth, slotsCells); ok && p.Share >= gradesMin && p.Level >= slotsLeast && timeline.Max(queue) <= slotsOver*p.Level {
		f.add(key+"queue_slots", count(p.Level), Inferred, "the queue stood at %s for %s at the volume's limit and was hardly ever longer",
			units.Number(p.Level), units.Seconds(f.Seconds(p.Cells))).measure(how)
		return
	}
	most := timeline.Max(queue)
	if most > slotsOver*slotsUsual {
		f.add(key+"queue_slots", count(0), Inferred, "as many as %s requests were in flight (the longest queue of a second): no bound is set", units.Number(most)).left().measure(how)
		return
	}
	v := f.add(key+"queue_slots", count(slotsUsual), Assumed, "how many requests the device takes at once; %d taken", slotsUsual).measure(how)
	if most > 0 {
		v.Evidence += fmt.Sprintf(", the longest queue of a second was %s", units.Number(most))
	}
}

// lastPart is a device's name without the member it belongs to.
func lastPart(device string) string { return device[strings.LastIndexByte(device, '/')+1:] }

// room says how large the volumes are, which no series tells: the data twice over.
func (f *fitting) room() {
	const least = 100 * units.GiB
	for _, u := range f.uses {
		size := float64(least)
		if u.volume == "data" {
			size = max(size, math.Ceil(2*f.data/float64(units.GiB))*float64(units.GiB))
		}
		f.add("volumes."+u.volume+".size", exactly(size), Assumed, "the volume's size; %s taken", units.Size(size).Exact()).
			measure("lsblk; a volume's price, and its IOPS on some types, go by it")
	}
}
