package rules

import (
	"math"

	"plimsoll/internal/record/timeline"
)

// symptomWords are the sentence templates that all symptom rules share.
var symptomWords = Words{
	"stalled":           "{{.stalled}} of {{.watched}} stalled ({{.share}}), in {{.episodes}} of at most {{.longest}}.",
	"not felt":          "{{.clients}} hardly stalled meanwhile: clients did not notice.",
	"in cycle":          "{{.share}} of that time falls within checkpoints: the device was slow in {{.slow}} of {{.all}} of up to {{.longest}}, slowest at {{.at}} UTC.",
	"in cycle headline": "{{.device}} was slow in {{.slow}} of {{.all}} of up to {{.longest}}, but no client waited for it.",
	"burst":             "It completed {{.more}} times as many requests as at other times: the requests of a burst wait for each other, and no source shows whether a client waited for them.",
	"combined title":    "The device's requests are slow",
	"combined cause":    "How long the device's requests took, reads and writes in one figure, as the source reports it. It includes waiting in the device's own queue, which is where a cap makes requests wait on a cloud volume.",
	"combined":          "Reads and writes share one latency figure, so it is unknown which of them waited.",
	"recurring":         "They recur every {{.period}}.",
	"latency":           "Mean latency in a stalled interval: median {{.median}}, worst {{.worst}}{{with .calm}}; otherwise {{.}}{{end}}.",
}

// SymptomRule makes a symptom rule, which reports the stalled time found by the detector with its
// ID. when is the same condition without a median over the whole recording, for use in an exported
// alert.
func SymptomRule(id, title, when, cause string) Rule {
	r := Rule{ID: id, Title: title, Kind: Symptom, When: when, Cause: cause, Words: symptomWords}
	r.Judge = func(c *Case, _ []timeline.Track) []Finding {
		var out []Finding
		for _, s := range c.Symptoms {
			if s.Rule == id && s.Any() {
				out = append(out, r.symptomFinding(c, s))
			}
		}
		return out
	}
	return r
}

func (r Rule) symptomFinding(input *Case, stall Stall) Finding {
	finding := r.Finding(stall.Subject)
	cells := stall.AsSampled()
	stalled, seen := input.Seconds(cells), input.Seconds(stall.Observed)
	finding.Say("stalled", Values{"stalled": Seconds(stalled), "watched": Seconds(seen),
		"share":    Part(stalled / seen),
		"episodes": Things(len(cells.Episodes()), "episode"), "longest": Seconds(input.LongestS(cells))})
	if stall.Combined {
		finding.Entitle("combined title", nil)
		finding.Explain("combined cause", nil)
		finding.Say("combined", nil)
	}

	// A device's stall is critical only if a database's clients stalled seriously as well, or if
	// none is known.
	finding.Severity = Warning
	switch {
	case input.serious(stall) && (stall.IsDatabase || !input.Stall.IsDatabase || input.serious(input.Stall)):
		finding.Severity = Critical
	case Trifle(stalled, seen):
		finding.Severity = Info
	}

	if !stall.IsDatabase && input.Stall.IsDatabase {
		// The clients' stalls are known, so a slow device matters only if clients noticed.
		if felt := Share(input.Stall.Cells, stall.Cells); felt < MinAttributable {
			finding.Severity = Info
			finding.Say("not felt", Values{"clients": Called(input.Stall.Subject)})
		}
	}

	// A burst, such as the OS writing its page cache, makes its own requests wait on a healthy host too.
	more := stall.timesAsMany()
	if !stall.IsDatabase && !input.Stall.IsDatabase && more >= BurstFactor && !input.readsStop(stall) {
		finding.Severity = LessThanCritical(finding.Severity)
		finding.Say("burst", Values{"more": Number(more)})
	}

	if !stall.IsDatabase {
		input.sayInCycle(&finding, stall)
	}

	finding.Weight = stalled / seen
	finding.Windows = input.Windows(stall.AsSampled())
	if finding.PeriodS = input.Period(stall.AsSampled()); finding.PeriodS > 0 {
		finding.Say("recurring", Values{"period": Seconds(finding.PeriodS)})
	}

	// If no operation ended in the stalled cells, there is no latency to report.
	if lat := timeline.At(stall.Latency, stall.Cells); timeline.Count(lat) > 0 {
		finding.Say("latency", Values{"median": Seconds(timeline.Quantile(lat, 0.5)), "worst": Seconds(timeline.Max(lat)),
			"calm": Seconds(stall.usualLatency())})
		finding.Evidence = append(finding.Evidence,
			input.Figure("worst mean latency in one interval", nil, timeline.Max(lat), "seconds", stall.Cells),
			input.Figure("median of the mean latency per interval over the whole recording", nil,
				timeline.Quantile(stall.Latency, 0.5), "seconds", stall.Observed),
			input.Figure("95th percentile of the mean latency per interval", nil, timeline.Quantile(stall.Latency, 0.95),
				"seconds", stall.Observed),
			input.Figure("latency from which an interval counts as stalled", nil, stall.Threshold, "seconds", stall.Observed))
	}

	if stall.Ops != nil {
		finding.Evidence = append(finding.Evidence,
			input.Figure("usual completions", nil, timeline.Quantile(stall.Ops, 0.5), "1/s", stall.Observed),
			input.Figure("completions in the stalled intervals, median", nil,
				timeline.Quantile(timeline.At(stall.Ops, stall.Cells), 0.5), "1/s", stall.Cells))
	}

	return finding
}

// usualLatency is the latency outside the stalled time, in seconds: the median of its intervals. If sessions
// are counted once a second, most calm samples catch none; then it is the mean of all operations. NaN if no
// operation waited at all.
func (s Stall) usualLatency() float64 {
	calm := s.Observed.Without(s.Cells)
	if median := timeline.Quantile(timeline.At(s.Latency, calm), 0.5); median != 0 || s.Ops == nil {
		return median
	}

	waited, completed := 0.0, 0.0
	for i, isCalm := range calm {
		if seconds, n := s.Latency[i], s.Ops[i]; isCalm && !math.IsNaN(seconds) && !math.IsNaN(n) {
			waited += seconds * n
			completed += n
		}
	}
	if waited == 0 {
		return math.NaN()
	}
	return waited / completed
}

// timesAsMany is how many times as many operations as at calm times completed in stalled time, by
// medians; NaN if that is not known.
func (s Stall) timesAsMany() float64 {
	if s.Ops == nil {
		return math.NaN()
	}
	calm := timeline.At(s.Ops, s.Observed.Without(s.Cells))
	return timeline.Quantile(timeline.At(s.Ops, s.Cells), 0.5) / timeline.Quantile(calm, 0.5)
}

// readsStop reports whether a device that reads at calm times hardly reads in stalled time: its reads
// wait behind the writes, and a program waits for nearly every read.
func (c *Case) readsStop(s Stall) bool {
	const fewReads, hardly = 1.0, 0.5 // per second at calm times; of the calm rate
	reads := c.For(DiskReads, "device", s.Subject)
	calm := timeline.Quantile(timeline.At(reads, s.Observed.Without(s.Cells)), 0.5)
	return calm >= fewReads && timeline.Quantile(timeline.At(reads, s.Cells), 0.5) < hardly*calm
}

// BurstFactor is the multiple of the calm write rate, in bytes per second, from which writes count as a
// burst. A burst explains a stall of the device if only devices report: it has no limit that these bytes
// reach, and requests wait behind them. If a database reports, its own rules name the checkpoint or the
// flush.
const BurstFactor = 4.0
