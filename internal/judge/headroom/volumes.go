package headroom

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// devicesMax bounds the devices listed without a known limit, busiest first.
const devicesMax = 4

// finder collects the limits of a case.
type finder struct {
	*rules.Case
	opt       Options
	out       []Headroom
	balances  map[string]Balance
	resources []resource
	taken     map[string]bool // reported balances already used by a known volume, by volume ID
}

// Of returns the headroom of every limit that is known or seen in a recording, and the use of
// resources whose limit is unknown. Limits that will be reached come first, soonest first, then
// those with the highest use.
func Of(c *rules.Case, opt Options) Result {
	f := &finder{Case: c, opt: opt, balances: map[string]Balance{}, taken: map[string]bool{}}
	f.volumes()
	f.shared()
	f.burstBalances()
	f.fileSystems()
	f.pageCache()
	f.engines()
	for i := range f.resources {
		if h, ok := f.resources[i].headroom(c); ok {
			f.out = append(f.out, h)
		}
	}
	slices.SortStableFunc(f.out, compare)
	return Result{All: f.out, Balances: f.balances}
}

// compare orders limits by urgency.
func compare(a, b Headroom) int {
	end := func(h Headroom) float64 {
		if h.Ends == nil {
			return math.Inf(1)
		}
		return h.Ends.InS
	}
	used := func(h Headroom) float64 {
		if h.Most == nil || h.Most.Ratio == nil {
			return -1
		}
		return *h.Most.Ratio
	}
	return cmp.Or(cmp.Compare(end(a), end(b)), cmp.Compare(used(b), used(a)))
}

func (f *finder) period(s *rules.Signal) float64 { return f.Periods[s.Name] }

// volumes adds the limits of devices.
func (f *finder) volumes() {
	known, lost := orders(f.Case, f.opt.Known)
	seen := map[string]rules.Limit{}
	for _, l := range f.Limits() {
		seen[l.Device] = l
	}

	f.out = append(f.out, unmeasured(lost)...)
	unknown := 0
	for _, device := range f.byUse() {
		l := seen[device]
		if o, ok := known[device]; ok {
			f.known(device, &o, l)
			continue
		}

		if l.IOPS == nil && l.Throughput == nil {
			// A host may have hundreds of devices: list only the busiest.
			if unknown++; unknown > devicesMax {
				continue
			}
		}

		f.seen(device, l)
	}
}

// unmeasured lists volumes whose use or limits are unknown.
func unmeasured(lost []volumeName) (out []Headroom) {
	for _, v := range lost {
		out = append(out, Headroom{Resource: "volume_iops", Title: "IOPS", Subject: v.name, Unit: "1/s",
			LimitFrom: Unknown, LimitText: v.why})
	}
	return out
}

// byUse returns the devices with any I/O, busiest first, without those that repeat the I/O of
// another: the parts of a stripe, a partition, a loop device.
func (f *finder) byUse() []string {
	type use struct {
		device string
		sum    float64
		values []float64
	}

	var all, kept []use
	for _, t := range f.Signal(rules.DiskOps) {
		if sum := timeline.Sum(t.Values); sum > 0 {
			all = append(all, use{t.Labels.Get("device"), sum, t.Values})
		}
	}

	slices.SortStableFunc(all, func(a, b use) int { return cmp.Compare(b.sum, a.sum) })
	for _, x := range all {
		// A volume that the user named is shown even if it repeats another's I/O.
		_, given := f.opt.Known.Volumes[x.device]
		again := slices.ContainsFunc(kept, func(k use) bool {
			const same, alike = 0.02, 0.98
			return math.Abs(x.sum-k.sum) <= same*k.sum && timeline.Correlation(x.values, k.values) >= alike &&
				partOf(x.device, k.device)
		})
		if given || !again {
			kept = append(kept, x)
		}
	}

	out := make([]string, len(kept))
	for i, x := range kept {
		out[i] = x.device
	}

	return out
}

// partOf reports whether one device may be built from another, that is, both are on the same
// member.
func partOf(a, b string) bool {
	before := func(s string) string { return s[:strings.LastIndexByte(s, '/')+1] }
	return before(a) == before(b)
}

const notKnown = "unknown limit: specify it with --volume %s=TYPE,SIZE, for example gp3,500GiB"

// seen adds limits inferred from a rate that stayed flat; without one, the use of an unknown limit.
func (f *finder) seen(device string, l rules.Limit) {
	add := func(key, title, unit string, signal *rules.Signal, p *timeline.Plateau, sold string) {
		r := resource{key: key, title: title, subject: device, unit: unit, rate: true,
			used: f.For(signal, "device", device), periodS: f.period(signal),
			text: fmt.Sprintf(notKnown, device)}
		if p != nil {
			r.limits, r.from = []float64{p.Level}, Seen
			r.text = "the rate stayed flat at this level while requests queued"
			if sold != "" {
				r.text += "; it is " + sold
			}
		}
		f.resources = append(f.resources, r)
	}

	ops, title := rules.DiskOps, "IOPS"
	switch l.Counts {
	case "read":
		ops, title = rules.DiskReads, "read IOPS"
	case "write":
		ops, title = rules.DiskWrites, "write IOPS"
	}

	add("volume_iops", title, "1/s", ops, l.IOPS, l.SoldIOPS)
	add("volume_throughput", "throughput", "bytes/s", rules.DiskMoved, l.Throughput, l.SoldThroughput)
}

// known adds the limits of a volume of known type.
func (f *finder) known(device string, volume *knownVolume, limits rules.Limit) {
	text := volume.Text
	if volume.guess != "" {
		text += ", assumed to be " + device + ": " + volume.guess
	}

	at, base := volume.Burst, volume.Sustained
	ops, moved := f.charged(device, volume), f.For(rules.DiskMoved, "device", device)
	add := func(key, title, unit string, used []float64, limit, base float64, signal *rules.Signal) {
		if limit <= 0 || used == nil {
			return
		}
		r := resource{key: key, title: title, subject: device, unit: unit, rate: true, used: used,
			limits: []float64{limit * volume.parts}, from: volume.from, text: text, periodS: f.period(signal)}
		if base < limit {
			r.text += ": with burst credits; without, " + rateText(base*volume.parts, unit)
		}
		f.resources = append(f.resources, r)
	}

	// Types with credits in bytes are throughput-optimized disks, whose IOPS depend on the request
	// size.
	if !volume.Bytes {
		add("volume_iops", "IOPS", "1/s", ops, at.IOPS, base.IOPS, rules.DiskOps)
	}

	add("volume_throughput", "throughput", "bytes/s", moved, at.Throughput, base.Throughput, rules.DiskMoved)
	switch {
	case volume.Credits <= 0:
	case volume.Bytes:
		f.credits(device, volume, moved, base.Throughput, limits.Throughput,
			text+", assuming sequential I/O: a small random request counts as 1 MiB")
	default:
		f.credits(device, volume, ops, base.IOPS, limits.IOPS, text)
	}

	// Some types have credits for both IOPS and throughput.
	if volume.ByteCredits > 0 {
		second := *volume
		second.Bytes, second.Credits = true, volume.ByteCredits
		f.credits(device, &second, moved, base.Throughput, limits.Throughput, text)
	}
}

func rateText(x float64, unit string) string {
	if unit == "bytes/s" {
		return fmt.Sprintf("%s MiB/s", units.Number(x/(1<<20)))
	}
	return units.Number(x) + " IOPS"
}

// charged returns the operations that a volume counts: a request larger than one operation counts
// as several.
func (f *finder) charged(device string, o *knownVolume) []float64 {
	ops, moved := f.For(rules.DiskOps, "device", device), f.For(rules.DiskMoved, "device", device)
	carries := o.Operation
	if ops == nil || moved == nil || carries == 0 {
		return ops
	}
	out := make([]float64, len(ops))
	for k := range out {
		out[k] = ops[k]
		if n := moved[k] / carries; n > ops[k] {
			out[k] = n
		}
	}
	return out
}

// spentWithin is how close to the baseline, relatively, a flat rate must be to mean that no credits
// are left.
const spentWithin = 0.05

// credits adds a volume's bucket: its balance, and when it is empty.
func (f *finder) credits(device string, o *knownVolume, used []float64, base float64, stood *timeline.Plateau,
	text string) {
	if used == nil {
		return
	}

	base *= o.parts
	b := &bucket{capacity: o.Credits * o.parts, refill: base, net: make([]float64, len(used))}
	for k, x := range used {
		b.net[k] = x - base
	}

	// A rate that stays flat at the baseline means that the bucket is empty, whatever was computed.
	if stood != nil && math.Abs(stood.Level-base) <= spentWithin*base {
		b.spent = stood.Cells
	}

	key, title := "volume_credits", "burst credits"
	unit, then := "operations", fmt.Sprintf("the limit falls to %s", rateText(base, "1/s"))
	if o.Bytes {
		unit, then = "bytes", fmt.Sprintf("the limit falls to %s", rateText(base, "bytes/s"))
	}

	if b.reported = f.reported(device); o.ByteCredits > 0 {
		b.reported = nil // the provider reports one balance, and it is unknown to which bucket it belongs
		if o.Bytes {
			key, title = "volume_byte_credits", "burst credits of bytes"
		}
	}

	f.bucket(&resource{key: key, title: title, subject: device, unit: unit, from: o.from, text: text, then: then,
		periodS: f.period(rules.DiskOps)}, b)
}

// reported returns the provider's balance of a device as a share of the full bucket: the one with
// its name, or the only one if a single volume has credits; nil if there is none.
func (f *finder) reported(device string) []float64 {
	tracks := f.Signal(rules.EBSBurstBalance)
	for _, t := range tracks {
		if id := t.Labels.Get("volume_id"); id == device || id == f.Facts["volume_id."+device] ||
			len(tracks) == 1 && len(f.opt.Known.Volumes) == 1 {
			f.taken[id] = true
			return t.Values
		}
	}
	return nil
}

// bucket adds a bucket as a resource.
func (f *finder) bucket(r *resource, b *bucket) {
	id := r.key + "/" + r.subject
	earlier, known := f.opt.Balances[id]
	left := b.balances(f.Case, earlier, known)
	now := left[len(left)-1]
	f.balances[id] = Balance{At: f.Whole().To, Credits: now}
	r.limits, r.growth = []float64{b.capacity}, comesAndGoes
	r.used = make([]float64, len(left))

	for k, x := range left {
		r.used[k] = b.capacity - x
	}

	if r.ends = b.ends(now, b.drain(f.Case)); r.ends != nil {
		r.ends.Then = r.then
		switch {
		case b.spent.Count() > 0, timeline.Count(b.reported) > 0:
		case known:
			r.ends.Assumes = "the bucket was full when watching began"
		default:
			r.ends.Assumes = "the bucket was full when the recording began"
		}
	}

	f.resources = append(f.resources, *r)
}
