package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	// imageBytes is the maximum WAL a full-page image takes: a page of 8 kB, without its hole, less
	// with wal_compression. Anything computed with it is an upper bound.
	imageBytes = 8192
	// minImages is the share of the WAL above which it is mostly full-page images.
	minImages = 0.5
	// walSurge is how many times the usual WAL rate a surge must reach. Images follow every
	// checkpoint; only a surge of WAL makes commits wait.
	walSurge = 2.0
)

func fullPageImages() rules.Rule {
	rule := rules.Rule{ID: "postgres/full-page-images",
		Title: "Full-page images after a checkpoint fill the WAL",
		Kind:  rules.Cause, Storage: true, Stalled: true,
		When:    "plimsoll:postgres_full_page_images:rate * 8192 / plimsoll:postgres_wal:bytes > 0.5",
		Needs:   []*rules.Signal{FullPageImages, WALGenerated},
		NoAlert: "its condition is true after every checkpoint, which is not a fault",
		Cause:   "After a checkpoint begins, the first change to each page writes the whole page to the WAL (full_page_writes), so that a page torn by a crash can be repaired. The more pages change, the more WAL follows a checkpoint, and commits wait until all of it is written and synced.",
		Words: rules.Words{
			"surge": "{{.share}} of the stalled time coincides with surges of full-page images: commits stalled {{.in}} of the time during surges, {{.out}} of the time otherwise. During surges WAL was written at {{.surge}}, {{.times}} times the usual rate, and up to {{.images}} of it was full-page images.",
			"ckpt":  "Each surge began no more than {{.after}} after the start of a checkpoint.",
		},
		Advice: map[string]rules.Advice{
			"compress": {Summary: "Compress full-page images: wal_compression = on (from 15 on, lz4 costs less CPU)",
				Expect:   "the images take a half to a third of the WAL, depending on the data",
				TradeOff: "CPU in the sessions that write", Do: []*rules.Remedy{compressWAL}},
			"seldom": {Summary: "Run checkpoints less often: checkpoint_timeout and max_wal_size",
				Expect:   "each page is written in full once per checkpoint, so less often",
				TradeOff: "longer crash recovery; more disk space for WAL", Do: []*rules.Remedy{seldomCheckpoints}},
			"never": {Summary: "Do not turn full_page_writes off: that is safe only on a volume that writes 8 kB atomically, through the file system too",
				Expect:    "a crash damages no page",
				TradeOff:  "none",
				NoCommand: "it advises against a change"},
		}}

	rule.Judge = func(input *rules.Case, _ []timeline.Track) []rules.Finding {
		surge, ok := findSurges(input)
		if !ok {
			return nil
		}

		// The queue that a surge leaves behind drains after it.
		near := surge.cells.Widen(0, input.Cells(rules.AftermathS*1e9))
		finding, v, ok := rule.Coincides(input, "postgres", near, FullPageImages,
			"share of the time stalled during surges of full-page images",
			"share of the time stalled otherwise")
		if !ok {
			return nil
		}

		finding.Severity = input.SeverityIn(near, finding.Weight)
		finding.PeriodS = input.Period(surge.cells.Close(input.Cells(3e9)))
		v["surge"], v["times"] = rules.Of(surge.rate, "bytes/s"), rules.Number(surge.rate/surge.usual)
		v["images"] = rules.Part(surge.images)
		finding.Say("surge", v)

		if after, ok := afterCheckpoint(input, surge.cells); ok {
			finding.Say("ckpt", rules.Values{"after": rules.Seconds(after)})
		}

		finding.Evidence = append(finding.Evidence,
			input.Figure("WAL generated during the surges, median", WALGenerated, surge.rate, "bytes/s", surge.cells),
			input.Figure("WAL generated otherwise, median", WALGenerated, surge.usual, "bytes/s", surge.cells.Not()),
			input.Figure("full-page images during the surges, mean", FullPageImages,
				timeline.Mean(timeline.At(input.One(FullPageImages), surge.cells)), "1/s", surge.cells))

		finding.Advise("compress", nil)
		finding.Advise("seldom", nil)
		finding.Advise("never", nil)

		return []rules.Finding{finding}
	}

	return rule
}

// surges are the cells in which the WAL rate exceeded the usual one, most of it full-page images.
type surges struct {
	cells       timeline.Mask
	rate, usual float64 // median WAL during surges and otherwise, bytes/s
	images      float64 // upper bound of the images' share of the WAL during surges
}

func findSurges(c *rules.Case) (surges, bool) {
	wal, images := c.One(WALGenerated), c.One(FullPageImages)
	mostly := make(timeline.Mask, c.Grid.N)
	for k := range mostly {
		mostly[k] = images[k]*imageBytes >= minImages*wal[k] && images[k] > 0
	}

	// The baseline is the rate under load without images; idle time would make it too low.
	usual := timeline.Quantile(timeline.At(wal, c.Stall.Active.Without(mostly)), 0.5)
	cells := mostly.And(timeline.Where(wal, func(x float64) bool { return x >= walSurge*usual }))
	if cells.Count() == 0 || !(usual > 0) {
		return surges{}, false
	}

	of := timeline.Sum(timeline.At(images, cells)) * imageBytes / timeline.Sum(timeline.At(wal, cells))
	return surges{cells: cells, rate: timeline.Quantile(timeline.At(wal, cells), 0.5), usual: usual,
		images: math.Min(1, of)}, true
}

// afterCheckpoint returns the longest time in seconds from the start of a checkpoint to a surge. It
// is not ok unless each surge follows a checkpoint within a tenth of the recording. PostgreSQL
// counts a checkpoint when it begins.
func afterCheckpoint(c *rules.Case, surging timeline.Mask) (longest float64, ok bool) {
	timed, requested := c.One(CheckpointsTimed), c.One(CheckpointsRequested)
	if timed == nil || requested == nil {
		return 0, false
	}

	for _, e := range surging.Close(c.Cells(3e9)).Episodes() {
		k := e.First
		for k >= 0 && !(timed[k] > 0) && !(requested[k] > 0) {
			k--
		}
		after := float64(e.First-k) * c.Grid.StepSeconds()
		if k < 0 || float64(e.First-k) > 0.1*float64(c.Grid.N) {
			return 0, false
		}
		longest = math.Max(longest, after)
	}

	// The grid cannot resolve less than a step.
	return math.Max(longest, c.Grid.StepSeconds()), true
}
