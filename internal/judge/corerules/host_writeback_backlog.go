package corerules

import (
	"fmt"
	"slices"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// An episode is a flush of the page cache if at least flushShare of what the device wrote came from
// the dirty bytes, or if writeback was in progress during most of it. A backlog under
// rules.MinBacklogBytes does not count. And the flush must have an effect: the device is saturated in
// most of the episode or, if the limit is above the device (a cgroup's), all tasks wait for I/O.
const (
	flushShare         = 0.3
	writebackBytes     = 0.5e6 // in flight: equal to a queue of 5 requests of 100 KB
	byCheckpoint       = 0.8   // share of a flush's time in checkpoints, above which they cause it
	backlogLookBackS   = 5
	minBacklogCoverage = 0.25
	feltIOFull         = 0.3
)

var backlogWords = rules.Words{
	"flushing":   "In {{.share}} of the stalled time the OS was flushing its page cache: up to {{.peak}} dirty{{with .took}}, which at the volume's {{$.rate}}/s takes {{.}} to write, and everything else waits behind it{{end}}.",
	"checkpoint": "A checkpoint's fsync causes the flush (see {{.see}}).",
	"handed":     "Only {{.stood}} of what was written was in the page cache before: the rest arrived during the flush, so bounding the backlog would shorten it only a little.",
	"too fast":   "Data arrived faster than the volume writes: even if written immediately, a backlog of up to {{.left}} of writing would remain in most of the stalled time, so bounding it would shorten the flush only a little.",
	"no room":    "There is little room to write the same bytes earlier: the load uses nearly all of the volume's capacity.",
}

var backlogAdvice = map[string]rules.Advice{
	"bound": {
		Summary: "Bound the OS's dirty bytes: vm.dirty_background_bytes = " +
			"{{with .bytes}}{{.}} ({{$.mib}} MiB: the volume's {{$.rate}}/s x {{$.tolerable}} s of tolerable stall){{else}}the volume's bytes/s x 0.5 s of tolerable stall{{end}}",
		Expect:   "the flush starts early and stays short; measured on a storage engine alone, a 3,000 IOPS volume: write p99 7.9 s to 0.27 s",
		TradeOff: "about 40 % more bytes written to the device: less coalescing", Do: []*rules.Remedy{rules.BoundDirtyBytes}},
	"apart": {Summary: "Put the journal/WAL on a separate volume",
		Expect:   "its fdatasync no longer waits behind data{{with .beside}}; that alone does not end the stall, because clients also wait for {{.}}{{else}}; in the same measurement p99 4.7 ms{{end}}",
		TradeOff: "one more volume; a snapshot of a single volume is no longer consistent; reads still wait",
		Do:       []*rules.Remedy{rules.LogApart}},
}

// dirtyLimits are the kernel's limits for dirty pages, as the host reports them.
func dirtyLimits(c *rules.Case) []rules.Evidence {
	var out []rules.Evidence
	for _, k := range []string{"vm.dirty_background_bytes", "vm.dirty_background_ratio",
		"vm.dirty_expire_centisecs"} {
		if v, ok := c.Facts[k]; ok {
			out = append(out, rules.Evidence{Text: k + " = " + v, From: c.Whole().From, To: c.Whole().To})
		}
	}
	return out
}

func hostWritebackBacklog() rules.Rule {
	rule := rules.Rule{ID: "host/writeback-backlog", Title: "The OS flushes a backlog of its page cache", Kind: rules.Cause,
		Traced: behindBuffered,
		When:   "(plimsoll:memory_dirty:bytes > 20e6 or plimsoll:memory_writeback:bytes > 20e6) and on() (max(plimsoll:disk_busy:ratio) > 0.9)",
		Needs:  []*rules.Signal{rules.MemoryDirty, rules.DiskWritten},
		Cause:  "Buffered writes (checkpoints, eviction, data files) collect in the page cache until they are 30 s old (vm.dirty_expire_centisecs), an fsync asks for them, or a share of memory is dirty, which never happens on a large host. Then they all go to the volume together, and a small fdatasync of a journal or WAL waits behind them.",
		Words:  backlogWords,
		Advice: backlogAdvice}

	rule.Judge = func(input *rules.Case, held []timeline.Track) []rules.Finding {
		dirty := input.One(rules.MemoryDirty)
		writeback := input.One(rules.MemoryWriteback)
		written := input.MostWritten(input.Stall.Cells)

		episodes := backlogEpisodes(input, dirty, writeback, written)
		if episodes.cells.Count() == 0 || input.Unrelated(episodes.everywhere) {
			return nil
		}

		share := rules.Share(episodes.cells, input.Stall.Cells)
		if share < minBacklogCoverage {
			return nil
		}

		stood, known := input.StoodBefore()
		finding := rule.During(input, "page cache", share, episodes.cells)
		input.Unsure(&finding, episodes.everywhere)
		finding.PeriodS = input.Period(episodes.cells.Close(input.Cells(5e9)))

		// All writes of a stall may be credited to its end, so a median would be zero.
		// The volume's rate while flushing converts bytes to seconds of waiting.
		rate := timeline.Quantile(timeline.At(written, episodes.cells), 0.5)
		if !(rate > rules.MinFlushRate) {
			rate = timeline.Mean(timeline.At(written, episodes.cells))
		}

		said := rules.Values{"share": rules.Part(share), "peak": rules.Bytes(episodes.peak),
			"rate": rules.Bytes(rate),
			"took": "", "bytes": "", "mib": "", "tolerable": rules.Number(rules.TolerableStallS)}
		if rate > rules.MinFlushRate {
			bytes := rules.BackgroundBytes(rate)
			said["took"] = rules.Seconds(episodes.peak / rate)
			said["bytes"] = rules.Value(fmt.Sprintf("%.0f", bytes))
			said["mib"] = rules.Value(fmt.Sprintf("%.0f", bytes/rules.MiB))
		}

		finding.Say("flushing", said)
		left, tooLong := leftOver(input, episodes.cells)
		fine, inTime, fsyncs := input.Grid.StepSeconds() <= 2, left <= rules.TolerableStallS,
			leftToFsync(input, episodes.cells)
		enough := input.MostlyStood()

		if fine && inTime {
			enough = rules.MostlyStoodCoarse
		}

		// Bounding helps only if the bytes were there before, if the volume keeps up, and if it has
		// room to write them earlier. An fsync that flushes what a cycle left behind is an
		// exception to the first two.
		switch {
		case known && stood < enough && !fsyncs:
			finding.Severity = rules.Info
			finding.Say("handed", rules.Values{"stood": rules.Part(stood)})
		case known && tooLong >= stillStalled && !fsyncs:
			finding.Severity = rules.Info
			finding.Say("too fast", rules.Values{"left": rules.Seconds(left)})
		case known && !roomToSpread(input) && !(fine && inTime && fsyncs):
			finding.Severity = rules.Info
			finding.Say("no room", nil)
		}

		for _, k := range input.Cycles() {
			if k.Flushes != "" && rules.Share(k.Cells.Widen(1, 1), episodes.cells) >= byCheckpoint {
				// The checkpoint is the cause; this is its mechanism.
				finding.Weight *= byCheckpoint
				finding.SayIf(k.Flushes, "checkpoint", rules.Values{"see": rules.Called(k.Flushes)})
			}
		}

		finding.Evidence = backlogFigures(input, episodes, dirty, writeback, rate, stood)
		finding.Advise("bound", said)
		if !input.LogApart() {
			finding.Advise("apart", rules.Values{"beside": input.BesideLog()})
		}

		return []rules.Finding{finding}
	}

	return rule
}

// backlogFigures is the evidence for flushes. rate is in bytes per second, stood a share of the bytes.
func backlogFigures(input *rules.Case, episodes backlog, dirty, writeback []float64,
	rate, stood float64) []rules.Evidence {
	cells, calm := episodes.cells, input.NotStalled()
	out := []rules.Evidence{
		input.Figure("most dirty page cache before a stall", rules.MemoryDirty, episodes.peak, "bytes", cells),
		input.Figure("dirty page cache at other times, median", rules.MemoryDirty,
			timeline.Quantile(timeline.At(dirty, calm), 0.5), "bytes", calm),
		input.Figure("bytes written per second while flushing", rules.DiskWritten, rate, "bytes/s", cells),
		input.Figure("share of the bytes written in the stalls that were in the page cache before", nil, stood,
			"ratio", cells),
		input.Figure("share of the bytes written in these stalls that came from the dirty bytes", nil,
			episodes.fromCache, "ratio", cells),
	}

	if writeback != nil {
		out = append(out, input.Figure("page cache under writeback while flushing, median", rules.MemoryWriteback,
			timeline.Quantile(timeline.At(writeback, cells), 0.5), "bytes", cells))
	}

	out = append(out, dirtyLimits(input)...)
	return slices.DeleteFunc(out, func(e rules.Evidence) bool { return e.Metric != "" && e.Value == nil })
}

type backlog struct {
	cells timeline.Mask // the stalls in which the page cache was flushed
	// everywhere are the cells in which the page cache was flushed, whether or not anything stalled.
	everywhere timeline.Mask
	peak       float64 // bytes
	fromCache  float64 // share of the written bytes
}

func backlogEpisodes(input *rules.Case, dirty, writeback, written []float64) backlog {
	episodes := backlog{cells: make(timeline.Mask, input.Grid.N), everywhere: make(timeline.Mask, input.Grid.N)}
	look := input.Cells(backlogLookBackS * 1e9)
	under := timeline.Where(writeback, func(x float64) bool { return x >= writebackBytes })
	felt := feltFlush(input)
	late := lateWrites(input)

	// flushed reports whether an episode is a flush, together with the highest backlog before and during
	// it, by how much the dirty bytes fell, and the bytes written.
	flushed := func(episode timeline.Episode) (peak, fell, wrote float64, ok bool) {
		// An unbounded queue (blk-throttle's) accepts everything immediately. The pages are then under
		// writeback instead of dirty.
		// The backlog builds up before the stall, so include the seconds before it.
		peak = timeline.Max(dirty[max(0, episode.First-look) : episode.Last+1])
		if writeback != nil {
			peak = max(peak, timeline.Max(writeback[max(0, episode.First-look):episode.Last+1]))
		}

		if !(peak >= rules.MinBacklogBytes) {
			return peak, 0, 0, false
		}

		for k := max(1, episode.First); k <= min(episode.Last+1, input.Grid.N-1); k++ {
			if d := dirty[k-1] - dirty[k]; d > 0 {
				fell += d
			}
		}

		wrote = timeline.Sum(written[episode.First:episode.Last+1]) * input.Grid.StepSeconds()
		flushing := writeback != nil && under[episode.First:episode.Last+1].Count()*2 >= episode.Cells()
		if !(fell > 0 && fell >= flushShare*wrote) && !flushing {
			return peak, fell, wrote, false
		}

		ok = felt(episode, flushing) || episode.Cells() <= rules.ShortStallCells &&
			late[max(0, episode.First-1):episode.Last+1].Count() > 0
		return peak, fell, wrote, ok
	}

	var fell, wrote float64
	var kept []timeline.Episode
	for _, e := range input.Stall.Cells.Close(1).Episodes() {
		if peak, f, w, ok := flushed(e); ok {
			kept = append(kept, e)
			episodes.peak = max(episodes.peak, peak)
			fell, wrote = fell+f, wrote+w
		}
	}

	// The test for chance needs flushes outside of stalls as well.
	for k := range episodes.everywhere {
		_, _, _, episodes.everywhere[k] = flushed(timeline.Episode{First: k, Last: k})
	}

	episodes.cells = timeline.MaskOf(input.Grid.N, kept).And(input.Stall.Cells)
	if wrote > 0 {
		episodes.fromCache = min(1, fell/wrote)
	}

	return episodes
}

// feltFlush reports whether a flush in an episode made other requests wait, by the first sign that
// was measured. If none was, writeback in progress is enough.
func feltFlush(c *rules.Case) func(e timeline.Episode, flushing bool) bool {
	saturated, known := c.Saturated()
	saturated = saturated.Or(c.QueueBursts()) // a flush of half a second saturates no interval
	full := c.One(rules.PSIIOFull)
	return func(e timeline.Episode, flushing bool) bool {
		if known && saturated[e.First:e.Last+1].Count()*2 >= e.Cells() {
			return true
		}
		if full != nil {
			return flushing && timeline.Mean(full[e.First:e.Last+1]) >= feltIOFull
		}
		return flushing && !known
	}
}

// lateS is the mean write time above which a flush shorter than an interval has an effect.
const lateS = 0.050

// lateWrites marks the cells in which the writes of some device took that long, in a queue far
// longer than usual.
func lateWrites(c *rules.Case) timeline.Mask {
	m := make(timeline.Mask, c.Grid.N)
	for _, t := range c.Signal(rules.DiskWriteAwait) {
		q := c.For(rules.DiskQueue, "device", t.Labels.Get("device"))
		long := max(2, rules.BurstQueue*timeline.Quantile(timeline.At(q, c.NotStalled()), 0.5))
		m = m.Or(timeline.Where(t.Values, func(x float64) bool { return x >= lateS }).
			And(timeline.Where(q, func(x float64) bool { return x >= long })))
	}
	return m
}
