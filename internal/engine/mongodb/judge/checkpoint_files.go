package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A checkpoint fsyncs its files one after the other, so its length is their number times the latency
// of an fsync, whatever they hold. It is bound by them if there are many, if the time is in the
// fsyncs, and if the device is far from any limit meanwhile.
const (
	manyFiles   = 100.0
	filesLeastS = 2.0
	filesFsync  = 0.4 // of the checkpoint's length
	// filesEachS bounds a file's share of the checkpoint: a flush takes 0.2 to 50 ms. Longer ones
	// write what the files hold.
	filesEachLow, filesEachHigh = 0.0002, 0.05
	// in flight at most, median: one fsync at a time writes little at once
	filesQueue = 4.0
	filesBytes = 64 << 10 // written a file, at most: more is what takes the time
	filesAlike = 1.25
	filesVary  = 2.0
)

func checkpointFiles() rules.Rule {
	r := rules.Rule{ID: "wiredtiger/checkpoint-files",
		Title: "Checkpoints are bound by the number of files, not by the volume", Kind: rules.Cause,
		When:    "plimsoll:wt_checkpoint_running:bool > 0",
		Needs:   []*rules.Signal{},
		AnyOf:   []*rules.Signal{CheckpointHandles, Fsyncs},
		NoAlert: "its condition is that a checkpoint runs, which is no fault",
		Cause:   "Each collection and each index is a file. A checkpoint writes those that changed and fsyncs them one after the other, so it takes their number times the latency of one fsync, whether they hold much or little. A volume with more IOPS or more throughput does each fsync in the same time.",
		Words: rules.Words{
			"files": "A checkpoint takes {{.took}} and fsyncs {{.files}} files in it, {{.each}} each{{with .share}}; {{.}} of it is in the fsyncs{{end}}.",
			"stall": "{{.share}} of the stalled time falls into them.",
			"alike": "The bytes of a checkpoint vary by {{.bytes}} times, and its length by only {{.length}}.",
			"far":   "The volume does {{.ops}} and {{.moved}} meanwhile, with {{.queue}} requests in flight: more IOPS or throughput buys nothing.",
			"of":    "It did {{.ops}} and {{.moved}} at other times: the checkpoint uses {{.opsPart}} of these requests and {{.movedPart}} of these bytes.",
			"open":  "{{.handles}} collections and indexes are open.",
		},
		Advice: map[string]rules.Advice{
			"fewer": {Summary: "Make fewer files change: drop indexes that are not used and collections that are empty, and keep tenants or days in one collection by a field, not in one collection each",
				Expect:    "a checkpoint's length falls with the number of files that changed since the last",
				TradeOff:  "a migration of the data model",
				NoCommand: "which indexes and collections can go, only you can say"},
			"latency": {Summary: "Use a volume with a lower latency of a flush (io2 Block Express, local NVMe)",
				Expect:    "the same number of fsyncs, each in the ratio of the latencies",
				TradeOff:  "io2: USD 0.125 per GB and 0.065 per IOPS a month; local NVMe is lost with the instance",
				NoCommand: "data on another kind of volume is a new member: plimsoll plan and emit write the steps"},
			"spread": {Summary: "Spread the collections over more shards or servers",
				Expect: "each checkpoints its part of the files", TradeOff: "more servers",
				NoCommand: "it is a new layout of the cluster"},
			"do not buy": {Summary: "Do not buy IOPS, throughput or a larger volume for this",
				Expect: "no change: they are not used", TradeOff: "none; it saves money",
				NoCommand: "there is nothing to do"},
		}}

	r.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		running, ok := CheckpointCells(&c.Signals)
		if !ok || running.Count() == 0 {
			return nil
		}

		b, ok := boundByFiles(c, running)
		if !ok {
			return nil
		}

		f := r.Finding("wiredtiger")
		near := c.WithAftermath(running)
		fraction, _, _ := c.Attributable(near)

		if c.MeetsByChance(near) {
			fraction = 0
		}

		f.Weight = fraction
		f.Severity = c.SeverityIn(near, fraction)
		f.Windows = c.Windows(running)
		f.PeriodS = c.Period(running)
		f.Foremost = c.Stall.Any() && fraction >= rules.MinAttributable
		b.say(c, &f, running, near)
		f.Advise("do not buy", nil)
		f.Advise("fewer", nil)
		f.Advise("latency", nil)
		f.Advise("spread", nil)

		return []rules.Finding{f}
	}

	return r
}

// A filesBound is what binds a checkpoint to its number of files.
type filesBound struct {
	files, tookS, fsyncS, bytes float64 // of a checkpoint, medians
	device                      string
	ops, moved, queue           float64 // of the device while checkpoints run, medians
	canOps, canMove             float64 // most at other times
	lengthVaries, bytesVary     float64 // highest over lowest; 1 of one checkpoint
}

func boundByFiles(c *rules.Case, running timeline.Mask) (filesBound, bool) {
	b := filesBound{tookS: math.NaN(),
		fsyncS: timeline.Quantile(timeline.At(c.One(CheckpointFsync), running), 0.5)}
	step := c.Grid.StepSeconds()
	eps := running.Episodes()
	b.tookS = timeline.Quantile(c.One(CheckpointLast), 0.5)

	if math.IsNaN(b.tookS) {
		b.tookS = float64(running.Count()) / float64(len(eps)) * step
	}

	b.files = timeline.Quantile(c.One(CheckpointHandles), 0.5)
	if syncs := c.One(Fsyncs); !(b.files > 0) && syncs != nil {
		// The journal's own are not the checkpoint's: what they are otherwise goes on meanwhile.
		in, out := timeline.Mean(timeline.At(syncs, running)),
			timeline.Quantile(timeline.At(syncs, running.Not()), 0.5)
		b.files = (in - out) * b.tookS
	}

	b.bytes = timeline.Sum(c.One(CheckpointWritten)) * step / float64(len(eps))
	each := b.tookS / b.files
	if !(b.files >= manyFiles) || !(b.tookS >= filesLeastS) || each < filesEachLow || each > filesEachHigh ||
		b.bytes/b.files > filesBytes {
		return b, false
	}

	if b.fsyncS > 0 && b.fsyncS < filesFsync*b.tookS {
		return b, false
	}

	b.vary(c, eps)

	// The device that is written to most must be far from a limit, with little in flight.
	most := -1.0
	for _, t := range c.Signal(rules.DiskOps) {
		dev := t.Labels.Get("device")
		moved, queue := c.For(rules.DiskMoved, "device", dev), c.For(rules.DiskQueue, "device", dev)
		if x := timeline.Sum(timeline.At(moved, running)); x > most && queue != nil {
			most, b.device = x, dev
			b.ops, b.moved, b.queue = timeline.Quantile(timeline.At(t.Values, running), 0.5),
				timeline.Quantile(timeline.At(moved, running), 0.5), timeline.Quantile(timeline.At(queue, running), 0.5)
			b.canOps, b.canMove = timeline.Quantile(t.Values, 1), timeline.Quantile(moved, 1)
		}
	}

	if b.device != "" {
		for _, l := range c.Limits() {
			at := func(p *timeline.Plateau) bool { return p != nil && rules.Share(p.Cells, running) > 0.2 }
			if l.Device == b.device && (at(l.IOPS) || at(l.Throughput)) {
				return b, false
			}
		}
		return b, b.queue <= filesQueue
	}

	// Without a device, only the counters' own division of the time decides.
	return b, b.fsyncS > 0 || b.lengthVaries <= filesAlike && b.bytesVary >= filesVary
}

// vary is by how much checkpoints differ in length and in bytes.
func (b *filesBound) vary(c *rules.Case, eps []timeline.Episode) {
	b.lengthVaries, b.bytesVary = 1, 1
	written := c.One(CheckpointWritten)
	if written == nil || len(eps) < 2 {
		return
	}

	var lengths, bytes []float64
	for i, e := range eps {
		if i == 0 && e.First == 0 || i == len(eps)-1 && e.Last == c.Grid.N-1 {
			continue // cut off
		}
		lengths = append(lengths, float64(e.Cells()))
		bytes = append(bytes, timeline.Sum(written[e.First:min(e.Last+2, len(written))]))
	}

	if len(lengths) >= 2 {
		b.lengthVaries = timeline.Quantile(lengths, 0.9) / timeline.Quantile(lengths, 0.1)
		b.bytesVary = timeline.Quantile(bytes, 0.9) / timeline.Quantile(bytes, 0.1)
	}
}

func (b *filesBound) say(c *rules.Case, f *rules.Finding, running, near timeline.Mask) {
	v := rules.Values{"took": rules.Seconds(b.tookS), "files": rules.Number(math.Round(b.files)),
		"each": rules.Seconds(b.tookS / b.files), "share": ""}
	if b.fsyncS > 0 {
		v["share"] = rules.Part(min(1, b.fsyncS/b.tookS))
	}

	f.Say("files", v)
	if c.Stall.Any() {
		f.Say("stall", rules.Values{"share": rules.Part(rules.Share(near, c.Stall.Cells))})
	}

	if b.bytesVary >= filesVary && b.lengthVaries <= filesAlike {
		f.Say("alike", rules.Values{"bytes": rules.Number(b.bytesVary), "length": rules.Number(b.lengthVaries)})
	}

	f.Evidence = append(f.Evidence,
		c.Figure("files that a checkpoint writes, median", CheckpointHandles, b.files, "", running),
		c.Figure("length of a checkpoint, median", CheckpointLast, b.tookS, "seconds", running),
		c.Figure("length of its fsyncs, median", CheckpointFsync, b.fsyncS, "seconds", running),
		c.Figure("bytes written for a checkpoint, mean", CheckpointWritten, b.bytes, "bytes", running))

	if b.device != "" {
		far := rules.Values{"ops": rules.Of(b.ops, "IOPS"), "moved": rules.Of(b.moved, "bytes/s"),
			"queue": rules.Number(b.queue)}
		f.Say("far", far)
		if b.canOps > b.ops*filesAlike && b.canMove > b.moved*filesAlike {
			f.Say("of", rules.Values{"ops": rules.Of(b.canOps, "IOPS"), "moved": rules.Of(b.canMove, "bytes/s"),
				"opsPart": rules.Part(b.ops / b.canOps), "movedPart": rules.Part(b.moved / b.canMove)})
		}

		f.Evidence = append(f.Evidence,
			c.Figure("requests of "+b.device+" while checkpoints run, median", rules.DiskOps, b.ops, "1/s", running),
			c.Figure("bytes moved by "+b.device+" while checkpoints run, median", rules.DiskMoved, b.moved,
				"bytes/s", running),
			c.Figure("in flight meanwhile, median", rules.DiskQueue, b.queue, "requests", running))
	}

	if n := timeline.Quantile(c.One(DataHandles), 0.5); n > 0 {
		f.Say("open", rules.Values{"handles": rules.Number(n)})
	}
}
