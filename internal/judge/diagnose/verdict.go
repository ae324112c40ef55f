package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
)

// minExplained is the least share of the stalled time that the top cause must explain for the
// verdict to present it as the reason.
const minExplained = 0.25

// nearStall is the fraction of the stall threshold at or above which the verdict also states the threshold:
// the reader should see how close it was.
const nearStall = 0.5

// headlineIncidents is how many incidents the headline describes.
const headlineIncidents = 3

// verdict returns the text that a user reads first: whether there was a stall, why, and what was ruled
// out. Findings may add opening and closing sentences. active reports whether the watched operations
// had any load; asked is the number of the incident shown, 0 for all.
func verdict(r *Report, pack *rules.Pack, active bool, asked int) string {
	before, after := added(r.Findings)
	if ofIncidents(r, asked) {
		before, after = r.Added()
	}

	parts := slices.Concat(before, []string{middle(r, pack, active, asked)}, after)

	// Headroom describes the whole recording, so it does not belong in the verdict on one incident.
	if asked == 0 {
		parts = append(parts, soonReached(r)...)
	}

	return strings.Join(parts, " ")
}

// endsSoonS is how close, in seconds, a limit must be for the verdict to mention it.
const endsSoonS = 48 * 3600.0

// soonReached returns a sentence on the first limit that will be reached; none if that is not soon.
func soonReached(r *Report) []string {
	if len(r.Headroom) == 0 {
		return nil
	}
	h := &r.Headroom[0]
	if h.Ends == nil || h.Ends.InS > endsSoonS || h.Ends.InS <= 0 && r.Stalls.Seconds > 0 {
		return nil // if the limit is reached and something stalls, the causes already say so
	}
	return []string{h.Sentence("")}
}

// middle returns the verdict without the sentences that findings add.
func middle(report *Report, pack *rules.Pack, active bool, asked int) string {
	switch {
	// Incidents may have different causes, so a list of them takes the place of one explanation.
	case len(report.Incidents) > 1 && asked == 0:
		return headline(report)
	case asked > 0 && len(report.Incidents) > 0, len(report.Incidents) == 1 && report.Incidents[0].Kind == Worse:
		return report.Incidents[max(asked, 1)-1].Verdict
	}

	var text strings.Builder

	// A cause like this matters even though nothing stalled, so it comes before the claim.
	if f, ok := foremostCause(report.Findings); ok && report.Stalls.Seconds == 0 {
		fmt.Fprintf(&text, "%s (%s): %s", f.Title, f.Subject, f.Summary)
		if report.Stalls.Of > 0 && active && !f.Always {
			fmt.Fprintf(&text, " %s.", noStall(report))
		}
		return text.String()
	}

	switch {
	case report.Stalls.Of == 0 && len(report.Sources) > 0 && !slices.ContainsFunc(report.Sources,
		func(s Source) bool { return s.Kind != "fio" }):
		text.WriteString("A benchmark has no waiting clients: fio reports what the volume delivered to its jobs, not whether a database would stall on it.")
	case report.Stalls.Of == 0 && len(report.Sources) > 0 && !slices.ContainsFunc(report.Sources,
		func(s Source) bool { return s.Kind != "fio" && s.Kind != "benchmark" }):
		text.WriteString("A benchmark has no waiting clients, so there is no stall to find.")
	case report.Stalls.Of == 0 && slices.ContainsFunc(report.Findings,
		func(f Finding) bool { return f.Rule == rules.BenchTotals }):
		text.WriteString("The figures cover a whole run, so a short stall in it can be neither located nor ruled out.")
	case report.Stalls.Of == 0:
		text.WriteString("No source reports how long writes took, so a stall can be neither detected nor ruled out.")
	// Without load nothing could stall, so a plain "no stall" would be an unfounded all-clear.
	case report.Stalls.Seconds == 0 && !active:
		fmt.Fprintf(&text, "No stall in %s: there were no %s.", units.Seconds(report.Stalls.Of), report.Stalls.Signal)
	case report.Stalls.Seconds == 0 && report.Stalls.UndeterminedS > 0:
		fmt.Fprintf(
			&text, "%s stopped %s before the recording ended. Whether clients waited cannot be determined: no source counts waiting operations.",
			upperFirst(report.Stalls.Signal, pack), units.Seconds(report.Stalls.UndeterminedS))
	// Latency above the threshold is not a stall if only a few operations were slow.
	case report.Stalls.Seconds == 0 && report.Stalls.ThresholdS > 0 &&
		highest(report) > report.Stalls.ThresholdS:
		fmt.Fprintf(&text, "%s. Individual %s took up to %s, but too few at a time to make others wait.",
			noStall(report), report.Stalls.Signal, units.Seconds(highest(report)))
	case report.Stalls.Seconds == 0 && highest(report) > nearStall*report.Stalls.ThresholdS &&
		report.Stalls.ThresholdS > 0:
		fmt.Fprintf(&text, "%s: %s; a stall starts at %s.", noStall(report), peak(report), units.Seconds(report.Stalls.ThresholdS))
	case report.Stalls.Seconds == 0 && highest(report) > 0:
		fmt.Fprintf(&text, "%s: %s.", noStall(report), peak(report))
	// Without latencies only an end of completions is a stall, and slow operations do not show.
	case report.Stalls.Seconds == 0 && report.Stalls.ThresholdS == 0:
		fmt.Fprintf(&text, "Whether %s were slow is unknown: these sources report no latency. In %s they never stopped.",
			report.Stalls.Signal, units.Seconds(report.Stalls.Of))
	case report.Stalls.Seconds == 0:
		fmt.Fprintf(&text, "%s: none waited noticeably.", noStall(report))
	default:
		text.WriteString(stalledSentence(report.Stalls, pack, ""))
	}

	// A claim of no stall is only as fine as the sampling, so it names what would not show.
	if report.Stalls.Seconds == 0 && active && report.Stalls.IntervalS > 0 {
		text.WriteString(hidden(report.Stalls))
	}

	text.WriteString(why(report.Findings, report.Stalls, report.Measured, report.Account))
	return text.String()
}

// hidden says which stalls long intervals can hide.
func hidden(s StallSummary) string {
	short := fmt.Sprintf(" Stalls much shorter than %s would not show", units.Seconds(s.IntervalS))
	if s.MostS < 1 {
		return short + "."
	}
	return short + fmt.Sprintf("; intervals slower than usual may hide up to %s of stalls.",
		units.Seconds(s.MostS))
}

// pageVerdict is the verdict on a single page of metrics.
func pageVerdict(r *Report, pack *rules.Pack) string {
	if f, ok := foremostCause(r.Findings); ok {
		return fmt.Sprintf("%s (%s): %s", f.Title, f.Subject, f.Summary)
	}

	answers, boot := []string{}, true
	for _, f := range r.Findings {
		if f.Opening != "" {
			answers = append(answers, f.Opening)
			boot = boot && f.Rule == rules.SinceBoot
		}
	}

	switch {
	case len(answers) > 0 && boot:
		return strings.Join(answers, " ") + " A stall does not show in such averages."
	case len(answers) > 0:
		return strings.Join(answers, " ") +
			" With one sample of each series, these are totals since the process started; when it happened is unknown."
	}

	// "No problem found" is only true of rules that could be judged on totals, so name them.
	var judged []string
	for _, rule := range pack.Rules() {
		if rule.Sums && !slices.ContainsFunc(r.Missing, func(m NotMeasured) bool { return m.Rule == rule.ID }) {
			judged = append(judged, rule.ID)
		}
	}

	if len(judged) == 0 {
		return "One sample of each series cannot show a stall: a diagnosis needs at least two, covering at least a minute."
	}

	return "One sample of each series, judged as totals since the process started; when something happened is unknown. No problem found by " +
		units.Joined(judged) + "."
}

// foremostCause returns a cause that is more important than the statement that nothing stalled.
func foremostCause(findings []Finding) (Finding, bool) {
	i := slices.IndexFunc(findings,
		func(f Finding) bool { return f.Kind == Cause && f.Foremost && f.Severity != Info })
	if i < 0 {
		return Finding{}, false
	}
	return findings[i], true
}

// noStall states that nothing stalled: in which classes of operation, for how long, at which
// sampling. Each of these limits the claim.
func noStall(r *Report) string {
	out := fmt.Sprintf("No stall in %s of %s", units.Seconds(r.Stalls.Of), watchedClasses(r))
	if len(r.Judged) > 0 {
		out += fmt.Sprintf(" (%s)", samplesOf(r.Judged[0].StepS))
	}
	return out
}

// watchedClasses names the classes of operation that a claim of no stall is about.
func watchedClasses(r *Report) string { return cmp.Or(busyClasses(r.Judged), r.Stalls.Signal) }

// peak states the highest mean latency of an interval, in the class that the report plots. The class
// has to be named if several were watched.
func peak(r *Report) string {
	of := ""
	if watchedClasses(r) != r.Stalls.Signal {
		of = " of " + r.Stalls.Signal
	}
	return fmt.Sprintf("mean latency%s peaked at %s", of, units.Seconds(highest(r)))
}

// stalledSentence says what stalled, for how long and when.
func stalledSentence(s StallSummary, pack *rules.Pack, when string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s stalled for %s of %s", upperFirst(s.Signal, pack), s.Range(), units.Seconds(s.Of))
	if s.AtMost {
		fmt.Fprintf(&b, " (%s)", samplesOf(s.IntervalS))
	}
	if s.PeriodS > 0 {
		fmt.Fprintf(&b, ", every %s", units.Seconds(s.PeriodS))
	}
	b.WriteString(when)
	if rules.Trifle(s.Seconds, s.Of) {
		b.WriteString(": too little to act on")
	}
	b.WriteString(".")
	return b.String()
}

// why names the causes of stalled time and what was ruled out.
func why(findings []Finding, stalls StallSummary, measured *Measured, account []Share) string {
	causes := causesOf(findings)

	var text strings.Builder

	// Three causes are enough for a sentence; the list of findings has the rest.
	if len(causes) > 0 {
		names, most := named(causes), 0.0
		for _, f := range causes[:len(names)] {
			most = max(most, f.Weight)
		}

		// A cause can hold without a stall, and a cause of a small part of the stall is not its reason.
		why := "Why"
		if stalls.Seconds == 0 {
			why = "Also found"
		} else if most < minExplained {
			why = fmt.Sprintf("Mostly unexplained; the causes of %.0f %% are", 100*most)
		}

		fmt.Fprintf(&text, " %s: %s.", why, strings.Join(names, "; "))
		text.WriteString(alsoCheckpoints(findings, account, stalls))
	} else if f := bothLimits(findings); f != nil && stalls.Seconds > 0 {
		fmt.Fprintf(
			&text, " Why: the volume is at both its IOPS and its throughput limit (%s). Raising only one helps little.",
			f.Subject)
	} else if measured == nil && stalls.Seconds > 0 && !rules.Trifle(stalls.Seconds, stalls.Of) {
		text.WriteString(probably(account, stalls))
	}

	text.WriteString(measuredSentence(measured))

	// Several devices may give the same refutation. Each title appears once, and two at most.
	said := map[string]bool{}
	for _, f := range findings {
		if f.Kind != Refutation {
			continue
		}
		if !said[f.Title] && len(said) < 2 {
			fmt.Fprintf(&text, " %s.", f.Title)
		}
		said[f.Title] = true
	}

	return text.String()
}

// If there were too few stalls to exclude chance, no rule calls a condition the cause. The verdict
// still names one that held for probableShare of the stalled time and probableRatio times as often
// as in the rest of the time.
const (
	probableShare = 0.5
	probableRatio = 2.0
	// fewStalls is how many stalls are too few to exclude chance.
	fewStalls = 2
)

// probably returns the verdict's sentence for stalls without a cause: a condition that held during the
// stalls but is rare otherwise, and what would confirm it.
func probably(account []Share, stalls StallSummary) string {
	none := " No cause found in these sources; see what could not be measured."
	if stalls.IntervalS > 0 {
		none = fmt.Sprintf(" No cause found in these sources (%s); finer sampling shows more. See what could not be measured.",
			samplesOf(stalls.IntervalS))
	}

	best := longest(account, func(s *Share) bool { return s.Seconds >= probableRatio*s.Otherwise*s.Of })

	if best == nil {
		return always(account, none)
	}

	// Checkpoints recur, so a longer recording can settle whether they are the cause.
	share := units.Percent(best.Seconds / best.Of)
	switch {
	case best.Share == duringCheckpoint && stalls.Episodes > fewStalls && cyclesMore(best, stalls) > 0:
		return fmt.Sprintf(" Probably checkpoints, not sure yet: %s of the stalled time falls within one. Record until %s run.",
			share, moreCheckpoints(cyclesMore(best, stalls)))
	case best.Share == duringCheckpoint && stalls.Episodes <= fewStalls:
		return fmt.Sprintf(" Probably checkpoints: %s of the stalled time falls within one, but %s too few to be sure. Record until two more have run.",
			share, seldom(stalls.Episodes))
	case best.Share == duringCheckpoint:
		return fmt.Sprintf(" Possibly checkpoints: %s of the stalled time falls within one, which may be chance.",
			share)
	}

	return fmt.Sprintf(" No certain cause, but this held for %s of the stalled time: %s.", share, best.Share)
}

// always returns the sentence for a condition that holds in the stalled time, but about as often at
// other times. It returns none if no condition held for most of the stalled time.
func always(account []Share, none string) string {
	best := longest(account, func(*Share) bool { return true })
	if best == nil {
		return none
	}
	return fmt.Sprintf(" No certain cause: this held for %s of the stalled time, but also for %s of the remaining time: %s.",
		units.Percent(best.Seconds/best.Of), units.Percent(best.Otherwise), best.Share)
}

// longest returns the wanted condition that held longest, for probableShare of the stalled time or more;
// nil if there is none. Only shares of the wall clock compare with the remaining time.
func longest(account []Share, wanted func(*Share) bool) (best *Share) {
	for i := range account {
		if s := &account[i]; s.Note == wallClockNote && s.Seconds >= probableShare*s.Of && wanted(s) &&
			(best == nil || s.Seconds > best.Seconds) {
			best = s
		}
	}
	return best
}

func seldom(stalls int) string {
	if stalls == 1 {
		return "one stall is"
	}
	return fmt.Sprintf("%d stalls are", stalls)
}

// bothLimits returns a finding on a volume that is at its IOPS and its throughput limit for most of
// the stalled time, so that neither limit alone is the cause; nil if there is none.
func bothLimits(findings []Finding) *Finding {
	i := slices.IndexFunc(findings,
		func(f Finding) bool { return f.Kind == Cause && f.Alike && f.Weight >= minExplained })
	if i < 0 {
		return nil
	}
	return &findings[i]
}

// The verdict names at most measuredMost waits, each with a share of at least measuredLeast.
const (
	measuredMost  = 3
	measuredLeast = 0.05
)

// measuredSentence says what a trace measured in the stalled time.
func measuredSentence(m *Measured) string {
	if m == nil {
		return ""
	}
	var parts []string
	for _, w := range m.Waits {
		if len(parts) < measuredMost && w.Share >= measuredLeast {
			parts = append(parts, units.Percent(w.Share)+" "+w.Text)
		}
	}
	return fmt.Sprintf(" Traced waits of slow calls of %s: %s.", m.Who(),
		strings.Join(parts, ", "))
}

// causesOf returns the causes that are more than a remark.
func causesOf(findings []Finding) (out []Finding) {
	for _, f := range findings {
		if f.Kind == Cause && f.Severity != Info {
			out = append(out, f)
		}
	}
	return out
}

// named names the first three causes; the list of findings has the rest.
func named(causes []Finding) (out []string) {
	for _, f := range causes[:min(3, len(causes))] {
		out = append(out, rules.LowerFirst(f.Title)+" ("+f.Subject+")")
	}
	return out
}

// because names the causes of the slowdown.
func because(findings []Finding) string {
	names := named(causesOf(findings))
	if len(names) == 0 {
		return ""
	}
	return " At the same time: " + strings.Join(names, "; ") + "."
}

// headline describes several incidents, most harmful first.
func headline(r *Report) string {
	var b strings.Builder
	n := len(r.Incidents) + r.MoreIncidents
	fmt.Fprintf(&b, "%d incidents in %s, most harmful first.", n, units.Seconds(watched(r)))
	for _, x := range r.Incidents[:min(len(r.Incidents), headlineIncidents)] {
		fmt.Fprintf(&b, " %d: %s", x.ID, x.Verdict)
	}
	if more := n - headlineIncidents; more > 0 {
		fmt.Fprintf(&b, " And %d more.", more)
	}
	return b.String()
}

// watched is the longest time that any incident's operations were watched, in seconds, gaps
// excluded.
func watched(r *Report) (s float64) {
	for _, x := range r.Incidents {
		s = max(s, x.Stalls.Of)
	}
	return s
}

// when states the time of an incident in UTC, to follow the number of stalled seconds or a change
// of latency. Dates appear only if the recording covers more than one day.
func when(s, whole Span) string {
	day := "15:04:05"
	layout := day
	if whole.From.UTC().YearDay() != whole.To.UTC().YearDay() || whole.To.Sub(whole.From).Hours() >= 24 {
		layout = "2006-01-02 15:04:05"
	}
	// The end repeats the date only if it differs from the start's.
	from, to := s.From.UTC(), s.To.UTC()
	last := layout
	if from.Format(time.DateOnly) == to.Format(time.DateOnly) {
		last = day
	}
	return fmt.Sprintf(" between %s and %s UTC", from.Format(layout), to.Format(last))
}
