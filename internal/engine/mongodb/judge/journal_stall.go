package judge

import (
	"math"
	"slices"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A journal sync of slowSyncS or more is slow: on a flash volume it takes about a millisecond. A single
// slow sync among many quick ones is hidden in an interval's mean. It shows as the time spent in syncs
// beyond what the same number of usual syncs would take.
const (
	slowSyncS        = 0.050
	excessSyncS      = 0.5  // seconds of an interval
	excessSyncShare  = 0.05 // of the interval
	syncOnShare      = 0.3  // of a cell in which a slow sync was in progress
	minJournalCover  = 0.5  // of the stalled time, if there is no other time to compare with
	flushedElsewhere = 2.0  // times the bytes that WiredTiger handed to the OS
	mostlyCheckpoint = 0.7
	seldomCheckpoint = 0.3
)

// Rules that findings refer to.
const (
	backlogRule  = "host/writeback-backlog"
	degradedRule = "disk/degraded"
	journalRule  = "wiredtiger/journal-stall"
)

func journalStall() rules.Rule {
	rule := rules.Rule{ID: journalRule,
		Title: "The journal's fdatasync stalls", Kind: rules.Cause,
		Storage: true,
		When:    "plimsoll:wt_log_sync:seconds > 0.05",
		Needs:   []*rules.Signal{LogSyncTime, LogSyncs},
		Cause:   "A write that waits for the journal waits for its fdatasync, and these run one at a time. The sync itself is a few kilobytes; it is slow because the volume's queue is full of something else: page cache that the OS flushes, or a checkpoint's writes.",
		Words:   journalWords, Advice: journalAdvice}

	rule.Judge = func(input *rules.Case, _ []timeline.Track) []rules.Finding {
		each := input.One(LogSync)
		if !input.Stall.Any() || each == nil { // nil: nothing was synced
			return nil
		}

		on, slow := slowJournalSyncs(&input.Signals)
		fraction, pIn, pOut := input.Attributable(on)
		cover := rules.Share(on, input.Stall.Cells)

		// Without other time to compare with, covering half of the stalled time is enough, except for batches:
		// they do not wait for the journal, so a coincidence shows nothing.
		compared := input.Contrasts(on) && fraction >= rules.MinAttributable && pIn >= rules.StallRatio*pOut
		if !compared && (cover < minJournalCover || input.Contrasts(on) || input.Stall.Class == Applying) {
			return nil
		}

		finding := rule.Finding("wiredtiger journal")
		finding.Weight = fraction
		if !compared {
			finding.Weight = cover / 2 // coincidence alone is weaker evidence
		}

		finding.Severity = input.SeverityOf(finding.Weight)
		finding.Windows = input.Windows(on.And(input.Stall.Cells))
		finding.PeriodS = input.Period(on.Close(input.Cells(5e9)))
		calm := timeline.Quantile(timeline.At(each, input.NotStalled()), 0.5)
		longest := longestSync(&input.Signals, slow)
		finding.Say("under way", rules.Values{"cover": rules.Part(cover), "longest": rules.Seconds(longest),
			"calm": rules.Seconds(calm)})

		switch apart := behind(input, on, &finding); {
		case input.Stall.Class == Applying:
			// Another thread waits for the journal and reports what is durable (4.0 and later, src/mongo/db/repl:
			// ApplyBatchFinalizerForJournal), so no change to the journal makes batches quicker.
			finding.Effect = true
			finding.Say("applier", nil)
		case apart:
			finding.Advise("own", nil)
		case input.Degraded(on.And(input.Stall.Cells)):
			// Anything on that volume waits as long, so the journal is not to blame.
			finding.Severity = rules.Info
			finding.Say("degraded", nil)
			finding.SayIf(degradedRule, "volume", nil)
		default:
			adviseApart(input, &finding)
			finding.Advise("bound", nil)
		}

		finding.Evidence = append(finding.Evidence,
			input.Figure("share of the time that stalled while a slow journal sync was in progress", LogSyncTime, pIn,
				"ratio", on),
			input.Figure("share of the time that stalled while none was", LogSyncTime, pOut, "ratio", on.Not()),
			input.Figure("longest time in journal syncs credited to one interval", LogSyncTime, longest, "seconds", slow),
			input.Figure("longest mean journal fdatasync of an interval", LogSync,
				timeline.Max(wholeSyncs(&input.Signals, each)), "seconds", slow))

		if !math.IsNaN(calm) {
			finding.Evidence = append(finding.Evidence,
				input.Figure("journal fdatasync outside the stalls, median", LogSync, calm, "seconds", input.NotStalled()))
		}

		if n := input.One(FsyncsInProgress); n != nil {
			finding.Evidence = append(finding.Evidence,
				input.Figure("fsync calls in progress while stalled, mean", FsyncsInProgress,
					timeline.Mean(timeline.At(n, input.Stall.Cells)), "", input.Stall.Cells))
		}

		return []rules.Finding{finding}
	}

	return rule
}

var journalWords = rules.Words{
	"under way": "A slow fdatasync of the journal was in progress in {{.cover}} of the stalled time, for up to {{.longest}} at a stretch{{with .calm}}; at other times one takes {{.}}{{end}}.",

	"elsewhere":     "The journal is not on {{.busiest}}, which wrote the most: that device completes fewer writes than there are syncs. Only the counters of the journal's own device would show what it waited behind.",
	"own device":    "The journal has its own device, {{.journal}} ({{.busiest}} completes fewer writes than there are syncs)",
	"own idle":      ", which was saturated in only {{.share}} of it: it did not wait in a volume's queue. The volume itself answered late, or the host was short of CPU.",
	"own saturated": ", which was saturated in {{.share}} of it.",

	"in checkpoints, not measured":      "It coincides with checkpoints; whether it waited behind a checkpoint's own writes or behind page cache the OS flushed is unknown without the device's counters.",
	"outside checkpoints, not measured": "No checkpoint ran in most of it. What it waited behind is unknown without the device's counters; usually it is page cache that the OS flushes.",
	"not measured":                      "What it waited behind is unknown without the device's counters.",

	"engine not measured": "What it waited behind is unknown without WiredTiger's own written bytes (block-manager: bytes written).",

	"applier": "Batches of the oplog do not wait for it (another thread does), but it shows that this member's storage answered late.",

	"degraded": "The volume itself was slow meanwhile: the journal waits for it like everything else.",
	"volume":   "See " + degradedRule + ".",

	"idle":               "A device was saturated in only {{.share}} of it: it did not wait in a volume's queue. The volume itself answered late, or the host was short of CPU.",
	"page cache":         "The device wrote {{.written}} meanwhile, but WiredTiger handed over only {{.handed}} in that time: the sync waited behind page cache written earlier, which the OS was flushing.",
	"backlog":            "See " + backlogRule + ".",
	"checkpoint":         "It waited behind the checkpoint's own writes.",
	"outside checkpoint": "No checkpoint ran in most of it: it waited behind eviction's writes or another user of the volume.",
	"mixed":              "It waited behind a mix of checkpoint writes and page cache flushed by the OS.",
}

var journalAdvice = map[string]rules.Advice{
	"apart": apartAdvice,
	"bound": {Summary: "Or bound the OS's dirty bytes: vm.dirty_background_bytes = the volume's bytes/s x the seconds of stall you tolerate",
		Expect:   "the storage engine alone: p99 7.9 s to 0.27 s in the same measurement; a whole mongod 5.0.7 on 1,000 IOPS and 40 MiB/s, writeback throttling on: 129 ms to 98 ms",
		TradeOff: "about 40 % more bytes to the device",
		Do:       []*rules.Remedy{rules.BoundDirtyBytes}},
	"own": {Summary: "The journal is already on its own volume: check that volume's latency, and the host's CPUs in these seconds",
		Expect: "the cause of the slow sync is found", TradeOff: "none",
		NoCommand: "the cause has to be found first"},
}

// slowJournalSyncs returns the cells in which a slow sync was in progress, and the cells it is
// credited to. An eight-second sync is credited when it ends, together with the quick ones that
// follow in the same second; it reaches back to the first credited second.
func slowJournalSyncs(sig *rules.Signals) (on, credited timeline.Mask) {
	credit, each, syncs := sig.One(LogSyncTime), sig.One(LogSync), sig.One(LogSyncs)
	interval := sig.ResolutionS(LogSyncTime, LogSyncs)
	usual := timeline.Quantile(each, 0.5)
	slow := make([]float64, len(credit))

	credited = make(timeline.Mask, len(credit))
	for k, x := range credit {
		slow[k] = x
		if math.IsNaN(x) {
			continue
		}

		// Against the median sync, because the mean of a busy interval hides one slow sync.
		excess := 0.0
		if k < len(syncs) && !math.IsNaN(syncs[k]) && !math.IsNaN(usual) {
			excess = x - syncs[k]*usual
		}

		credited[k] = each[k] >= slowSyncS || excess*interval >= excessSyncS && excess >= excessSyncShare

		// Quick syncs must not reach back into the time before them.
		if !credited[k] {
			slow[k] = 0
		}
	}

	least := sig.LeastOfCell(syncOnShare, LogSyncTime)
	return timeline.Where(sig.Credited(slow), func(x float64) bool { return x >= least }), credited
}

// wholeSyncs is the mean duration of the syncs that ended in a cell, for cells with at least half a
// sync. A sample that spans two cells can leave a twentieth of a sync in one of them, while the
// server counted its time a sample earlier.
func wholeSyncs(sig *rules.Signals, each []float64) []float64 {
	syncs, interval := sig.One(LogSyncs), sig.ResolutionS(LogSyncs)
	out := slices.Clone(each)
	for k := range out {
		if k < len(syncs) && syncs[k]*interval < 0.5 {
			out[k] = math.NaN()
		}
	}
	return out
}

// longestSync is the most sync time credited to one interval. It is an upper bound for the longest
// sync, and if it exceeds a cell's length, it is nearly that sync alone.
func longestSync(sig *rules.Signals, slow timeline.Mask) float64 {
	credit := sig.One(LogSyncTime)
	longest := timeline.Max(timeline.At(credit, slow)) * sig.ResolutionS(LogSyncTime)
	// A late sample spreads its seconds over several cells, up to one second in each.
	for _, e := range timeline.Where(credit, func(x float64) bool { return x >= 0.99 }).Episodes() {
		longest = max(longest, timeline.Sum(credit[e.First:e.Last+1])*sig.Grid.StepSeconds())
	}
	return longest
}

// behind adds what blocked the journal, if the recording shows it, and reports whether the journal is
// on its own volume.
func behind(input *rules.Case, on timeline.Mask, finding *rules.Finding) (apart bool) {
	ckpt, known := CheckpointCells(&input.Signals)
	inCkpt := 0.0
	if known {
		inCkpt = rules.Share(ckpt.Widen(0, 1), on)
		finding.Evidence = append(finding.Evidence,
			input.Figure("share of the slow syncs' time in which a checkpoint ran", CheckpointRunning, inCkpt,
				"ratio", on))
	}

	if busiest, journal, apart := journalApart(input); apart {
		behindApart(input, busiest, journal, on, finding)
		return true
	}

	written, wt := input.MostWritten(on), input.One(BlocksWritten)
	if written != nil && wt == nil {
		finding.Say("engine not measured", nil)
		return false
	}

	if written == nil {
		switch {
		case known && inCkpt >= mostlyCheckpoint:
			finding.Say("in checkpoints, not measured", nil)
		case known && inCkpt < seldomCheckpoint:
			finding.Say("outside checkpoints, not measured", nil)
		default:
			finding.Say("not measured", nil)
		}
		return false
	}

	// A checkpoint first hands its bytes to the OS and then syncs them. So the bytes since its
	// start belong to the syncs that wait at its end.
	span := on
	for _, e := range ckpt.Episodes() {
		m := timeline.MaskOf(input.Grid.N, []timeline.Episode{e})
		if m.Widen(0, 1).And(on).Count() > 0 {
			span = span.Or(m)
		}
	}

	step := input.Grid.StepSeconds()
	toDevice := timeline.Sum(timeline.At(written, span)) * step
	handed := timeline.Sum(timeline.At(wt, span)) * step
	handed += timeline.Sum(timeline.At(input.One(LogPayload), span)) * step
	finding.Evidence = append(finding.Evidence,
		input.Figure("written to the device from the start of these checkpoints or syncs to their end",
			rules.DiskWritten, toDevice, "bytes", span),
		input.Figure("handed to the OS by WiredTiger meanwhile", BlocksWritten, handed, "bytes", span))

	// An idle device contradicts any queue, whatever the byte counts suggest.
	if share, ok := input.QueuedShare(on); ok && share < rules.IdleSaturation {
		finding.Say("idle", rules.Values{"share": rules.Part(share)})
		return false
	}

	switch {
	// The engine's own writes explain too few of the device's bytes.
	case toDevice > flushedElsewhere*handed:
		finding.Say("page cache", rules.Values{"written": rules.Bytes(toDevice), "handed": rules.Bytes(handed)})
		finding.SayIf(backlogRule, "backlog", nil)
	case known && inCkpt >= mostlyCheckpoint:
		finding.Say("checkpoint", nil)
	case known && inCkpt < seldomCheckpoint:
		finding.Say("outside checkpoint", nil)
	default:
		finding.Say("mixed", nil)
	}

	return false
}
