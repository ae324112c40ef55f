package results

import (
	"fmt"
	"path"
	"slices"
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
		d.Sections = append(d.Sections,
			document.Section{ID: "causes", Title: "What blocked the calls", Screen: document.IfItFits,
				Parts: []document.Part{{Table: causesTable(causes)}}},
			document.Section{ID: "stages", Title: "Stages", Screen: document.IfItFits,
				Parts: []document.Part{{Shares: stageShares(r)}}},
			document.Section{ID: "places", Title: "Where in the call",
				Parts: []document.Part{{Table: placesTable(r)}}},
			document.Section{ID: "timeline", Title: "The longest call", Only: document.Page, Parts: longest(d, r)},
			document.Section{ID: "worst", Title: "Worst calls", Parts: []document.Part{{Table: worstTable(r)}}})
	}

	switch _, most := h.Totals.Slowest(); {
	case r.Slow > 0:
		d.Onward = nextStep("find the cause, and what fixes it", "plimsoll diagnose host --trace auto --for 5m",
			"the program that writes there, the database that stalls, and its fixes; such traces are part of the evidence")
	case most > 200*time.Microsecond:
		d.Next = fmt.Sprintf("--slower-than %s explains the slowest ones", (most / 2).Round(100*time.Microsecond))
	}

	if len(r.Kinds) > 0 {
		d.Sections = append(d.Sections,
			document.Section{ID: "calls", Title: "Calls", Parts: []document.Part{{Table: callsTable(r)}}})
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

// causePhrase completes a sentence after a share of the time.
func causePhrase(c *chain.Cause) string {
	switch c.Kind {
	case chain.TheDevice:
		return "the device itself"
	case chain.TheFlush:
		return "the device's flushes"
	case chain.TheLimit:
		if c.Culprit.Cgroup != "" {
			return "a limit of its cgroup " + c.Culprit.Cgroup
		}
		return "a limit of its cgroup"
	case chain.Processor:
		return "ready to run, without a processor"
	case chain.TheKernel:
		return "the kernel's own work"
	case chain.NotKnown:
		return "unexplained"
	case chain.NobodyKnown:
		return "behind requests that were not traced"
	default:
		return "behind " + culpritPhrase(&c.Culprit)
	}
}

// culpritPhrase says what was ahead of the call, and why.
func culpritPhrase(culprit *chain.Culprit) string {
	file := path.Base(culprit.File)
	switch {
	case culprit.Holds != "":
		file = culprit.Holds
	case culprit.File != "":
	case culprit.Inode != 0:
		file = fmt.Sprintf("inode %d", culprit.Inode)
	default:
		file = ""
	}

	who := culprit.Comm
	if culprit.PID != 0 && culprit.Comm == "" {
		who = fmt.Sprintf("process %d", culprit.PID)
	}

	pages := "pages"
	if file != "" {
		pages = "pages of " + file
	}

	if culprit.Self {
		pages = "its own pages"
		// For a sync the file is the one being synced, so naming it would repeat the call.
		if file != "" && !(culprit.Why == chain.WhyFsync) {
			pages = "its own pages of " + file
		}
	}

	written := ""
	if who != "" && !culprit.Self {
		written = " that " + who + " wrote"
	}

	// Joins the reason: "pages that X wrote and the kernel flushed", or "pages that the kernel
	// flushed".
	and := " that"
	if written != "" {
		and = written + " and"
	}

	switch culprit.Why {
	case chain.WhyBackground:
		return pages + and + " the kernel flushed because too much memory was dirty"
	case chain.WhyPeriodic:
		return pages + and + " the kernel flushed because they were old"
	case chain.WhySyncAll:
		return pages + and + " a sync of the whole file system flushed"
	case chain.WhyReclaim, chain.WhyOtherFlush:
		return pages + and + " the kernel flushed"
	case chain.WhyFsync:
		if culprit.Self {
			return pages
		}
		return fmt.Sprintf("%s that %s's own sync wrote", pages, who)
	case chain.WhyDirect:
		return owned(culprit, who, "direct writes")
	case chain.WhyRead:
		return owned(culprit, who, "reads")
	case chain.WhyJournal:
		if culprit.File != "" || culprit.Inode != 0 {
			return pages + and + " the journal had to write first"
		}
		return "ext4's journal"
	case chain.WhyLog:
		return "XFS's log"
	case chain.WhyMetadata:
		return "the file system's metadata"
	case chain.WhyFlush:
		return "a flush of the device's cache"
	case chain.WhyDiscard:
		return "discards"
	case chain.WhyLock:
		return fmt.Sprintf("a lock that %s (%d) held", who, culprit.PID)
	case chain.WhyHandle:
		return fmt.Sprintf("a transaction that %s (%d) kept open", who, culprit.PID)
	}

	return who
}

func owned(c *chain.Culprit, who, what string) string {
	if c.Self {
		return "its own " + what
	}
	return what + " of " + who
}

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

// causesShown is how many causes a report lists.
const causesShown = 12

func causesTable(causes []chain.Cause) *document.Table {
	tab := &document.Table{Caption: "What the slow calls waited for", Short: 6,
		Columns: []document.Column{{Text: "share", Number: true}, {Text: "time", Number: true},
			{Text: "requests ahead", Number: true, Drop: 2}, {Text: "bytes ahead", Number: true, Drop: 1},
			{Text: "waited for"}, {Text: "process", Drop: 3}}}

	for i := range causes {
		c := &causes[i]
		if i == causesShown {
			break
		}

		requests, size, process := "", "", ""
		if c.Requests > 0 {
			requests, size = units.Count(int64(c.Requests)), units.Bytes(float64(c.Bytes))
		}

		if c.Culprit.PID != 0 {
			process = fmt.Sprintf("%s %d", c.Culprit.Comm, c.Culprit.PID)
			if c.Culprit.Cgroup != "" {
				process += " in " + c.Culprit.Cgroup
			}
		}

		tab.Rows = append(tab.Rows, []document.Cell{{Text: units.Percent(c.Share), Number: true},
			{Text: traceTime(c.Time), Number: true},
			{Text: requests, Number: true}, {Text: size, Number: true}, {Text: causePhrase(c)},
			{Text: process, Roles: "long"}})
	}

	return tab
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
		tab.Rows = append(tab.Rows, []document.Cell{{Text: units.Percent(p.Share), Number: true},
			{Text: traceTime(p.Time), Number: true}, {Text: placeWords[p.Place]}, {Text: stageWords[p.Stage]}})
	}
	return tab
}

func worstTable(r *chain.Report) *document.Table {
	tab := &document.Table{Caption: "The longest calls, each as a chain",
		Columns: []document.Column{{Text: "took", Number: true}, {Text: "call"}, {Text: "chain"}}}
	rows := map[string]int{} // by call and what it waited for
	alike := map[int]int{}
	for i := range r.Worst {
		c := &r.Worst[i]
		name := c.Call.Kind.String()
		if c.File != "" {
			name += " " + r.FileName(c.File)
		}

		// The longest of similar calls represents all of them.
		key := name + "\n" + alikeKey(c)
		if at, ok := rows[key]; ok {
			alike[at]++
			continue
		}

		rows[key] = len(tab.Rows)
		tab.Rows = append(tab.Rows, []document.Cell{{Text: traceTime(c.Took()), Number: true}, {Text: name},
			{Text: chainLine(c)}})
	}

	for at, n := range alike {
		tab.Rows[at][1].Note = units.Count(int64(n)) + " more alike"
	}
	return tab
}

// alikeLeast is the share of a call's time above which a part decides whether calls are alike.
const alikeLeast = 0.1

// alikeKey identifies what a call mainly waited for, in the order in which it did.
func alikeKey(c *chain.Chain) string {
	links, _ := linksOf(c)
	var key strings.Builder
	for _, l := range links {
		if float64(l.took) < alikeLeast*float64(c.Took()) {
			continue
		}
		l.culprit.PID = 0 // one kind of process
		fmt.Fprintf(&key, "%v|%v|%s|%s|%v;", l.place, l.stage, l.stack, culpritPhrase(&l.culprit), l.culprit.Self)
	}
	return key.String()
}

// A link combines the parts of a call with the same place, stage and culprit.
type link struct {
	place    chain.Place
	stage    chain.Stage
	culprit  chain.Culprit
	took     time.Duration
	requests int
	bytes    int64
	stack    string
}

// linksOf returns the parts of a call in order of their start, and the time of those that are too
// small to list: below 3 %.
func linksOf(c *chain.Chain) (out []link, rest time.Duration) {
	var links []link
	for i := range c.Segments {
		s := &c.Segments[i]
		l := link{place: s.Place, stage: s.Stage, took: s.Took(), stack: s.Stack}
		// A device's own time has no culprit. Otherwise the largest share stands for the
		// segment.
		if len(s.Shares) > 0 && s.Stage != chain.DeviceOwn {
			l.culprit, l.requests, l.bytes = s.Shares[0].Culprit, s.Shares[0].Requests, s.Shares[0].Bytes
		}

		k := slices.IndexFunc(links, func(o link) bool {
			return o.place == l.place && o.stage == l.stage && o.culprit == l.culprit && o.stack == l.stack
		})
		if k < 0 {
			links = append(links, l)
			continue
		}

		links[k].took += l.took
		links[k].requests += l.requests
		links[k].bytes += l.bytes
	}

	for i := range links {
		if float64(links[i].took) < 0.03*float64(c.Took()) {
			rest += links[i].took
			continue
		}
		out = append(out, links[i])
	}

	return out, rest
}

// chainLine lists the parts of a call on one line.
func chainLine(c *chain.Chain) string {
	links, rest := linksOf(c)
	var parts []string
	for i := range links {
		parts = append(parts, links[i].String())
	}

	if rest > 0 {
		parts = append(parts, traceTime(rest)+" in small parts")
	}

	return strings.Join(parts, " > ")
}

func (l *link) String() string {
	text := traceTime(l.took) + " "
	if l.place != chain.InCall {
		text += placeWords[l.place] + ": "
	}

	text += stageWords[l.stage]
	if l.stage == chain.Unexplained && l.stack != "" {
		first, _, _ := strings.Cut(l.stack, " < ")
		text += " in " + first
	}

	if l.culprit == (chain.Culprit{}) {
		return text
	}

	text += " (" + culpritPhrase(&l.culprit)
	if l.requests > 1 {
		text += fmt.Sprintf(", %d requests, %s", l.requests, units.Bytes(float64(l.bytes)))
	}

	return text + ")"
}

func callsTable(r *chain.Report) *document.Table {
	tab := &document.Table{Caption: "All traced calls that waited",
		Columns: []document.Column{{Text: "call"}, {Text: "calls", Number: true}, {Text: "mean", Number: true},
			{Text: "slowest", Number: true}, {Text: "slow", Number: true}, {Text: "time in slow ones", Number: true}}}
	for _, k := range r.Kinds {
		mean := ""
		if k.Calls > 0 {
			mean = traceTime(k.Time / time.Duration(k.Calls))
		}
		tab.Rows = append(tab.Rows, []document.Cell{{Text: k.Kind.String()},
			{Text: units.Count(int64(k.Calls)), Number: true}, {Text: mean, Number: true},
			{Text: traceTime(k.Most), Number: true}, {Text: units.Count(int64(k.Slow)), Number: true},
			{Text: traceTime(k.SlowTime), Number: true}})
	}
	return tab
}
