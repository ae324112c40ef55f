package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	// leastKept is the WAL kept by a slot from which it matters, unless max_wal_size is more: so much
	// lies in pg_wal anyway.
	leastKept = 1 << 30
	// leastFailures and failingS separate an archiver that fails from one that failed once: it tries
	// three times, a second apart, and then waits for a minute (pgarch.c: NUM_ARCHIVE_RETRIES,
	// PGARCH_AUTOWAKE_INTERVAL).
	leastFailures = 3.0
	failingS      = 60.0
	// soonFullS is the time until the file system is full from which somebody has to be woken.
	soonFullS = 6 * 3600
)

func walKept() rules.Rule {
	r := rules.Rule{ID: "postgres/wal-kept", Title: "WAL is kept and fills its disk", Kind: rules.Cause,
		Whole:   true,
		When:    "plimsoll:postgres_slot_kept:bytes > 1073741824 or plimsoll:postgres_archive_failed:rate > 0",
		Needs:   []*rules.Signal{},
		AnyOf:   []*rules.Signal{SlotKept, InactiveSlots, ArchiveFailed},
		Refutes: rules.DiskResources,
		Cause:   "PostgreSQL removes WAL after a checkpoint only if it is archived and no replication slot needs it. A slot whose consumer is gone, or an archive_command that fails, keeps all of it: pg_wal grows past max_wal_size until the file system is full. Then the server stops with a PANIC, and it does not start again before there is room.",
		Words: rules.Words{
			"no volume": "No volume fixes this, a larger one only fills later:",
			"slot":      "{{with .slots}}{{.}} without a consumer{{else}}a replication slot without a consumer{{end}} kept {{.kept}} of WAL{{with .grows}}, and {{.}} more per hour{{end}}.",
			"archiver":  "the archiver failed {{.failed}} times{{with .since}} in {{.}}{{end}} and archived nothing after the first of them.",
			"size":      "pg_wal holds {{.size}}{{with .most}}, and max_wal_size is {{.}}{{end}}.",
			"left":      "At this rate {{.device}} is full in {{.in}}.",
		},
		Advice: map[string]rules.Advice{
			"slot": {Summary: "Bring the consumer back, or drop the slot if it will not come back",
				Expect:   "the next checkpoint removes the WAL",
				TradeOff: "a consumer whose slot is dropped starts from the beginning",
				Do:       []*rules.Remedy{dropSlot}},
			"bound": {Summary: "Bound what slots keep: max_slot_wal_keep_size (13 and later)",
				Expect:   "a slot that is too far behind is lost, and the server keeps running",
				TradeOff: "its consumer starts from the beginning", Do: []*rules.Remedy{boundSlots}},
			"archive": {Summary: "Make archive_command work again: the server's log has its error, pg_stat_archiver the file that it fails at",
				Expect:    "the archiver catches up, and the next checkpoint removes the WAL",
				TradeOff:  "none",
				NoCommand: "what fails is outside of PostgreSQL: the target is full, a credential expired, a host is gone. Never delete files in pg_wal by hand"},
		}}

	r.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		var out []rules.Finding
		if f, ok := slotKeeps(r, c); ok {
			out = append(out, f)
		}
		if f, ok := archiverKeeps(r, c); ok {
			out = append(out, f)
		}
		return out
	}

	return r
}

// slotKeeps is the finding about slots without a consumer at the recording's end.
func slotKeeps(r rules.Rule, c *rules.Case) (rules.Finding, bool) {
	kept := c.One(SlotKept)
	first, last := ends(kept)
	least := math.Max(leastKept, timeline.Max(c.One(MaxWALSize)))
	if math.IsNaN(least) {
		least = leastKept
	}

	if last < 0 || kept[last] < least {
		return rules.Finding{}, false
	}

	f := r.Finding("replication slots")
	f.Severity = rules.Warning
	f.Windows = c.Windows(timeline.Where(kept, func(x float64) bool { return x >= least }))
	hours := float64(last-first) * c.Grid.StepSeconds() / 3600
	grows := rules.Value("")

	perHour := (kept[last] - kept[first]) / hours
	if hours > 0 && perHour > 0 {
		grows = rules.Bytes(perHour)
	}

	slots := rules.Value("")
	if n := c.One(InactiveSlots); n != nil && timeline.Count(n) > 0 {
		_, at := ends(n)
		slots = rules.Things(int(n[at]), "replication slot")
	}

	f.Say("no volume", nil)
	f.Say("slot", rules.Values{"slots": slots, "kept": rules.Bytes(kept[last]), "grows": grows})
	f.Evidence = []rules.Evidence{c.Figure("WAL that slots without a consumer keep, at the end", SlotKept,
		kept[last], "bytes", timeline.Known(kept))}
	sayRoom(c, &f, perHour/3600)
	f.Advise("slot", nil)
	f.Advise("bound", nil)

	return f, true
}

// archiverKeeps is the finding about an archiver that fails until the recording's end.
func archiverKeeps(r rules.Rule, c *rules.Case) (rules.Finding, bool) {
	failed, archived := c.One(ArchiveFailed), c.One(Archived)
	step := c.Grid.StepSeconds()

	succeeded := 0 // the first cell after the last success
	for k, x := range archived {
		if x > 0 {
			succeeded = k + 1
		}
	}

	first, last, n := -1, -1, 0.0
	for k := succeeded; k < len(failed); k++ {
		if failed[k] > 0 {
			n += failed[k] * step
			last = k
			if first < 0 {
				first = k
			}
		}
	}

	since := float64(len(failed)-first) * step

	// A failure long before the end, with nothing to archive since, is not one that lasts.
	if first < 0 || math.Round(n) < leastFailures || since < failingS ||
		float64(len(failed)-last)*step > 3*failingS+2*c.ResolutionS(ArchiveFailed) {
		return rules.Finding{}, false
	}

	f := r.Finding("archiver")
	f.Severity = rules.Warning
	failing := timeline.MaskOf(c.Grid.N, []timeline.Episode{{First: first, Last: len(failed) - 1}})
	f.Windows = c.Windows(failing)
	f.Say("no volume", nil)
	f.Say("archiver", rules.Values{"failed": whole(math.Round(n)), "since": rules.Seconds(since)})
	f.Evidence = []rules.Evidence{c.Figure("attempts to archive a file that failed", ArchiveFailed,
		math.Round(n), "", failing)}
	sayRoom(c, &f, timeline.Mean(timeline.At(c.One(WALGenerated), failing)))
	f.Advise("archive", nil)

	return f, true
}

// sayRoom adds how much pg_wal holds and when its file system is full, and makes it critical if that
// is soon.
func sayRoom(c *rules.Case, f *rules.Finding, perSecond float64) {
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
		c.Figure("space left on "+device, rules.FilesystemAvailable, free[at], "bytes", timeline.Known(free)))

	if left < soonFullS {
		f.Severity = rules.Critical
	}
}

// ends are the first and the last cell with a value; -1 if there is none.
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
