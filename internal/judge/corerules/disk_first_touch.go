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
func firstTouch(c *rules.Case, dev string) *touch {
	await, reads := c.For(rules.DiskReadAwait, "device", dev), c.For(rules.DiskReads, "device", dev)
	moved, queue, ops := c.For(rules.DiskMoved, "device", dev), c.For(rules.DiskQueue, "device", dev),
		c.For(rules.DiskOps, "device", dev)
	if await == nil || reads == nil || moved == nil || ops == nil {
		return nil
	}

	var cells []int
	var vals []float64

	sample := c.Signals.SampleCells(rules.DiskReadAwait)
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

	t := &touch{device: dev, first: make(timeline.Mask, c.Grid.N), later: make(timeline.Mask, c.Grid.N)}
	for i, k := range cells {
		t.first[k], t.later[k] = i < at*sample, i >= at*sample
	}

	// A short second phase counts only if it read about as much as the first one.
	if len(vals)-at < touchCells &&
		timeline.Sum(timeline.At(moved, t.later)) < touchPass*timeline.Sum(timeline.At(moved, t.first)) {
		return nil
	}

	median := func(v []float64, m timeline.Mask) float64 { return timeline.Quantile(timeline.At(v, m), 0.5) }
	t.firstS, t.thenS = median(await, t.first), median(await, t.later)
	t.firstBytes, t.thenBytes = median(moved, t.first), median(moved, t.later)

	// The two phases are distinct: hardly any later read is as slow, and hardly any first read is quick.
	if t.firstS < touchFactor*t.thenS || t.firstS < touchLeastS ||
		timeline.Quantile(timeline.At(await, t.later), 0.9) > t.firstS/2 ||
		timeline.Quantile(timeline.At(await, t.first), 0.1) < 1.5*t.thenS {
		return nil
	}

	// Larger requests, a longer queue or more writes would explain slow reads as well.
	sizes := rules.Ratio(moved, ops)
	if a, b := median(sizes, t.first), median(sizes, t.later); a > touchAlike*b || b > touchAlike*a {
		return nil
	}
	if median(queue, t.first) > touchQueue {
		return nil
	}

	writes := c.For(rules.DiskWrites, "device", dev)
	if w := median(writes, t.first); w > 1 && w > touchContends*median(writes, t.later) {
		return nil
	}

	// Random reads hit more and more blocks that are already there; a sequential scan just gets
	// faster.
	t.declined = declines(vals) <= touchDecline
	if !t.declined && median(reads, t.later) < touchFaster*median(reads, t.first) {
		return nil
	}

	return t
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
	r := rules.Rule{ID: "disk/first-touch",
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

	r.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		var out []rules.Finding
		for _, d := range c.Signal(rules.DiskReads) {
			t := firstTouch(c, d.Labels.Get("device"))
			if t == nil {
				continue
			}

			f := r.Finding(t.device)
			f.Severity, f.Foremost = rules.Warning, true
			f.Weight = rules.Share(t.first, c.Stall.Cells)

			if !c.Stall.Any() {
				f.Weight = rules.Share(t.first, t.first.Or(t.later))
			}

			f.Windows = c.Windows(t.first.Close(3))
			v := rules.Values{
				"device": rules.Called(t.device),
				"first":  rules.Seconds(t.firstS),
				"then":   rules.Seconds(t.thenS),
				"firstBytes": rules.Of(
					t.firstBytes,
					"bytes/s",
				),
				"thenBytes": rules.Of(t.thenBytes, "bytes/s"),
				"times":     rules.Number(t.firstS / t.thenS),
			}
			f.Say("slow", v)

			if t.declined {
				f.Say("declined", nil)
			}

			f.Say("guess", nil)
			f.Evidence = []rules.Evidence{
				c.Figure("median await of the first reads", rules.DiskReadAwait, t.firstS, "seconds", t.first),
				c.Figure("median await of the later reads", rules.DiskReadAwait, t.thenS, "seconds", t.later),
				c.Figure("bytes moved meanwhile, median", rules.DiskMoved, t.firstBytes, "bytes/s", t.first),
				c.Figure("bytes moved later, median", rules.DiskMoved, t.thenBytes, "bytes/s", t.later),
			}

			f.Advise("initialize", v)
			f.Advise("do not buy", nil)
			out = append(out, f)
		}

		return out
	}

	return r
}
