package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
)

// minExplained is the share of the stalled time that the weightiest cause explains, under which
// the verdict does not call it the reason.
const minExplained = 0.25

// nearStall is the part of the latency at which a stall begins, from which nobody says that none
// waited noticeably.
const nearStall = 0.5

// incidentsTold is how many incidents the headline tells of.
const incidentsTold = 3

// verdict is what a person reads first: is there a stall, why, and what it is not, between the
// sentences that findings ask for. active tells whether anything was asked of what was watched;
// asked is the incident that is shown, 0 for all.
func verdict(r *Report, pack *rules.Pack, active bool, asked int) string {
	var parts []string
	for _, f := range r.Findings {
		if f.Opening != "" {
			parts = append(parts, f.Opening)
		}
	}

	parts = append(parts, middle(r, pack, active, asked))
	for _, f := range r.Findings {
		if f.Closing != "" {
			parts = append(parts, f.Closing)
		}
	}

	if asked == 0 {
		parts = append(parts, foretold(r)...)
	}

	return strings.Join(parts, " ")
}

// endsSoonS is the time to a limit from which the verdict says that it will be met.
const endsSoonS = 48 * 3600.0

// foretold is what the verdict says of the first limit that will be met; none if that is not soon.
func foretold(r *Report) []string {
	if len(r.Headroom) == 0 {
		return nil
	}
	h := &r.Headroom[0]
	if h.Ends == nil || h.Ends.InS > endsSoonS || h.Ends.InS <= 0 && r.Stalls.Seconds > 0 {
		return nil // where it is met and stalls, the causes say so
	}
	return []string{h.Sentence("")}
}

// middle is the verdict without those.
func middle(r *Report, pack *rules.Pack, active bool, asked int) string {
	switch {
	case len(r.Incidents) > 1 && asked == 0:
		return headline(r)
	case asked > 0 && len(r.Incidents) > 0, len(r.Incidents) == 1 && r.Incidents[0].Kind == Worse:
		return r.Incidents[max(asked, 1)-1].Verdict
	}

	var b strings.Builder
	if f, ok := foremostCause(r.Findings); ok && r.Stalls.Seconds == 0 {
		fmt.Fprintf(&b, "%s (%s): %s", f.Title, f.Subject, f.Summary)
		if r.Stalls.Of > 0 && active && !f.Always {
			fmt.Fprintf(&b, " Nothing stalled meanwhile: %s.", watchedClasses(r))
		}
		return b.String()
	}

	switch {
	case r.Stalls.Of == 0 && len(r.Sources) > 0 && !slices.ContainsFunc(r.Sources,
		func(s Source) bool { return s.Kind != "fio" }):
		b.WriteString("A benchmark has no waiting clients: fio reports what the volume gave its jobs, not whether a database would stall on it.")
	case r.Stalls.Of == 0 && len(r.Sources) > 0 && !slices.ContainsFunc(r.Sources,
		func(s Source) bool { return s.Kind != "fio" && s.Kind != "benchmark" }):
		b.WriteString("A benchmark has no waiting clients, so there is no stall to find.")
	case r.Stalls.Of == 0:
		b.WriteString("No source here reports how long writes took, so a stall can be neither seen nor ruled out.")
	case r.Stalls.Seconds == 0 && !active:
		fmt.Fprintf(&b, "No stall: %s were watched for %s, but there were none.", r.Stalls.Signal,
			units.Seconds(r.Stalls.Of))
	case r.Stalls.Seconds == 0 && r.Stalls.UndeterminedS > 0:
		fmt.Fprintf(
			&b, "%s stopped %s before the recording ended. Whether clients waited cannot be determined: no source counts waiting operations.",
			upperFirst(r.Stalls.Signal, pack), units.Seconds(r.Stalls.UndeterminedS))
	case r.Stalls.Seconds == 0 && r.Stalls.ThresholdS > 0 && highest(r) > r.Stalls.ThresholdS:
		fmt.Fprintf(&b, "No stall: %s. Individual %s took up to %s, but too few at once to make others wait.",
			watchedClasses(r), r.Stalls.Signal, units.Seconds(highest(r)))
	case r.Stalls.Seconds == 0 && highest(r) > nearStall*r.Stalls.ThresholdS && r.Stalls.ThresholdS > 0:
		fmt.Fprintf(&b, "No stall: %s; the highest mean of an interval was %s, and a stall starts at %s.",
			watchedClasses(r), units.Seconds(highest(r)), units.Seconds(r.Stalls.ThresholdS))
	case r.Stalls.Seconds == 0:
		fmt.Fprintf(&b, "No stall: %s and none waited noticeably.", watchedClasses(r))
	default:
		b.WriteString(stalledSentence(r.Stalls, pack, ""))
	}

	if r.Stalls.Seconds == 0 && active && r.Stalls.IntervalS > 0 {
		b.WriteString(hidden(r.Stalls))
	}

	b.WriteString(why(r.Findings, r.Stalls, r.Measured, r.Account))
	return b.String()
}

// hidden is what long intervals do not show.
func hidden(s StallSummary) string {
	short := fmt.Sprintf(" A stall much shorter than %s would not show", units.Seconds(s.IntervalS))
	if s.MostS < 1 {
		return short + "."
	}
	return short + fmt.Sprintf(": intervals slower than usual may hide up to %s of stalls.",
		units.Seconds(s.MostS))
}

// pageVerdict is the verdict on one page of metrics.
func pageVerdict(r *Report, pack *rules.Pack) string {
	if f, ok := foremostCause(r.Findings); ok {
		return fmt.Sprintf("%s (%s): %s", f.Title, f.Subject, f.Summary)
	}

	answers := []string{}
	for _, f := range r.Findings {
		if f.Opening != "" {
			answers = append(answers, f.Opening)
		}
	}

	if len(answers) > 0 {
		return strings.Join(answers, " ") +
			" One sample of each series is a sum since the process began, which shows nothing of when."
	}

	var judged []string
	for _, rule := range pack.Rules() {
		if rule.Sums && !slices.ContainsFunc(r.Missing, func(m NotMeasured) bool { return m.Rule == rule.ID }) {
			judged = append(judged, rule.ID)
		}
	}

	if len(judged) == 0 {
		return "One sample of each series says nothing about a stall: a diagnosis needs two, and a minute of them at least."
	}

	return "One sample of each series: judged as sums since the process began, which say nothing of when. Nothing wrong was found in them by " +
		listed(judged) + "."
}

// foremostCause is a cause that says more than that nothing stalled.
func foremostCause(findings []Finding) (Finding, bool) {
	i := slices.IndexFunc(findings,
		func(f Finding) bool { return f.Kind == Cause && f.Foremost && f.Severity != Info })
	if i < 0 {
		return Finding{}, false
	}
	return findings[i], true
}

// watchedClasses says what was watched, how long, and in which intervals.
func watchedClasses(r *Report) string {
	names := busyClasses(r.Judged)
	if names == "" {
		names = r.Stalls.Signal
	}
	out := fmt.Sprintf("%s were watched for %s", names, units.Seconds(r.Stalls.Of))
	if len(r.Judged) > 0 {
		out += fmt.Sprintf(" in means of %s", units.Seconds(r.Judged[0].StepS))
	}
	return out
}

// stalledSentence says how long what stalled, and when.
func stalledSentence(s StallSummary, pack *rules.Pack, when string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s stalled for %s of %s", upperFirst(s.Signal, pack), s.Range(), units.Seconds(s.Of))
	if s.AtMost {
		fmt.Fprintf(&b, " (in means of %s)", units.Seconds(s.IntervalS))
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

// why names the causes of some stalled time, and what it is not.
func why(findings []Finding, stalls StallSummary, measured *Measured, account []Share) string {
	var causes, refutations []Finding
	for _, f := range findings {
		switch f.Kind {
		case Cause:
			if f.Severity != Info {
				causes = append(causes, f)
			}
		case Refutation:
			refutations = append(refutations, f)
		}
	}

	var b strings.Builder
	if len(causes) > 0 {
		names := make([]string, 0, 3)
		most := 0.0
		for _, f := range causes[:min(3, len(causes))] {
			names = append(names, lowerFirst(f.Title)+" ("+f.Subject+")")
			most = max(most, f.Weight)
		}

		why := "Why"
		if stalls.Seconds == 0 {
			why = "Also found"
		} else if most < minExplained {
			why = fmt.Sprintf("Most of it is unexplained; %.0f %% is", 100*most)
		}

		fmt.Fprintf(&b, " %s: %s.", why, strings.Join(names, "; "))
	} else if f := bothLimits(findings); f != nil && stalls.Seconds > 0 {
		fmt.Fprintf(
			&b, " Why: the volume is at its limits of IOPS and of throughput alike (%s). More of one alone helps little.",
			f.Subject)
	} else if measured == nil && stalls.Seconds > 0 && !rules.Trifle(stalls.Seconds, stalls.Of) {
		b.WriteString(probably(account, stalls))
	}

	b.WriteString(measuredSentence(measured))
	said := map[string]bool{}
	for _, f := range refutations {
		if !said[f.Title] && len(said) < 2 {
			fmt.Fprintf(&b, " %s.", f.Title)
		}
		said[f.Title] = true
	}

	return b.String()
}

// A condition that holds in most of the stalled time is named even if no rule calls it the cause, because
// there were too few stalls to exclude chance: probableShare of the stalled time, and probableRatio times
// the share of the other time.
const (
	probableShare = 0.5
	probableRatio = 2.0
	// fewStalls are too few to exclude chance.
	fewStalls = 2
)

// probably is what the verdict says if no rule found a cause: what held meanwhile, if that is rare
// otherwise, and what would make it sure.
func probably(account []Share, stalls StallSummary) string {
	none := " No cause found in these sources; see what could not be measured."
	if stalls.IntervalS > 0 {
		none = fmt.Sprintf(" No cause found in these sources in means of %s; shorter intervals show more. See what could not be measured.",
			units.Seconds(stalls.IntervalS))
	}

	var best *Share
	for i := range account {
		s := &account[i]
		if s.Note != wallClockNote || s.Seconds < probableShare*s.Of || s.Seconds < probableRatio*s.Otherwise*s.Of {
			continue
		}
		if best == nil || s.Seconds > best.Seconds {
			best = s
		}
	}

	if best == nil {
		return always(account, none)
	}

	share := units.Percent(best.Seconds / best.Of)
	switch {
	case best.Share == duringCheckpoint && stalls.Episodes <= fewStalls:
		return fmt.Sprintf(" Probably checkpoints: %s of the stalled time falls into one, but %s too few to be sure. Record until two more have run.",
			share, seldom(stalls.Episodes))
	case best.Share == duringCheckpoint:
		return fmt.Sprintf(" Perhaps checkpoints: %s of the stalled time falls into one, which may be chance.",
			share)
	}

	return fmt.Sprintf(" No cause is certain, but in %s of the stalled time this held: %s.", share, best.Share)
}

// always is what the verdict says where what held in the stalled time holds about as often otherwise; none
// if nothing held in most of it.
func always(account []Share, none string) string {
	var best *Share
	for i := range account {
		if s := &account[i]; s.Note == wallClockNote && s.Seconds >= probableShare*s.Of &&
			(best == nil || s.Seconds > best.Seconds) {
			best = s
		}
	}
	if best == nil {
		return none
	}
	return fmt.Sprintf(" No cause is certain: in %s of the stalled time this held, but in %s of the other time as well: %s.",
		units.Percent(best.Seconds/best.Of), units.Percent(best.Otherwise), best.Share)
}

func seldom(stalls int) string {
	if stalls == 1 {
		return "one stall is"
	}
	return fmt.Sprintf("%d stalls are", stalls)
}

// bothLimits is a limit that binds in most of the stalled time beside the volume's other one, so that
// neither is the cause alone; nil if there is none.
func bothLimits(findings []Finding) *Finding {
	i := slices.IndexFunc(findings,
		func(f Finding) bool { return f.Kind == Cause && f.Alike && f.Weight >= minExplained })
	if i < 0 {
		return nil
	}
	return &findings[i]
}

// measuredMost is how many waits the verdict names, and measuredLeast the share that one has at least.
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
	return fmt.Sprintf(" Explained by measurement, what slow calls of %s waited: %s.", m.Who(),
		strings.Join(parts, ", "))
}

// because names the causes of what got slower.
func because(findings []Finding) string {
	var names []string
	for _, f := range findings {
		if f.Kind == Cause && f.Severity != Info && len(names) < 3 {
			names = append(names, lowerFirst(f.Title)+" ("+f.Subject+")")
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " Beside it: " + strings.Join(names, "; ") + "."
}

// headline lists several incidents, the most harmful first.
func headline(r *Report) string {
	var b strings.Builder
	n := len(r.Incidents) + r.MoreIncidents
	fmt.Fprintf(&b, "%d incidents in %s, the most harmful first.", n, units.Seconds(watched(r)))
	for _, x := range r.Incidents[:min(len(r.Incidents), incidentsTold)] {
		fmt.Fprintf(&b, " %d: %s", x.ID, x.Verdict)
	}
	if more := n - incidentsTold; more > 0 {
		fmt.Fprintf(&b, " And %d more.", more)
	}
	return b.String()
}

// watched is the longest time that anything was watched, in seconds: without gaps.
func watched(r *Report) (s float64) {
	for _, x := range r.Incidents {
		s = max(s, x.Stalls.Of)
	}
	return s
}

// when says in words when an incident was, in UTC.
func when(s, whole Span) string {
	day := "15:04:05"
	layout := day
	if whole.From.UTC().YearDay() != whole.To.UTC().YearDay() || whole.To.Sub(whole.From).Hours() >= 24 {
		layout = "2006-01-02 15:04:05"
	}
	from, to := s.From.UTC(), s.To.UTC()
	last := layout
	if from.Format(time.DateOnly) == to.Format(time.DateOnly) {
		last = day
	}
	return fmt.Sprintf(", from %s to %s UTC", from.Format(layout), to.Format(last))
}
