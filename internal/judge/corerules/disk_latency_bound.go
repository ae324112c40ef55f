package corerules

import (
	"math"
	"slices"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// One request at a time: by Little's law the rate is then queue / latency, and a higher cap changes
// neither. The bounds allow for an occasional second request.
const (
	serialQueueLow  = 0.5
	serialQueueHigh = 1.5
	serialShare     = 0.5  // of the time the device writes, or of the time under demand if that is long
	serialMaxSat    = 0.02 // of that time with a deep queue
	deepQueue       = 2.0
	serialMinRate   = 5.0
	serialInFlight  = 1.4 // requests in flight while busy: over time, a burst may average one, too
	// An append that grows its file is two concurrent requests, the data and the file system's
	// journal. A sync that waits for both is just as serial.
	syncQueueHigh = 2.0
	syncDeep      = 2.5
	serialMinS    = 5.0
	serialCells   = 8 // of an excerpt
	serialFew     = 2
	serialLongS   = 60.0
	// If another device is saturated in most of the stalled time, clients wait for that one.
	elsewhereShare = 0.5
	alwaysWaiting  = 0.75 // busy share above which the latency, not the demand, determines the rate
)

// A serial writer exactly at a cap looks like one bound by latency, with one difference: a cap's
// rate does not vary, while the rate of n requests with independent latencies varies by their
// coefficient of variation over sqrt(n). On volumes that coefficient is 0.2 to 0.5 (fio's sync
// latencies on gp2 and gp3: 0.51, 0.34 and 0.21). Only a limiter can produce a rate that varies
// less than pinnedCV implies.
const (
	pinnedCV     = 0.1
	pinnedSpread = 3.3  // 5th to 95th percentile of a normal distribution, in deviations
	pinnedJitter = 2e-3 // seconds of jitter in a sampler's clock
	pinnedBusy   = 0.9  // a writer at a cap always has a request waiting
	pinnedPassed = 1.05 // a rate over this multiple at any other time shows that there is no cap
	pinnedCells  = 8
)

// pacedS is the latency above which a cap may cause a serial writer's latency, even if its rate
// varies a little. Flash volumes answer in 0.2 to 2 ms (EBS promises "single-digit" for gp2 and gp3 and
// delivers 0.5 to 1; Azure's premium disks average 2), while a gp2 without credits lets one request
// through every 10 ms.
const pacedS = 0.004

func diskLatencyBound() rules.Rule {
	r := rules.Rule{
		ID:      "disk/latency-bound",
		Title:   "Latency-bound: more IOPS will not help",
		Kind:    rules.Refutation,
		Refutes: []rules.Resource{rules.VolumeIOPS},
		When:    "plimsoll:disk_queue:requests > 0.5 and plimsoll:disk_queue:requests < 2 and plimsoll:disk_writes:rate > 5",
		Needs:   []*rules.Signal{}, AnyOf: []*rules.Signal{rules.DiskQueue, rules.FioIodepth},
		NoAlert: "it is a refutation: it advises against buying IOPS",
		Cause:   "The writer waits for each request before it issues the next (the fdatasync of a WAL or journal). Its rate is one over the latency, whatever the volume allows. Raising a cap that is not reached has no effect.",
		Words:   serialWords, Advice: serialAdvice}

	r.Judge = func(c *rules.Case, held []timeline.Track) []rules.Finding {
		var out []rules.Finding
		below := c.JudgedBelow()
		for _, h := range held {
			if below[h.Labels.Get("device")] {
				continue
			}
			if f, ok := serialDevice(r, c, h); ok {
				out = append(out, f)
			}
		}
		return append(out, serialFio(r, c)...)
	}

	return r
}

var serialWords = rules.Words{
	"serial":  "{{.device}} serves one request at a time: {{.rate}} requests/s at {{.each}} each, with a queue of {{.queue}}.",
	"idle":    "It is idle for {{.idle}} of the time: no cap holds it back, and raising the volume's IOPS buys nothing.",
	"latency": "The limit is the latency; raising the volume's IOPS buys nothing.",

	"ambiguous title": "One request at a time, at {{.rate}}/s without variation: limited by latency, or by a cap at exactly that rate",
	"ambiguous":       "The rate varies less than latencies do, so a limiter may set it: if the volume is provisioned with {{.rate}} IOPS, that cap binds; if with more, latency is the limit and IOPS buy nothing.",

	"paced title": "One request at a time, at {{.each}} each: a slow medium, or a cap that spaces them",
	"paced":       `Flash takes 0.2 to 2 ms. A cap of about {{or .limit "?"}} IOPS would look the same (a gp2 out of credits, a small Azure disk), and so would a magnetic or an overloaded disk. More IOPS help against a cap, but not against the others.`,

	"fio": "Job {{.job}} issues one write at a time: {{.rate}} per second at {{.each}} each, with {{.waiting}} of its time spent waiting" +
		"{{with .runs}} (the best of {{.}} runs; the slowest made {{$.least}}){{end}}. The limit is the latency; raising the volume's IOPS buys nothing" +
		"{{with .sold}}, unless the volume is capped at exactly this rate: {{$.rate}} IOPS is {{.}}{{end}}.",
}

const trialCosts = "a trial costs a day at the higher price; EBS lets you modify a volume again once the change is completed"

var serialAdvice = map[string]rules.Advice{
	"no IOPS": {Summary: "Do not buy IOPS for this", Expect: "no change: the cap is not reached",
		TradeOff: "none; it saves money", NoCommand: nothingToDo},
	"ambiguous": {Summary: "Look up what the volume is provisioned with; if it is about {{.rate}} IOPS, raise it once and compare",
		Expect:    "a single writer's rate grows up to one over the volume's latency, but no further",
		TradeOff:  trialCosts,
		NoCommand: lookUpVolume},
	"paced": {Summary: `Look up what the volume is provisioned with and, for gp2, its BurstBalance; if it is about {{or .limit "?"}} IOPS, raise it`,
		Expect: "a single writer's rate grows up to one over the volume's own latency", TradeOff: trialCosts,
		NoCommand: lookUpVolume},
	"batch": {Summary: "Make fewer, larger syncs: batch writes, use more clients at once (group commit)",
		Expect: "the same syncs carry more writes", TradeOff: "each write waits for its batch",
		NoCommand: "the clients decide how many write at the same time"},
	"latency": {Summary: "Use a volume with a lower latency: io2 Block Express (under 0.5 ms on average, according to AWS), local NVMe",
		Expect:    "a single writer's rate grows by the ratio of the latencies; now {{.each}} per request",
		TradeOff:  "io2: USD 0.125 per GB and 0.065 per IOPS a month; local NVMe is lost with the instance",
		NoCommand: "the data has to move to another kind of volume first: plimsoll plan and emit write the steps"},
	"preallocate": {Summary: "Write into preallocated files: an append that grows a file costs additional journal writes of the file system",
		Expect: "two to three device writes per append become one", TradeOff: "space reserved in advance",
		NoCommand: "it depends on the program that writes"},
}

func serialDevice(rule rules.Rule, input *rules.Case, held timeline.Track) (rules.Finding, bool) {
	dev := held.Labels.Get("device")
	get := func(signal *rules.Signal) []float64 { return input.For(signal, "device", dev) }
	writes, queue := get(rules.DiskWrites), get(rules.DiskQueue)
	ops, busy := get(rules.DiskOps), get(rules.DiskBusy)
	if writes == nil || queue == nil || ops == nil {
		return rules.Finding{}, false
	}

	writing := timeline.Where(writes, func(x float64) bool { return x > serialMinRate })
	high, most, tooDeep := serialQueueHigh, serialInFlight, deepQueue
	if input.Stall.OfLog && input.Stall.Any() {
		high, most, tooDeep = syncQueueHigh, syncQueueHigh, syncDeep
	}

	serial := timeline.Known(held.Values).And(timeline.Where(queue, func(x float64) bool { return x < high }))
	deep := timeline.Where(queue, func(x float64) bool { return x > tooDeep })

	// A writer with little to do leaves the device idle between its requests. That says nothing about
	// the time in which it keeps the device busy.
	demanded := writing
	if input.Seconds(serial) >= serialLongS {
		demanded = writing.And(timeline.Where(queue, func(x float64) bool { return x > serialQueueLow }))
	}

	// An excerpt of a few reports is enough if the device was always busy with one request.
	long := input.Seconds(serial) >= serialMinS || input.Grid.N < serialCells && serial.Count() >= serialFew &&
		rules.Share(serial, writing) == 1 && timeline.Quantile(timeline.At(busy, serial), 0) >= pinnedBusy
	if !long || rules.Share(serial, demanded) < serialShare ||
		rules.Share(deep, writing) > serialMaxSat || saturatedElsewhere(input, dev) {
		return rules.Finding{}, false
	}

	// Busy with at least one request nearly all the time: the writer does wait for it.
	if busy != nil && (timeline.Quantile(timeline.At(busy, serial), 0.5) < serialQueueLow ||
		inFlight(queue, busy, serial) > most) {
		return rules.Finding{}, false
	}

	// By Little's law, queue / rate is the time that one request takes.
	rate := timeline.Quantile(timeline.At(ops, serial), 0.5)
	medianQueue := timeline.Quantile(timeline.At(queue, serial), 0.5)
	if !(rate > 0) { // the counters contradict each other
		return rules.Finding{}, false
	}

	each := medianQueue / rate
	if capped(input, dev) {
		return rules.Finding{}, false
	}

	finding := rule.Finding(dev)
	finding.Weight = rules.Share(serial, demanded)
	finding.Severity = rules.Info

	if input.LogLate() {
		finding.Severity = rules.Warning
	}

	finding.Windows = input.Windows(serial.Close(3))
	occupied := timeline.Quantile(timeline.At(busy, serial), 0.5)
	said := rules.Values{
		"device": rules.Called(dev),
		"rate":   rules.Number(rate),
		"each":   rules.Seconds(each),
		"queue":  rules.Number(medianQueue),
		"idle":   rules.Part(1 - occupied),
		"limit":  rules.Number(rate / max(occupied, serialQueueLow)),
	}
	finding.Say("serial", said)

	switch {
	case pinned(&input.Signals, ops, busy, serial):
		question(&finding, "ambiguous", said)
	case each >= pacedS && mayExceed(&input.Signals, serial, timeline.Mean, pacedShare) &&
		!passes(ops, serial, rate/max(occupied, serialQueueLow)):
		// Each request takes longer than on a flash volume: a cap may cause the pause.
		question(&finding, "paced", said)
	case occupied < alwaysWaiting:
		finding.Say("idle", said)
		finding.Advise("no IOPS", nil)
	default:
		finding.Say("latency", said)
		finding.Advise("no IOPS", nil)
	}

	lowerLatency(&finding, each)
	finding.Evidence = serialEvidence(input, ops, queue, serial, writing)
	return finding, true
}

// cappedInStall is the share of the stalled time at a device's limit above which clients wait for
// the limit, not for the latency of one request after the other.
const cappedInStall = 0.1

// capped reports whether a device is at a limit while clients stall or, if nothing stalls, at any
// time. Then raising the limit does help.
func capped(c *rules.Case, dev string) bool {
	if full, _ := c.SaturatedDevice(dev); rules.Share(full, c.Stall.Cells) >= elsewhereShare {
		return true
	}

	for _, l := range c.Limits() {
		if l.Device != dev {
			continue
		}
		for _, p := range []*timeline.Plateau{l.IOPS, l.Throughput} {
			if p != nil && (!c.Stall.Any() || rules.Share(p.Cells, c.Stall.Cells) >= cappedInStall) {
				return true
			}
		}
	}

	return false
}

// saturatedElsewhere reports whether another device was saturated in most of the stalled time.
func saturatedElsewhere(c *rules.Case, dev string) bool {
	below := c.JudgedBelow()
	for _, t := range c.Signal(rules.DiskBusy) {
		other := t.Labels.Get("device")
		if full, _ := c.SaturatedDevice(other); other != dev && !below[other] &&
			rules.Share(full, c.Stall.Cells) >= elsewhereShare {
			return true
		}
	}
	return false
}

// question weakens the refutation if a cap may set the rate: more IOPS may then be exactly what
// helps.
func question(f *rules.Finding, words string, v rules.Values) {
	f.Kind, f.Severity = rules.Symptom, rules.Info
	f.Entitle(words+" title", v)
	f.Say(words, v)
	f.Advise(words, v)
}

// lowerLatency advises what helps a serial writer.
func lowerLatency(f *rules.Finding, each float64) {
	f.Advise("batch", nil)
	f.Advise("latency", rules.Values{"each": rules.Seconds(each)})
	f.Advise("preallocate", nil)
}

func serialEvidence(c *rules.Case, ops, queue []float64, serial, writing timeline.Mask) []rules.Evidence {
	rate, q := timeline.Quantile(timeline.At(ops, serial), 0.5),
		timeline.Quantile(timeline.At(queue, serial), 0.5)
	deep := timeline.Where(queue, func(x float64) bool { return x > deepQueue })
	out := []rules.Evidence{
		c.Figure("median requests completed", rules.DiskOps, rate, "1/s", serial),
		c.Figure(
			"most requests completed in one interval",
			rules.DiskOps,
			timeline.Max(ops),
			"1/s",
			timeline.Known(ops),
		),
		c.Figure("median queue while writing", rules.DiskQueue, q, "requests", serial),
		c.Figure("share of the writing time with a queue over 2", rules.DiskQueue, rules.Share(deep, writing),
			"ratio", writing),
		c.Figure("latency of a request, by Little's law (queue / rate)", nil, q/rate, "seconds", serial),
	}

	for _, e := range c.Pack.Engines() {
		if e.Log.Serial != nil {
			out = append(out, e.Log.Serial(&c.Signals, serial)...)
		}
	}

	return out
}

// inFlight is how many requests are in flight while the device is busy, median.
func inFlight(queue, busy []float64, m timeline.Mask) float64 {
	return timeline.Quantile(timeline.At(rules.Ratio(queue, busy), m), 0.5)
}

// pinned reports whether a serial writer's rate varies so little that a cap may set it: the rate is
// never exceeded, and EBS, if it reports, does not show that no volume was over its limit.
func pinned(sig *rules.Signals, ops, busy []float64, serial timeline.Mask) bool {
	in := timeline.At(ops, serial)
	if timeline.Count(in) < pinnedCells {
		return false
	}

	if busy != nil && timeline.Quantile(timeline.At(busy, serial), 0.5) < pinnedBusy {
		return false
	}

	rate, step := timeline.Quantile(in, 0.5), sig.Grid.StepSeconds()

	// The bound is what n independent latencies would vary by, plus the sampler's own jitter.
	spread := (timeline.Quantile(in, 0.95) - timeline.Quantile(in, 0.05)) / rate
	if spread > pinnedSpread*pinnedCV/math.Sqrt(rate*step)+pinnedJitter/step {
		return false
	}

	if timeline.Max(ops) > pinnedPassed*rate {
		return false
	}

	return mayExceed(sig, serial, timeline.Max, exceededShare)
}

// mayExceed reports whether a statistic of the time that EBS counted over a volume's IOPS limit is above
// some share. Without EBS's figures it may be.
func mayExceed(sig *rules.Signals, serial timeline.Mask, of func([]float64) float64, share float64) bool {
	exceeded := sig.Signal(rules.EBSVolumeIOPSExceeded)
	return len(exceeded) == 0 || slices.ContainsFunc(exceeded,
		func(t timeline.Track) bool { return of(timeline.At(t.Values, serial)) > share })
}

// passes reports whether the rate often exceeds a cap of the given size. Then there is no such cap:
// a cap holds in every interval.
func passes(ops []float64, serial timeline.Mask, limit float64) bool {
	in := timeline.At(ops, serial)
	return timeline.Count(in) >= pinnedCells && timeline.Quantile(in, 0.9) > pinnedPassed*limit
}

// pacedShare is the share of a serial writer's time over a limit, below which the limit does not
// cause its latency: otherwise it would be over the limit all the time.
const pacedShare = 0.2
