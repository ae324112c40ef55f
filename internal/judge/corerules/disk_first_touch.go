package corerules

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// Blocks of a volume created from a snapshot are fetched when they are first read. A scan of such a
// volume is slow once, and many times as fast the second time.
const (
	touchReads    = 5.0   // a second: the device is read from
	touchFactor   = 4.0   // the first reads take this many times as long
	touchLeastS   = 0.002 // and at least this long: flash answers in less
	touchFaster   = 3.0   // later, a scan is this many times as fast
	touchCells    = 3     // minimum samples on either side
	touchPass     = 0.5   // of the first reads' bytes, if fewer samples follow
	touchDecline  = -0.8  // rank correlation of await with time, for random reads over the volume
	touchQueue    = 8.0   // with more in flight, requests wait in the queue
	touchAlike    = 2.0   // request sizes may differ by this factor
	touchContends = 1.5   // times the later writes: more writes would be the cause
)

// touch is a device whose first reads were slow.
type touch struct {
	device        string
	first, later  timeline.Mask
	firstS, thenS float64 // median await
	firstBytes    float64 // per second, median of what was moved
	thenBytes     float64
	declined      bool
}

// firstTouch compares a device's first reads with its later ones; nil if the first ones were not
// slow.
func firstTouch(input *rules.Case, dev string) *touch {
	await, reads := input.For(rules.DiskReadAwait, "device", dev), input.For(rules.DiskReads, "device", dev)
	moved, queue, ops := input.For(rules.DiskMoved, "device", dev), input.For(rules.DiskQueue, "device", dev),
		input.For(rules.DiskOps, "device", dev)
	if await == nil || reads == nil || moved == nil || ops == nil {
		return nil
	}

	var cells []int
	var vals []float64

	sample := input.Signals.SampleCells(rules.DiskReadAwait)
	for k, n := range reads {
		if n < touchReads || !(await[k] > 0) {
			continue
		}
		cells = append(cells, k)
		// The cells of one sample share one value.
		if len(cells)%sample == 0 {
			vals = append(vals, await[k])
		}
	}

	at, ok := fallAfter(vals, touchCells, 1)
	if !ok {
		return nil
	}

	touched := &touch{device: dev, first: make(timeline.Mask, input.Grid.N),
		later: make(timeline.Mask, input.Grid.N)}
	for i, k := range cells {
		touched.first[k], touched.later[k] = i < at*sample, i >= at*sample
	}

	// A short second phase counts only if it read about as much as the first one.
	if len(vals)-at < touchCells &&
		timeline.Sum(timeline.At(moved, touched.later)) <
			touchPass*timeline.Sum(timeline.At(moved, touched.first)) {
		return nil
	}

	median := func(v []float64, m timeline.Mask) float64 { return timeline.Quantile(timeline.At(v, m), 0.5) }
	touched.firstS, touched.thenS = median(await, touched.first), median(await, touched.later)
	touched.firstBytes, touched.thenBytes = median(moved, touched.first), median(moved, touched.later)

	// The two phases are distinct: hardly any later read is as slow, and hardly any first read is quick.
	if touched.firstS < touchFactor*touched.thenS || touched.firstS < touchLeastS ||
		timeline.Quantile(timeline.At(await, touched.later), 0.9) > touched.firstS/2 ||
		timeline.Quantile(timeline.At(await, touched.first), 0.1) < 1.5*touched.thenS {
		return nil
	}

	// Larger requests, a longer queue or more writes would explain slow reads as well.
	sizes := rules.Ratio(moved, ops)
	if a, b := median(sizes, touched.first), median(sizes, touched.later); a > touchAlike*b || b > touchAlike*a {
		return nil
	}
	if median(queue, touched.first) > touchQueue {
		return nil
	}

	writes := input.For(rules.DiskWrites, "device", dev)
	if w := median(writes, touched.first); w > 1 && w > touchContends*median(writes, touched.later) {
		return nil
	}

	// Random reads hit more and more blocks that are already there; a sequential scan just gets
	// faster.
	touched.declined = declines(vals) <= touchDecline
	if !touched.declined && median(reads, touched.later) < touchFaster*median(reads, touched.first) {
		return nil
	}

	return touched
}

// declineBlocks is how many medians a series is reduced to for its rank correlation with time.
const declineBlocks = 64

// declines returns the rank correlation of a series with time.
func declines(vals []float64) float64 {
	size := (len(vals) + declineBlocks - 1) / declineBlocks
	var blocks, order []float64
	for i := 0; i < len(vals); i += size {
		blocks = append(blocks, timeline.Quantile(vals[i:min(i+size, len(vals))], 0.5))
		order = append(order, float64(len(order)))
	}

	ranks := make([]float64, len(blocks))
	for i, x := range blocks {
		for _, o := range blocks {
			if o < x {
				ranks[i]++
			}
		}
	}

	return timeline.Correlation(ranks, order)
}

// fallAfter returns the least-squares change point at which the logarithms of positive values fall,
// with at least the given number of values before and after.
func fallAfter(vals []float64, leastBefore, leastAfter int) (at int, ok bool) {
	var total float64
	for _, x := range vals {
		total += math.Log(x)
	}

	// The gain is the reduction of the squared error, with the sign of the drop: rises never win.
	best, before, n := 0.0, 0.0, float64(len(vals))
	for i, x := range vals {
		if left := float64(i); i >= leastBefore && len(vals)-i >= leastAfter {
			drop := before/left - (total-before)/(n-left)
			if gain := drop * math.Abs(drop) * left * (n - left) / n; gain > best {
				at, best, ok = i, gain, true
			}
		}
		before += math.Log(x)
	}

	return at, ok
}

func diskFirstTouch() rules.Rule {
	rule := rules.Rule{ID: "disk/first-touch",
		Title: "The first read of each block is slow: a volume created from a snapshot",
		Kind:  rules.Cause, Whole: true,
		Needs:   []*rules.Signal{rules.DiskReadAwait, rules.DiskReads, rules.DiskMoved},
		NoAlert: "it compares a device's first reads with its later ones",
		Cause:   "A volume created from a snapshot is available immediately, but its blocks are not: each is fetched from object storage on first access, which takes tens of milliseconds. The second time it is as fast as any other. Nothing bought for the volume makes the first access faster.",
		Words: rules.Words{
			"slow":     "The first reads from {{.device}} took {{.first}} each at {{.firstBytes}}, later ones {{.then}} at {{.thenBytes}}: {{.times}} times as fast, although request size and queue were about the same.",
			"declined": "The read time fell steadily, as more and more blocks had been read before.",
			"guess":    "These figures do not show whether the volume was created from a snapshot; a volume that was slow for just that time would look the same.",
		},
		Advice: map[string]rules.Advice{
			"initialize": {Summary: "Read the whole volume once before using it (fio or dd, read-only), or create it with a VolumeInitializationRate, or with fast snapshot restore",
				Expect:    "{{.then}} per read from the start",
				TradeOff:  "one pass at about 10 to 40 MB/s if you read it yourself; fast snapshot restore costs USD 0.75 per hour and zone, an initialization rate is charged per GB",
				NoCommand: "the volume and the tool depend on how it is created"},
			"do not buy": {Summary: "Do not buy IOPS or throughput for this",
				Expect: "no change: requests do not wait for the volume's limit", TradeOff: "none; it saves money",
				NoCommand: nothingToDo},
		}}

	rule.Judge = func(input *rules.Case, _ []timeline.Track) []rules.Finding {
		var out []rules.Finding
		for _, d := range input.Signal(rules.DiskReads) {
			touched := firstTouch(input, d.Labels.Get("device"))
			if touched == nil {
				continue
			}

			finding := rule.Finding(touched.device)
			finding.Severity, finding.Foremost = rules.Warning, true
			finding.Weight = rules.Share(touched.first, input.Stall.Cells)

			if !input.Stall.Any() {
				finding.Weight = rules.Share(touched.first, touched.first.Or(touched.later))
			}

			finding.Windows = input.Windows(touched.first.Close(3))
			values := rules.Values{
				"device": rules.Called(touched.device),
				"first":  rules.Seconds(touched.firstS),
				"then":   rules.Seconds(touched.thenS),
				"firstBytes": rules.Of(
					touched.firstBytes,
					"bytes/s",
				),
				"thenBytes": rules.Of(touched.thenBytes, "bytes/s"),
				"times":     rules.Number(touched.firstS / touched.thenS),
			}
			finding.Say("slow", values)

			if touched.declined {
				finding.Say("declined", nil)
			}

			finding.Say("guess", nil)
			finding.Evidence = []rules.Evidence{
				input.Figure("median await of the first reads", rules.DiskReadAwait, touched.firstS, "seconds",
					touched.first),
				input.Figure("median await of the later reads", rules.DiskReadAwait, touched.thenS, "seconds",
					touched.later),
				input.Figure("bytes moved meanwhile, median", rules.DiskMoved, touched.firstBytes, "bytes/s",
					touched.first),
				input.Figure("bytes moved later, median", rules.DiskMoved, touched.thenBytes, "bytes/s", touched.later),
			}

			finding.Advise("initialize", values)
			finding.Advise("do not buy", nil)
			out = append(out, finding)
		}

		return out
	}

	return rule
}
