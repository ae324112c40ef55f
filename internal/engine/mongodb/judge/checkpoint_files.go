package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A checkpoint fsyncs its files one after the other, so its length is the number of files times the
// latency of one fsync, whatever the files hold. It is bound by the number of files if there are
// many, if its time goes into the fsyncs, and if the device is far from any limit meanwhile.
const (
	manyFiles   = 100.0
	filesLeastS = 2.0
	filesFsync  = 0.4 // of the checkpoint's length
	// A flush takes 0.2 to 50 ms. A file that takes longer is limited by its content.
	filesEachLow, filesEachHigh = 0.0002, 0.05
	// Requests in flight, median, at most: one fsync at a time writes little concurrently.
	filesQueue = 4.0
	filesBytes = 64 << 10 // written per file, at most: above that, the bytes take the time
	filesAlike = 1.25
	filesVary  = 2.0
)

func checkpointFiles() rules.Rule {
	rule := rules.Rule{ID: "wiredtiger/checkpoint-files",
		Title: "Checkpoints are bound by the number of files, not by the volume", Kind: rules.Cause, Storage: true,
		When:    "plimsoll:wt_checkpoint_running:bool > 0",
		Needs:   []*rules.Signal{},
		AnyOf:   []*rules.Signal{CheckpointHandles, Fsyncs},
		NoAlert: "its condition is that a checkpoint runs, which is not a fault",
		Cause:   "Each collection and each index is a file. A checkpoint writes those that changed and fsyncs them one after the other, so it takes the number of files times the latency of one fsync, however much they hold. A volume with more IOPS or throughput takes just as long for each fsync.",
		Words: rules.Words{
			"files": "A checkpoint takes {{.took}} and fsyncs {{.files}} files, {{.each}} each{{with .share}}; the fsyncs take {{.}} of it{{end}}.",
			"stall": "{{.share}} of the stalled time falls into them.",
			"alike": "The bytes of a checkpoint vary by a factor of {{.bytes}}, its length by a factor of only {{.length}}.",
			"far":   "The volume does {{.ops}} and {{.moved}} meanwhile, with {{.queue}} requests in flight: more IOPS or throughput would not help.",
			"of":    "It reached {{.ops}} and {{.moved}} at other times: the checkpoint uses {{.opsPart}} of these requests and {{.movedPart}} of these bytes.",
			"open":  "{{.handles}} collections and indexes are open.",
		},
		Advice: map[string]rules.Advice{
			"fewer": {Summary: "Make fewer files change: drop indexes that are not used and collections that are empty, and keep tenants or days in one collection by a field, not in one collection each",
				Expect:    "a checkpoint's length falls with the number of files that changed since the last",
				TradeOff:  "a migration of the data model",
				NoCommand: "only you know which indexes and collections can go"},
			"latency": {Summary: "Use a volume with a lower flush latency (io2 Block Express, local NVMe)",
				Expect:    "the same number of fsyncs, each faster in proportion to the latency",
				TradeOff:  "io2: USD 0.125 per GB and 0.065 per IOPS a month; local NVMe is lost with the instance",
				NoCommand: "moving the data to another kind of volume means a new member: plimsoll plan and emit write the steps"},
			"spread": {Summary: "Spread the collections over more shards or servers",
				Expect: "each checkpoints its own part of the files", TradeOff: "more servers",
				NoCommand: "it changes the cluster's layout"},
			"do not buy": {Summary: "Do not buy IOPS, throughput or a larger volume for this",
				Expect: "no change: they would not be used", TradeOff: "none; it saves money",
				NoCommand: "there is nothing to do"},
		}}

	rule.Judge = func(input *rules.Case, _ []timeline.Track) []rules.Finding {
		running, ok := CheckpointCells(&input.Signals)
		if !ok || running.Count() == 0 {
			return nil
		}

		b, ok := boundByFiles(input, running)
		if !ok {
			return nil
		}

		f := rule.Finding("wiredtiger")
		near := input.WithAftermath(running)
		fraction, _, _ := input.Attributable(near)

		// Stalls that meet checkpoints only by chance give the finding no weight.
		if input.MeetsByChance(near) {
			fraction = 0
		}

		f.Weight = fraction
		f.Severity = input.SeverityIn(near, fraction)
		f.Windows = input.Windows(running)
		f.PeriodS = input.Period(running)
		f.Foremost = input.Stall.Any() && fraction >= rules.MinAttributable
		b.say(input, &f, running, near)
		f.Advise("do not buy", nil)
		f.Advise("fewer", nil)
		f.Advise("latency", nil)
		f.Advise("spread", nil)

		return []rules.Finding{f}
	}

	return rule
}

// A filesBound is the evidence that the number of files bounds a checkpoint.
type filesBound struct {
	files, tookS, fsyncS, bytes float64 // of a checkpoint, medians
	device                      string
	ops, moved, queue           float64 // of the device during checkpoints, medians
	canOps, canMove             float64 // highest at any time
	lengthVaries, bytesVary     float64 // 90th over 10th percentile; 1 with a single checkpoint
}

func boundByFiles(input *rules.Case, running timeline.Mask) (filesBound, bool) {
	bound := filesBound{tookS: math.NaN(),
		fsyncS: timeline.Quantile(timeline.At(input.One(CheckpointFsync), running), 0.5)}
	step := input.Grid.StepSeconds()
	eps := running.Episodes()
	bound.tookS = timeline.Quantile(input.One(CheckpointLast), 0.5)

	// Older versions do not report the last checkpoint's length; its cells show it to within one sample.
	if math.IsNaN(bound.tookS) {
		bound.tookS = float64(running.Count()) / float64(len(eps)) * step
	}

	bound.files = timeline.Quantile(input.One(CheckpointHandles), 0.5)
	if syncs := input.One(Fsyncs); !(bound.files > 0) && syncs != nil {
		// The journal's fsyncs continue during a checkpoint at their usual rate; subtract them.
		in, out := timeline.Mean(timeline.At(syncs, running)),
			timeline.Quantile(timeline.At(syncs, running.Not()), 0.5)
		bound.files = (in - out) * bound.tookS
	}

	bound.bytes = timeline.Sum(input.One(CheckpointWritten)) * step / float64(len(eps))

	// Negated comparisons also reject NaN, which a missing counter gives.
	each := bound.tookS / bound.files
	if !(bound.files >= manyFiles) || !(bound.tookS >= filesLeastS) || each < filesEachLow ||
		each > filesEachHigh ||
		bound.bytes/bound.files > filesBytes {
		return bound, false
	}

	// Most of the time goes elsewhere, so faster fsyncs would not shorten it.
	if bound.fsyncS > 0 && bound.fsyncS < filesFsync*bound.tookS {
		return bound, false
	}

	bound.vary(input, eps)

	// The device that is written most must be far from its limits, with little in flight.
	most := -1.0
	for _, t := range input.Signal(rules.DiskOps) {
		dev := t.Labels.Get("device")
		moved, queue := input.For(rules.DiskMoved, "device", dev), input.For(rules.DiskQueue, "device", dev)
		if x := timeline.Sum(timeline.At(moved, running)); x > most && queue != nil {
			most, bound.device = x, dev
			bound.ops, bound.moved, bound.queue = timeline.Quantile(timeline.At(t.Values, running), 0.5),
				timeline.Quantile(timeline.At(moved, running), 0.5), timeline.Quantile(timeline.At(queue, running), 0.5)
			bound.canOps, bound.canMove = timeline.Quantile(t.Values, 1), timeline.Quantile(moved, 1)
		}
	}

	// A limit that binds in a fifth of the checkpoints' time is a simpler explanation.
	if bound.device != "" {
		for _, l := range input.Limits() {
			at := func(p *timeline.Plateau) bool { return p != nil && rules.Share(p.Cells, running) > 0.2 }
			if l.Device == bound.device && (at(l.IOPS) || at(l.Throughput)) {
				return bound, false
			}
		}
		return bound, bound.queue <= filesQueue
	}

	// Without a device's counters, the split of the checkpoint's time must show it, or its length
	// must not follow the bytes.
	return bound, bound.fsyncS > 0 || bound.lengthVaries <= filesAlike && bound.bytesVary >= filesVary
}

// vary measures how much checkpoints differ in length and in bytes.
func (b *filesBound) vary(c *rules.Case, eps []timeline.Episode) {
	b.lengthVaries, b.bytesVary = 1, 1
	written := c.One(CheckpointWritten)
	if written == nil || len(eps) < 2 {
		return
	}

	var lengths, bytes []float64
	for i, e := range eps {
		// An episode at either end of the recording is incomplete.
		if i == 0 && e.First == 0 || i == len(eps)-1 && e.Last == c.Grid.N-1 {
			continue
		}
		lengths = append(lengths, float64(e.Cells()))
		// The bytes are credited up to a sample after the checkpoint ended.
		bytes = append(bytes, timeline.Sum(written[e.First:min(e.Last+2, len(written))]))
	}

	if len(lengths) >= 2 {
		b.lengthVaries = timeline.Quantile(lengths, 0.9) / timeline.Quantile(lengths, 0.1)
		b.bytesVary = timeline.Quantile(bytes, 0.9) / timeline.Quantile(bytes, 0.1)
	}
}

func (b *filesBound) say(input *rules.Case, finding *rules.Finding, running, near timeline.Mask) {
	v := rules.Values{"took": rules.Seconds(b.tookS), "files": rules.Number(math.Round(b.files)),
		"each": rules.Seconds(b.tookS / b.files), "share": ""}
	if b.fsyncS > 0 {
		v["share"] = rules.Part(min(1, b.fsyncS/b.tookS))
	}

	finding.Say("files", v)
	if input.Stall.Any() {
		finding.Say("stall", rules.Values{"share": rules.Part(rules.Share(near, input.Stall.Cells))})
	}

	if b.bytesVary >= filesVary && b.lengthVaries <= filesAlike {
		finding.Say("alike", rules.Values{"bytes": rules.Number(b.bytesVary),
			"length": rules.Number(b.lengthVaries)})
	}

	finding.Evidence = append(finding.Evidence,
		input.Figure("files that a checkpoint writes, median", CheckpointHandles, b.files, "", running),
		input.Figure("length of a checkpoint, median", CheckpointLast, b.tookS, "seconds", running),
		input.Figure("length of its fsyncs, median", CheckpointFsync, b.fsyncS, "seconds", running),
		input.Figure("bytes written for a checkpoint, mean", CheckpointWritten, b.bytes, "bytes", running))

	if b.device != "" {
		far := rules.Values{"ops": rules.Of(b.ops, "IOPS"), "moved": rules.Of(b.moved, "bytes/s"),
			"queue": rules.Number(b.queue)}
		finding.Say("far", far)
		if b.canOps > b.ops*filesAlike && b.canMove > b.moved*filesAlike {
			finding.Say("of", rules.Values{"ops": rules.Of(b.canOps, "IOPS"), "moved": rules.Of(b.canMove, "bytes/s"),
				"opsPart": rules.Part(b.ops / b.canOps), "movedPart": rules.Part(b.moved / b.canMove)})
		}

		finding.Evidence = append(finding.Evidence,
			input.Figure("requests of "+b.device+" during checkpoints, median", rules.DiskOps, b.ops, "1/s", running),
			input.Figure("bytes moved by "+b.device+" during checkpoints, median", rules.DiskMoved, b.moved,
				"bytes/s", running),
			input.Figure("in flight meanwhile, median", rules.DiskQueue, b.queue, "requests", running))
	}

	if n := timeline.Quantile(input.One(DataHandles), 0.5); n > 0 {
		finding.Say("open", rules.Values{"handles": rules.Number(n)})
	}
}
