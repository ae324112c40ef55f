package corerules

import (
	"math"
	"slices"
	"strings"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// If requests always wait, there is no quiet time to compare with, so no stall shows. A queue in
// front of a device that is never idle is a finding by itself, and what stays constant shows which
// limit it is: a limiter holds bytes or requests perfectly steady, while a spinning disk, whose
// seeks differ, holds neither.
const (
	alwaysBusyShare = 0.8   // of the intervals with requests
	queuedRequests  = 2.0   // waiting or in service, at the median
	longWaitS       = 0.010 // of reads or of writes, at the median: several times what flash takes
	// constantWithin is the half-width of the band in which a limited rate stays, and
	// constantSamples is how many samples it takes to show that.
	constantWithin  = 0.01
	constantSamples = 3
	// A device that is not always busy is at no limit, but a queue of slowQueue requests that each
	// take slowWaitS shows that it is slow.
	slowBusy  = 0.6
	slowQueue = 4.0
	slowWaitS = 0.020
	// seekS is the least time that one request takes on a disk that has to seek, without waiting.
	seekS = 0.002
	// mostlyOneKind is the share of the waiting above which it counts as waiting for reads, or for
	// writes.
	mostlyOneKind = 0.7
	// nearBaseline is how near a rate is to a small volume's baseline.
	nearBaseline = 0.08
)

// Baselines of small volumes that burst: their rates once the credits are used up. EBS: general
// purpose volumes, gp2 (3 IOPS per GiB, at least 100); Azure: Premium SSD P1 to P4 (120) and P6
// (240).
var baselines = []struct {
	iops float64
	of   string
}{
	{100, "gp2 of up to 33 GiB"}, {120, "Azure Premium SSD P1 to P4"}, {240, "Azure Premium SSD P6"},
	{150, "gp2 of 50 GiB"}, {300, "gp2 of 100 GiB"},
}

func diskAlwaysBusy() rules.Rule {
	rule := rules.Rule{ID: "disk/always-busy", Title: "The device is always busy, and requests wait", Kind: rules.Cause,
		Traced: atDevice, Whole: true,
		When:    "plimsoll:disk_busy:ratio > 0.6 and plimsoll:disk_queue:requests > 2",
		Needs:   []*rules.Signal{rules.DiskBusy, rules.DiskQueue, rules.DiskOps},
		NoAlert: "it judges the whole recording; disk/iops-capped and disk/throughput-capped alert on saturation",
		Cause:   "The device always has requests in its queue, so each new one waits for those ahead of it. Nothing stalls compared with normal, because this is normal: the workload gets as much as the device delivers.",
		Words: rules.Words{
			"bytes title":    "The{{.kind}} throughput cap binds",
			"ops title":      "The{{.kind}} request rate is capped",
			"credits title":  "Burst credits are used up: requests are capped at the baseline",
			"seeks title":    "The disk is slow: every request seeks",
			"unclear title":  "The device is always busy, and requests wait",
			"waits":          "{{.device}} was {{.busy}} busy with {{.queue}} requests in its queue{{with .reads}}; reads take {{.}}{{end}}{{with .writes}}{{if $.reads}},{{else}};{{end}} writes take {{.}}{{end}} (medians).{{with .mostly}} Most of the waiting is for {{.}}.{{end}}",
			"bytes":          "Its{{.kind}} throughput stays within 1 % of {{.level}}: that is a limit, not the medium.",
			"ops":            "Its{{.kind}} rate stays within 1 % of {{.level}}: that is a limit, not the medium.",
			"credits":        "That is within 8 % of the baseline of {{.volume}}: a volume that has used up its burst credits.",
			"seeks":          "Neither requests nor bytes are constant, and each request takes {{.each}} of device time: the disk seeks. No limit is visible.",
			"slow":           "Each request takes {{.each}} of device time, and the device is not always busy: it seeks, and no limit is visible.",
			"unclear":        "Whether a limit or the medium is the cause is not visible from {{.samples}}.",
			"clients unhurt": "The database's clients did not wait during that time.",
		},
		Advice: map[string]rules.Advice{
			"raise": {Summary: "Raise the volume's limit above {{.level}}, or reduce the load on the device",
				Expect: "the queue shrinks until the next limit binds", TradeOff: "the provider's price",
				NoCommand: "it depends on the volume's type"},
			"credits": {Summary: "Move to a volume whose baseline meets the demand, or that needs no credits (gp3 has 3,000 IOPS at any size)",
				Expect:    "no waiting for credits",
				TradeOff:  "the volume's price",
				NoCommand: "it depends on the kind of volume"},
			"less": {Summary: "Reduce the load on the disk: more memory for the cache, an index instead of a scan, fewer programs on this disk; or move to flash",
				Expect:    "a shorter queue: each request waits for those ahead of it",
				TradeOff:  "memory, or the price of flash",
				NoCommand: "first find out what causes the load"},
			"who": {Summary: "Find out which program makes the requests (pidstat -d 1, iotop)",
				Expect: "whether the database or another program keeps the device busy", TradeOff: "none",
				NoCommand: "this only inspects, it changes nothing"},
		}}

	rule.Judge = func(c *rules.Case, held []timeline.Track) []rules.Finding {
		var out []rules.Finding
		for _, h := range held {
			x, ok := alwaysBusy(c, h.Labels.Get("device"))
			if _, limited := constantRate(c, x); ok && (limited || !capExplains(c, x)) &&
				!instanceSpent(c, x.active) {
				out = append(out, alwaysBusyFinding(rule, c, x))
			}
		}
		return out
	}

	return rule
}

// A busyDevice is a device with requests waiting all the time.
type busyDevice struct {
	device                      string
	active                      timeline.Mask // with requests
	samples                     int
	busy, queue, reads, writes  float64 // medians
	each                        float64 // of the device's time per request, seconds
	readsWaiting, writesWaiting float64 // seconds per second
}

// alwaysBusy judges one device.
func alwaysBusy(input *rules.Case, device string) (busyDevice, bool) {
	disk := busyDevice{device: device}
	get := func(s *rules.Signal) []float64 { return input.For(s, "device", device) }
	busy, queue, ops := get(rules.DiskBusy), get(rules.DiskQueue), get(rules.DiskOps)
	if busy == nil || queue == nil || ops == nil {
		return disk, false
	}

	disk.active = timeline.Where(ops, func(n float64) bool { return n > 0 })
	disk.samples = int(
		math.Round(input.Seconds(disk.active) / input.ResolutionS(rules.DiskOps, rules.DiskBusy, rules.DiskQueue)),
	)
	if disk.samples == 0 || float64(disk.active.Count()) < alwaysBusyShare*float64(timeline.Count(busy)) {
		return disk, false
	}

	median := func(values []float64) float64 { return timeline.Quantile(timeline.At(values, disk.active), 0.5) }
	disk.busy, disk.queue, disk.reads, disk.writes = median(busy), median(queue),
		median(get(rules.DiskReadAwait)),
		median(get(rules.DiskWriteAwait))

	for k, in := range disk.active {
		if !in {
			continue
		}
		if w := rules.ValueAt(get(rules.DiskReadAwait), k) * rules.ValueAt(get(rules.DiskReads), k); w == w {
			disk.readsWaiting += w
		}
		if w := rules.ValueAt(get(rules.DiskWriteAwait), k) * rules.ValueAt(get(rules.DiskWrites), k); w == w {
			disk.writesWaiting += w
		}
	}

	// Time spent in the queue does not count: this is the device's own time for a request.
	disk.each = disk.busy / median(ops)

	// The kind of request that does most of the waiting counts: a device with quick reads and a few
	// slow writes is healthy.
	wait, awaits := disk.writes, get(rules.DiskWriteAwait)
	if disk.readsWaiting > disk.writesWaiting {
		wait, awaits = disk.reads, get(rules.DiskReadAwait)
	}

	// A source without latencies still has them by Little's law.
	if disk.reads != disk.reads && disk.writes != disk.writes {
		wait, awaits = disk.queue/median(ops), rules.Ratio(queue, ops)
	}

	// A device that makes requests wait only half of the time is not always full: something
	// changed, which other rules look for.
	if long := timeline.Where(awaits, func(s float64) bool { return s >= longWaitS/2 }); rules.Share(
		long,
		disk.active,
	) <
		alwaysBusyShare {
		return disk, false
	}

	// Averaged over many seconds, a device that is busy at times looks always busy. If clients stall
	// only at times, it is not.
	if input.ResolutionS(rules.DiskBusy) >= rules.CoarseFromS && input.Stall.IsDatabase && input.Stall.Any() {
		return disk, false
	}

	full := rules.Share(timeline.Where(busy, func(n float64) bool { return n > rules.SaturatedBusy }),
		disk.active) >= alwaysBusyShare
	if full {
		return disk, disk.queue >= queuedRequests && wait >= longWaitS
	}

	// A longer wait is required of a device that is not at a limit.
	return disk, disk.busy >= slowBusy && disk.queue >= slowQueue && wait >= slowWaitS && disk.each >= seekS
}

// capExplains reports whether a device hits a limit in stalled time, which explains more than that it
// is busy. While a database stalls, a device at a limit does not seek, even if it is not at the limit
// all the time. If only devices report, a device that seems to seek is reported nevertheless: chance
// makes plateaus.
func capExplains(c *rules.Case, x busyDevice) bool {
	if !c.Stall.Any() || !c.Stall.IsDatabase && x.seeks() {
		return false
	}
	return slices.ContainsFunc(c.Limits(), func(l rules.Limit) bool {
		// If a database reports its operations, a saturated device is enough; otherwise the limit must be a rate.
		return l.Device == x.device && (c.Stall.IsDatabase || l.IOPS != nil || l.Throughput != nil)
	})
}

// seeks reports whether each request takes as long as on a disk that has to seek.
func (x busyDevice) seeks() bool {
	return x.samples >= constantSamples && x.each >= seekS && !strings.HasPrefix(x.device, "nvme")
}

// A limitedRate is a rate that stays constant.
type limitedRate struct {
	kind  string // " read", " write" or ""
	level float64
	bytes bool
}

// constantRate finds the rate that a limiter holds constant: bytes or requests.
func constantRate(c *rules.Case, disk busyDevice) (limitedRate, bool) {
	get := func(s *rules.Signal) []float64 { return timeline.At(c.For(s, "device", disk.device), disk.active) }
	moved, written := get(rules.DiskMoved), get(rules.DiskWritten)

	// There is no signal for bytes read.
	read := make([]float64, len(moved))
	for k := range read {
		read[k] = moved[k] - rules.ValueAt(written, k)
	}

	constant := func(values []float64) bool {
		level := timeline.Quantile(values, 0.5)
		return disk.samples >= constantSamples && level > 0 &&
			timeline.Quantile(values, 0.9)-timeline.Quantile(values, 0.1) <= 2*constantWithin*level
	}

	bytes, ops := limitedRate{bytes: true}, limitedRate{}
	foundBytes, foundOps := false, false

	// A kind of request that does not wait may be constant only because its demand is.
	all := disk.readsWaiting + disk.writesWaiting
	for _, of := range []struct {
		kind       string
		bytes, ops []float64
		waits      float64 // share of the waiting
	}{{"", moved, get(rules.DiskOps), 1}, {" read", read, get(rules.DiskReads), disk.readsWaiting / all},
		{" write", written, get(rules.DiskWrites), disk.writesWaiting / all}} {
		if !(of.waits >= mostlyOneKind) {
			continue
		}
		if !foundBytes && constant(of.bytes) {
			bytes.kind, bytes.level, foundBytes = of.kind, timeline.Quantile(of.bytes, 0.5), true
		}
		if !foundOps && constant(of.ops) {
			ops.kind, ops.level, foundOps = of.kind, timeline.Quantile(of.ops, 0.5), true
		}
	}

	// If all requests have the same size, both rates are constant. Large ones hit a byte limit first.
	switch {
	case foundBytes && foundOps:
		_, small := baseline(ops.level)
		if small || bytes.level/ops.level < rules.LargeRequest {
			return ops, true
		}
		return bytes, true
	case foundBytes:
		return bytes, true
	}

	return ops, foundOps
}

// baseline returns the kind of small volume whose baseline a rate is close to.
func baseline(iops float64) (of string, ok bool) {
	// Baselines are close to each other, so the nearest one within the tolerance counts.
	nearest := nearBaseline
	for _, b := range baselines {
		if off := math.Abs(iops-b.iops) / b.iops; off <= nearest {
			nearest, of, ok = off, b.of, true
		}
	}
	return of, ok
}

func alwaysBusyFinding(r rules.Rule, input *rules.Case, disk busyDevice) rules.Finding {
	finding := r.Finding(disk.device)
	finding.Severity, finding.Weight = rules.Warning, 1
	finding.Foremost, finding.Always = true, true

	switch {
	case input.Stall.Any() && input.Stall.IsDatabase:
		// A device that is always busy does not explain why clients stall sometimes.
		finding.Weight, finding.Foremost = rules.Share(disk.active, input.Stall.Cells), false
	case input.Stall.Any():
		finding.Weight = rules.Share(disk.active, input.Stall.Cells)
		finding.Severity = input.SeverityOf(finding.Weight)
	}

	// Values that were not measured stay empty, and the sentences leave them out.
	values := rules.Values{
		"device": rules.Called(disk.device),
		"busy":   rules.Part(disk.busy),
		"queue":  rules.Number(disk.queue),
		"reads":  "",
		"writes": "",
		"mostly": "",
		"each":   rules.Seconds(disk.each),
	}
	if disk.reads == disk.reads {
		values["reads"] = rules.Seconds(disk.reads)
	}

	if disk.writes == disk.writes {
		values["writes"] = rules.Seconds(disk.writes)
	}

	switch all := disk.readsWaiting + disk.writesWaiting; {
	case all == 0: // no latency is known
	case disk.readsWaiting >= mostlyOneKind*all:
		values["mostly"] = "reads"
	case disk.writesWaiting >= mostlyOneKind*all:
		values["mostly"] = "writes"
	}

	finding.Say("waits", values)

	limit, limited := constantRate(input, disk)
	volume, small := baseline(limit.level)
	values["kind"], values["volume"], values["samples"] = rules.Value(limit.kind), rules.Called(volume), rules.Things(disk.samples, "interval")
	values["level"] = rules.Of(limit.level, "1/s")

	if limit.bytes {
		values["level"] = rules.Of(limit.level, "bytes/s")
	}

	switch {
	case disk.busy <= rules.SaturatedBusy:
		finding.Entitle("seeks title", nil)
		finding.Say("slow", values)
		finding.Advise("less", nil)
	case limited && limit.bytes:
		finding.Entitle("bytes title", values)
		finding.Say("bytes", values)
		finding.Advise("raise", values)
	case limited && small && limit.kind == "":
		finding.Entitle("credits title", nil)
		finding.Say("ops", values)
		finding.Say("credits", values)
		finding.Advise("credits", nil)
	case limited:
		finding.Entitle("ops title", values)
		finding.Say("ops", values)
		finding.Advise("raise", values)
	case disk.seeks():
		finding.Entitle("seeks title", nil)
		finding.Say("seeks", values)
		finding.Advise("less", nil)
	default:
		finding.Say("unclear", values)
		finding.Advise("who", nil)
	}

	if input.Stall.IsDatabase && !input.Stall.Any() && !(usualLatency(input) >= rules.StallFloorS) &&
		input.Stall.Active.Count() > 0 {
		finding.Severity, finding.Foremost = rules.Info, false
		finding.Say("clients unhurt", nil)
	}

	finding.Evidence = []rules.Evidence{
		input.Figure("busy share, median", rules.DiskBusy, disk.busy, "ratio", disk.active),
		input.Figure("queue, median", rules.DiskQueue, disk.queue, "requests", disk.active),
	}

	for _, w := range []struct {
		text string
		of   *rules.Signal
		s    float64
	}{
		{"read await, median", rules.DiskReadAwait, disk.reads},
		{"write await, median", rules.DiskWriteAwait, disk.writes},
	} {
		if w.s == w.s {
			finding.Evidence = append(finding.Evidence, input.Figure(w.text, w.of, w.s, "seconds", disk.active))
		}
	}

	return finding
}
