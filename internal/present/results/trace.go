package results

import (
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/present/document"
	"plimsoll/internal/trace/chain"
	"plimsoll/internal/trace/events"
)

// Trace shows what slow system calls waited for: what blocked them, the stages, and the worst
// calls.
func Trace(r *chain.Report) *document.Document {
	h := r.Header
	d := &document.Document{Kind: "Trace", Title: "trace of " + h.Target, Verdict: traceVerdict(r),
		Lead: traceLead(r)}
	causes := r.Causes()
	d.Facts = traceFacts(r, causes)

	if r.Slow > 0 {
		d.Add(document.Section{ID: "causes", Title: "What blocked the calls", Screen: document.IfItFits,
			Parts: []document.Part{{Table: causesTable(causes)}}},
			document.Section{ID: "stages", Title: "Stages", Screen: document.IfItFits,
				Parts: []document.Part{{Shares: stageShares(r)}}},
			placesTable(r).Section("places", "Where in the call"),
			document.Section{ID: "timeline", Title: "The longest call", Only: document.Page, Parts: longest(d, r)},
			worstTable(r).Section("worst", "Worst calls"))
	}

	switch _, most := h.Totals.Slowest(); {
	case r.Slow > 0:
		d.Onward = nextStep("find the cause, and what fixes it", "plimsoll diagnose host --trace auto --for 5m",
			"the program that writes there, the database that stalls, and its fixes; such traces are part of the evidence")
	case most > 200*time.Microsecond:
		d.Next = fmt.Sprintf("--slower-than %s explains the slowest ones", (most / 2).Round(100*time.Microsecond))
	}

	if len(r.Kinds) > 0 {
		d.Add(callsTable(r).Section("calls", "Calls"))
	}

	return d
}

// traceVerdict is the summary in one sentence.
func traceVerdict(r *chain.Report) string {
	h := r.Header
	slower := traceTime(h.Slower)
	if r.Slow == 0 {
		kind, most := h.Totals.Slowest()
		if most == 0 {
			return fmt.Sprintf("%s made no traceable call in %s.", h.Target, traceTime(h.Lasted))
		}
		return fmt.Sprintf("No call of %s took over %s in %s; the slowest took %s (%s).", h.Target, slower,
			traceTime(h.Lasted), traceTime(most), kind)
	}

	var parts []string
	for i, c := range r.Causes() {
		// A sentence has room for the main causes only.
		if i == 4 || i > 0 && c.Share < 0.01 {
			break
		}
		parts = append(parts, units.Percent(c.Share)+" "+causePhrase(&c))
	}

	return fmt.Sprintf("%s of %s took over %s, %s in total: %s.", callsPhrase(r), callerPhrase(r), slower,
		traceTime(r.SlowTime), strings.Join(parts, "; "))
}

// callsPhrase is the number and kind of the slow calls: "412 fdatasyncs".
func callsPhrase(r *chain.Report) string {
	// If all slow calls are of one kind, its name says more than "call".
	kinds, only := 0, events.Other
	for _, k := range r.Kinds {
		if k.Slow > 0 {
			kinds++
			only = k.Kind
		}
	}

	name := "call"
	if kinds == 1 {
		name = only.String()
	}

	if r.Slow == 1 {
		return "1 " + name
	}

	return units.Count(int64(r.Slow)) + " " + name + "s"
}

// callerPhrase names the caller, and the file if there was only one.
func callerPhrase(r *chain.Report) string {
	if len(r.Callers) == 0 {
		return r.Header.Target
	}
	name, files := r.Callers[0].Comm, r.Callers[0].Files
	for _, c := range r.Callers[1:] {
		// Several programs: the target is their common property.
		if c.Comm != name {
			return r.Header.Target
		}
	}
	if len(r.Callers) == 1 && len(files) == 1 {
		return fmt.Sprintf("%s (%s)", name, r.FileName(files[0]))
	}
	return name
}

func traceTime(d time.Duration) string { return units.Duration(d).String() }

// traceLead says what was traced and what was missed.
func traceLead(r *chain.Report) []string {
	h := r.Header
	var disks []string
	for _, d := range h.Disks {
		text := d.Name
		if d.Scheduler != "" {
			text += fmt.Sprintf(" (scheduler %s, %d requests)", d.Scheduler, d.NrRequests)
		}
		disks = append(disks, text)
	}

	out := []string{fmt.Sprintf("Traced %s for %s on %s; %s.", h.Target, traceTime(h.Lasted),
		strings.Join(disks, ", "), h.Kernel)}
	if h.Totals.Lost > 0 {
		out = append(out, fmt.Sprintf("%s events were lost: the ring was full. Shares are less certain.",
			units.Count(int64(h.Totals.Lost))))
	}

	if h.Cut {
		out = append(
			out, "There were more events than can be kept: the longest calls may be explained only in part.")
	}

	for _, m := range h.Missing {
		out = append(out, "This kernel does not show "+m+".")
	}

	for _, n := range r.Notes {
		out = append(out, document.Sentence(n))
	}

	return out
}

func traceFacts(r *chain.Report, causes []chain.Cause) []document.Fact {
	kind, most := r.Header.Totals.Slowest()
	out := []document.Fact{{Label: "slow calls", Value: units.Count(int64(r.Slow)),
		Note: "over " + traceTime(r.Header.Slower), Href: "#calls"}}
	if most > 0 {
		out = append(out, document.Fact{Label: "slowest", Value: traceTime(most), Note: kind.String()})
	}
	if len(causes) > 0 {
		c := &causes[0]
		out = append(out, document.Fact{Label: "top cause", Value: units.Percent(c.Share), Note: causePhrase(c),
			Href: "#causes", Level: document.Warning})
		out = append(out, document.Fact{Label: "unexplained", Value: units.Percent(r.Of(chain.Unexplained)),
			Href: "#stages"})
	}
	return out
}

// stageWords names the stages.
var stageWords = map[chain.Stage]string{
	chain.DeviceQueue: "device: behind other requests", chain.DeviceOwn: "device: the request itself",
	chain.DeviceFlush: "device: flush",
	chain.Scheduler:   "block layer: scheduler", chain.TagWait: "block layer: no free request",
	chain.WBT:        "block layer: writeback throttling",
	chain.CgroupWait: "block layer: cgroup limit", chain.Throttle: "throttled: too many dirty pages",
	chain.LockWait:   "lock",
	chain.HandleWait: "journal: open transaction", chain.Submission: "before submission",
	chain.Completion: "after completion",
	chain.Running:    "running", chain.Runnable: "ready to run, without a processor",
	chain.Unexplained: "unexplained",
}

func stageShares(r *chain.Report) *document.Shares {
	out := &document.Shares{Caption: "Stages of the slow calls; they add up to their time",
		Under: units.Percent(0.01)}
	for _, s := range r.Stages {
		out.Rows = append(out.Rows, document.SharePart{Name: stageWords[s.Stage], Part: s.Share,
			Amount: traceTime(s.Time), Minor: s.Share < 0.01})
	}
	return out
}

// placeWords names the places.
var placeWords = map[chain.Place]string{
	chain.InCall: "the call itself", chain.Pages: "its pages",
	chain.JournalWait: "journal: commit not started", chain.JournalPrev: "journal: previous commit",
	chain.JournalLock: "journal: locking", chain.JournalData: "journal: ordered data",
	chain.JournalLog: "journal: log", chain.JournalEnd: "journal: barrier",
	chain.JournalBegin: "journal: closed to changes", chain.JournalFull: "journal: full",
	chain.XFSLog: "XFS log", chain.Throttled: "dirty throttling",
	chain.Direct: "its direct I/O", chain.Reading: "reading", chain.Flushing: "device flush",
	chain.Metadata: "metadata", chain.Locked: "lock",
}

func placesTable(r *chain.Report) *document.Table {
	tab := &document.Table{Caption: "Time of slow calls, by activity and stage", Short: 8,
		Columns: []document.Column{{Text: "share", Number: true}, {Text: "time", Number: true},
			{Text: "in the call"}, {Text: "stage"}}}
	for _, p := range r.Places() {
		if p.Share < 0.005 || len(tab.Rows) == causesShown {
			break
		}
		tab.Line(units.Percent(p.Share), traceTime(p.Time), placeWords[p.Place], stageWords[p.Stage])
	}
	return tab
}

func callsTable(r *chain.Report) *document.Table {
	tab := document.NewTable("All traced calls that waited", "call", "#calls", "#mean", "#slowest", "#slow",
		"#time in slow ones")
	for _, k := range r.Kinds {
		mean := ""
		if k.Calls > 0 {
			mean = traceTime(k.Time / time.Duration(k.Calls))
		}
		tab.Line(k.Kind.String(), units.Count(int64(k.Calls)), mean, traceTime(k.Most), units.Count(int64(k.Slow)),
			traceTime(k.SlowTime))
	}
	return tab
}
