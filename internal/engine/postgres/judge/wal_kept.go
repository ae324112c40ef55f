package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	// minKept, in bytes, is the WAL a slot must retain to matter, unless max_wal_size is larger:
	// pg_wal holds that much anyway.
	minKept = 1 << 30
	// minFailures and failingS separate a failing archiver from one that failed once: it tries
	// three times, a second apart, and then waits for a minute (pgarch.c: NUM_ARCHIVE_RETRIES,
	// PGARCH_AUTOWAKE_INTERVAL).
	minFailures = 3.0
	failingS    = 60.0
	// An archiver that succeeds is too slow if it archived less than behindShare of the WAL while pg_wal
	// grew by behindGrowth of its size at the beginning. It archives one segment after the other, so
	// a slow archive_command bounds the rate at which WAL can be removed.
	behindShare  = 0.8
	behindGrowth = 0.1
	// defaultSegment is the default size in bytes of a WAL segment (initdb --wal-segsize).
	defaultSegment = 16 << 20
	// soonFullS is the time in seconds until the file system is full below which someone has to be
	// paged.
	soonFullS = 6 * 3600
)

func walKept() rules.Rule {
	rule := rules.Rule{ID: "postgres/wal-kept", Title: "Retained WAL fills its disk", Kind: rules.Cause,
		Whole:   true,
		When:    "plimsoll:postgres_slot_kept:bytes > 1073741824 or plimsoll:postgres_archive_failed:rate > 0",
		Needs:   []*rules.Signal{},
		AnyOf:   []*rules.Signal{SlotKept, InactiveSlots, ArchiveFailed, Archived},
		Refutes: rules.DiskResources,
		Cause:   "After a checkpoint PostgreSQL removes WAL only if it is archived and no replication slot needs it. A slot without a consumer, or a failing archive_command, retains all of it: pg_wal grows past max_wal_size until the file system is full. Then the server stops with a PANIC and cannot start again until there is room.",
		Words: rules.Words{
			"no volume": "No volume fixes this; a larger one only fills up later:",
			"slot":      "{{with .slots}}{{.}} without a consumer{{else}}a replication slot without a consumer{{end}} retained {{.kept}} of WAL{{with .grows}}, growing by {{.}} per hour{{end}}.",
			"archiver":  "the archiver failed {{.failed}} times{{with .since}} in {{.}}{{end}} and has archived nothing since the first failure.",
			"behind":    "the archiver is slower than the WAL: it archived {{.archived}} of the {{.written}} written in {{.for}}, without a failure.",
			"size":      "pg_wal holds {{.size}}{{with .most}}, and max_wal_size is {{.}}{{end}}.",
			"left":      "At this rate {{.device}} is full in {{.in}}.",
		},
		Advice: map[string]rules.Advice{
			"slot": {Summary: "Bring the consumer back, or drop the slot if the consumer is gone permanently",
				Expect:   "the next checkpoint removes the WAL",
				TradeOff: "a consumer whose slot is dropped has to start from scratch",
				Do:       []*rules.Remedy{dropSlot}},
			"bound": {Summary: "Limit what slots retain: max_slot_wal_keep_size (13 and later)",
				Expect:   "a slot that is too far behind is lost, and the server keeps running",
				TradeOff: "its consumer has to start from scratch", Do: []*rules.Remedy{boundSlots}},
			"archive": {Summary: "Fix archive_command: the server's log has its error, pg_stat_archiver the file it fails on",
				Expect:    "the archiver catches up, and the next checkpoint removes the WAL",
				TradeOff:  "none",
				NoCommand: "the failure is outside of PostgreSQL: a full target, an expired credential, a missing host. Never delete files in pg_wal manually"},
			"faster": {Summary: "Make archiving faster: an archive_command or archive_library that copies several files at the same time, a nearer target, compression; or write less WAL",
				Expect:    "the archiver catches up, and the next checkpoint removes the WAL",
				TradeOff:  "parallel archiving uses more network bandwidth and more of the volume's reads",
				NoCommand: "it depends on the archiving tool. Never delete files in pg_wal manually"},
		}}

	rule.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		var out []rules.Finding
		if f, ok := slotKeeps(rule, c); ok {
			out = append(out, f)
		}
		if f, ok := archiverKeeps(rule, c); ok {
			out = append(out, f)
		} else if f, ok := archiverBehind(rule, c); ok {
			out = append(out, f)
		}
		return out
	}

	return rule
}

// leastKept is the WAL in bytes that matters: minKept if max_wal_size is smaller or unknown.
func leastKept(c *rules.Case) float64 {
	if size := timeline.Max(c.One(MaxWALSize)); size > minKept {
		return size
	}
	return minKept
}

// slotKeeps reports slots that have no consumer at the end of the recording.
func slotKeeps(r rules.Rule, c *rules.Case) (rules.Finding, bool) {
	kept := c.One(SlotKept)
	first, last := ends(kept)
	least := leastKept(c)

	// Only what is retained at the end matters: a slot may have caught up since.
	if last < 0 || kept[last] < least {
		return rules.Finding{}, false
	}

	f := r.Finding("replication slots")
	f.Severity = rules.Warning
	f.Windows = c.Windows(timeline.Where(kept, func(x float64) bool { return x >= least }))
	hours := float64(last-first) * c.Grid.StepSeconds() / 3600
	perHour := (kept[last] - kept[first]) / hours
	slots := rules.Value("")
	if n := c.One(InactiveSlots); n != nil && timeline.Count(n) > 0 {
		_, at := ends(n)
		slots = rules.Things(int(n[at]), "replication slot")
	}

	f.Say("no volume", nil)
	f.Say("slot", rules.Values{"slots": slots, "kept": rules.Bytes(kept[last]), "grows": rules.If(hours > 0 && perHour > 0, rules.Bytes(perHour))})
	f.Evidence = []rules.Evidence{c.Figure("WAL retained by slots without a consumer, at the end", SlotKept,
		kept[last], "bytes", timeline.Known(kept))}
	reportRoom(c, &f, perHour/3600)
	f.Advise("slot", nil)
	f.Advise("bound", nil)

	return f, true
}

// archiverKeeps reports an archiver that fails until the end of the recording.
func archiverKeeps(rule rules.Rule, input *rules.Case) (rules.Finding, bool) {
	failed, archived := input.One(ArchiveFailed), input.One(Archived)
	step := input.Grid.StepSeconds()

	succeeded := 0 // the first cell after the last success
	for k, x := range archived {
		if x > 0 {
			succeeded = k + 1
		}
	}

	first, last, failures := -1, -1, 0.0
	for k := succeeded; k < len(failed); k++ {
		if failed[k] > 0 {
			failures += failed[k] * step
			last = k
			if first < 0 {
				first = k
			}
		}
	}

	since := float64(len(failed)-first) * step

	// A failure long before the end, with nothing to archive since, is not a lasting one.
	if first < 0 || math.Round(failures) < minFailures || since < failingS ||
		float64(len(failed)-last)*step > 3*failingS+2*input.ResolutionS(ArchiveFailed) {
		return rules.Finding{}, false
	}

	f := rule.Finding("archiver")
	f.Severity = rules.Warning
	failing := timeline.MaskOf(input.Grid.N, []timeline.Episode{{First: first, Last: len(failed) - 1}})
	f.Windows = input.Windows(failing)
	f.Say("no volume", nil)
	f.Say("archiver", rules.Values{"failed": rules.Events(math.Round(failures)), "since": rules.Seconds(since)})
	f.Evidence = []rules.Evidence{input.Figure("failed attempts to archive a file", ArchiveFailed,
		math.Round(failures), "", failing)}
	reportRoom(input, &f, timeline.Mean(timeline.At(input.One(WALGenerated), failing)))
	f.Advise("archive", nil)

	return f, true
}

// archiverBehind reports an archiver that succeeds, but slower than WAL is written. max_wal_size does not
// bound pg_wal then, so only growth beyond both counts.
func archiverBehind(r rules.Rule, c *rules.Case) (rules.Finding, bool) {
	archived, written, size := c.One(Archived), c.One(WALGenerated), c.One(WALSize)
	segment := timeline.Max(c.One(WALSegment))
	if !(segment > 0) {
		segment = defaultSegment
	}

	first, last := ends(size)
	sum := func(rate []float64) float64 { return timeline.Sum(rate) * c.Grid.StepSeconds() }

	// The archiver counts files, and the WAL is counted in bytes.
	done, all := sum(archived)*segment, sum(written)
	least := leastKept(c)

	// Without a completed file, nothing shows that there is an archiver.
	if last < 0 || !(done > 0) || !(done < behindShare*all) || size[last] < least ||
		size[last]-size[first] < behindGrowth*size[first] || size[last]-size[first] < segment {
		return rules.Finding{}, false
	}

	f := r.Finding("archiver")
	f.Severity = rules.Warning
	known := timeline.Known(size)
	f.Windows = c.Windows(known)
	f.Say("no volume", nil)
	f.Say("behind", rules.Values{"archived": rules.Bytes(done), "written": rules.Bytes(all),
		"for": rules.Seconds(c.Seconds(known))})
	f.Evidence = []rules.Evidence{c.Figure("WAL archived", Archived, done, "bytes", known),
		c.Figure("WAL written", WALGenerated, all, "bytes", known),
		c.Figure("size of pg_wal at first", WALSize, size[first], "bytes", known)}
	reportRoom(c, &f, (size[last]-size[first])/c.Seconds(known))
	f.Advise("faster", nil)

	return f, true
}

// reportRoom adds how much pg_wal holds and when its file system will be full. If that is soon, the
// finding becomes critical.
func reportRoom(c *rules.Case, f *rules.Finding, perSecond float64) {
	// Without a stall to explain it is the main finding.
	if !c.Stall.Any() {
		f.Weight = 1
	}

	if size := c.One(WALSize); size != nil && timeline.Count(size) > 0 {
		_, at := ends(size)
		f.Say("size", rules.Values{"size": rules.Bytes(size[at]),
			"most": rules.Bytes(timeline.Max(c.One(MaxWALSize)))})
		f.Evidence = append(f.Evidence,
			c.Figure("size of pg_wal at the end", WALSize, size[at], "bytes", timeline.Known(size)))
	}

	device := c.FilesDevice()
	free := c.For(rules.FilesystemAvailable, "device", device)
	_, at := ends(free)
	if device == "" || at < 0 || !(perSecond > 0) {
		return
	}

	left := free[at] / perSecond
	f.Say("left", rules.Values{"device": rules.Called(device), "in": rules.Seconds(left)})
	f.Evidence = append(f.Evidence,
		c.Figure("free space on "+device, rules.FilesystemAvailable, free[at], "bytes", timeline.Known(free)))

	if left < soonFullS {
		f.Severity = rules.Critical
	}
}

// ends returns the first and the last cell with a value; -1 if there is none.
func ends(values []float64) (first, last int) {
	first, last = -1, -1
	for k, x := range values {
		if math.IsNaN(x) {
			continue
		}
		if last = k; first < 0 {
			first = k
		}
	}
	return first, last
}
