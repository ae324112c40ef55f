package results

import (
	"fmt"
	"strconv"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/present/document"
)

// Simulation shows the results of at least one simulation. The first is the scenario as written;
// the others are its variants, shown in the same table and charts. Results without
// [simulate.Series] have no charts.
func Simulation(results []*simulate.Result, origin Origin) *document.Document {
	r := results[0]
	g := newLedger(origin)
	g.runs(results)
	p := &document.Document{Kind: "Simulation", Title: r.Scenario + ": simulation", Verdict: verdictOf(r)}
	p.Lead = []string{loadText(r)}

	if bad := unsettled(r); bad != "" {
		p.Lead = append(p.Lead, bad)
	}

	p.Facts = resultFacts(r, g)
	if len(results) > 1 {
		p.Add(compareSection(results, g))
	}

	first := len(p.Sections)
	resultSections(p, results, g)

	for i := first; i < len(p.Sections) && len(results) > 1; i++ {
		p.Sections[i].Only = document.Page | document.Markdown // a terminal shows only the table of variants
	}

	p.Add(aboutSection(r, g))
	p.Add(g.section())
	return p
}

// resultSections adds the sections of any result: charts, latencies, waits, volumes.
func resultSections(p *document.Document, results []*simulate.Result, g *ledger) {
	r := results[0]
	if p.Timeline = simulatedTimeline(results, g); p.Timeline != nil {
		p.Add(document.Section{ID: "timeline", Title: "Timeline", Note: p.Timeline.Note, Screen: document.IfItFits,
			Parts: []document.Part{{Timeline: p.Timeline}}})
	}
	p.Add(latencySection(results, p.Timeline, g))
	p.Add(cyclesSection(r, g)...)
	if len(r.Waits) > 0 {
		p.Add(waitSection(r, g))
	}
	p.Add(volumeSection(r, g))
}

// cyclesSection describes checkpoints, or the engine's equivalent; none if none completed.
func cyclesSection(r *simulate.Result, g *ledger) []document.Section {
	c := &r.Checkpoints
	if c.Count == 0 {
		return nil
	}

	text := fmt.Sprintf("%s completed, median %s, longest %s; running %s of the time",
		units.Count(int64(c.Count)), optional(c.MedianSeconds, "seconds"),
		optional(c.MaxSeconds, "seconds"), units.Percent(c.ShareOfTime))
	if c.PeriodSeconds != nil {
		text += "; one starts every " + units.Seconds(*c.PeriodSeconds)
	}

	if c.Requested > 0 {
		text += fmt.Sprintf("; %d were requested early", c.Requested)
	}

	if c.DirtyBytesMax != nil {
		text += fmt.Sprintf("; up to %s dirty at the start", units.Bytes(*c.DirtyBytesMax))
	}

	if c.WrittenBytes > 0 { // unknown for a real engine
		text += fmt.Sprintf("; %s written in total", units.Bytes(c.WrittenBytes))
	}

	return []document.Section{{ID: "cycles", Title: sentenceCase(cycleWord(r)) + "s",
		Parts: []document.Part{{Text: text + ".", Ref: g.cyclesEvidence(r)}}}}
}

// verdictOf summarises a result in a sentence, objectives first.
func verdictOf(result *simulate.Result) string {
	var missed, within, met []string
	for _, o := range result.Objectives {
		got := "unknown"
		if o.Got != nil {
			got = units.Value(*o.Got, o.Unit)
		}

		text := fmt.Sprintf("%s is %s, objective %s", o.Name, got, units.Value(o.Wanted, o.Unit))
		switch {
		case o.Met:
			met = append(met, text)
		// The figure is within the objective, but a caveat says that it will not last.
		case o.Caveat != "":
			within = append(within, text)
		default:
			missed = append(missed, text)
		}
	}

	switch {
	case len(missed) > 0:
		return "Objective not met: " + strings.Join(append(missed, caveatTexts(result)...), "; ") + "."
	case len(within) > 0:
		return doubtfulText(result, strings.Join(within, "; "))
	case len(met) > 0:
		return "Objective met: " + strings.Join(met, "; ") + "."
	case result.Writes.All.Operations > 0:
		return fmt.Sprintf("Writes take %s at the median and %s at p99.",
			optional(result.Writes.All.P50Seconds, "seconds"), optional(result.Writes.All.P99Seconds, "seconds"))
	case result.Reads.All.Operations > 0:
		return fmt.Sprintf("Reads take %s at the median and %s at p99.",
			optional(result.Reads.All.P50Seconds, "seconds"), optional(result.Reads.All.P99Seconds, "seconds"))
	}

	// Latencies only count operations that started in the measured time, so all of them can be
	// missing while others complete.
	if result.DonePerSec > 0 {
		return fmt.Sprintf("The engine does not keep up: %s operations per second completed, all of them started during warm-up; none started in the measured %s completed.",
			units.Number(result.DonePerSec), units.Seconds(result.Seconds))
	}

	return "No operation completed."
}

// doubtfulText is the verdict on figures that meet the objectives but are inconclusive.
func doubtfulText(r *simulate.Result, within string) string {
	c := r.Caveats[0]
	switch {
	case c.HoldsSeconds > 0:
		return fmt.Sprintf("Objective met for %s, then missed: %s; %s.", units.Seconds(c.HoldsSeconds),
			c.Text, within)
	case c.Kind == simulate.Few:
		return fmt.Sprintf("Objective not judged: %s. Among them, %s.", c.Text, within)
	case c.Kind == simulate.Backlog:
		return fmt.Sprintf("Objective not met: %s. For completed operations, %s.", c.Text, within)
	}
	return fmt.Sprintf("Objective not met: %s. In the model, %s.", c.Text, within)
}

// caveatTexts returns the texts of a result's caveats.
func caveatTexts(r *simulate.Result) []string {
	var out []string
	for _, c := range r.Caveats {
		out = append(out, c.Text)
	}
	return out
}

func loadText(r *simulate.Result) string {
	text := r.Scenario + ", " + r.Engine
	if r.Host.Machine != "" {
		text += " on " + r.Host.Machine
	}

	text += fmt.Sprintf(", %s measured after %s of warm-up. ", units.Seconds(r.Seconds),
		units.Seconds(r.WarmupSeconds))
	if r.OpenLoop {
		text += fmt.Sprintf("Open loop: %s/s arrived, %s/s completed", units.Number(r.AskedPerSec),
			units.Number(r.DonePerSec))
	} else {
		text += fmt.Sprintf("Closed loop: %s/s, each client waits for its answer, so it does not show what users would feel during a stall",
			units.Number(r.DonePerSec))
	}

	if r.Unanswered > 0 {
		text += fmt.Sprintf("; %s unanswered at the end", units.Count(r.Unanswered))
	}

	return text + "."
}

// unsettledShare is the share of unanswered operations above which percentiles are lower bounds.
const unsettledShare = 0.01

func unsettled(r *simulate.Result) string {
	if r.OpenLoop && float64(r.Unanswered) > unsettledShare*float64(
		r.Writes.All.Operations+r.Reads.All.Operations) {
		return "More than 1 % of operations are still unanswered: percentiles are lower bounds, and the run may never settle."
	}
	return ""
}

func resultFacts(result *simulate.Result, sources *ledger) []document.Fact {
	var out []document.Fact
	add := func(label string, x *float64, unit, note, href string, ref func() string) {
		if x != nil {
			out = append(out, document.Fact{Label: label, Value: units.Value(*x, unit), Note: note, Href: href,
				Ref: ref()})
		}
	}

	name, class := "write", &result.Writes
	// The headline of a read-only workload is about reads.
	if class.All.Operations == 0 {
		name, class = "read", &result.Reads
	}

	latencies := func() string { return sources.classEvidence(result, name, "all") }
	add(name+" p99", class.All.P99Seconds, "seconds", "median "+optional(class.All.P50Seconds, "seconds"),
		"#latency", latencies)
	if len(out) > 0 {
		for _, o := range result.Objectives {
			if o.Name == name+"_p99" && o.Met {
				out[0].Level = "good"
			} else if o.Name == name+"_p99" {
				out[0].Level = "critical"
			}
		}
	}

	add("slowest "+name, class.All.MaxSeconds, "seconds", "of "+units.Count(class.All.Operations),
		"#latency", latencies)
	if result.Checkpoints.Count > 0 {
		add(cycleWord(result)+", median", result.Checkpoints.MedianSeconds, "seconds",
			units.Percent(result.Checkpoints.ShareOfTime)+" of the time", "#timeline",
			func() string { return sources.cyclesEvidence(result) })
	}

	for i := range result.Volumes {
		if v := &result.Volumes[i]; i < 2 {
			add(v.Name+" busy", &v.BusyMax, "ratio", "in the worst 10 s; "+units.Number(v.IOPS)+" IO/s on average",
				"#volumes", func() string { return sources.volumeEvidence(result, v.Name) })
		}
	}

	if result.MonthlyUSD != nil {
		add("a month", result.MonthlyUSD, "USD", "volumes "+optional(result.MonthlyVolumesUSD, "USD"), "",
			sources.priced)
	} else {
		add("volumes a month", result.MonthlyVolumesUSD, "USD", "", "", sources.priced)
	}

	return out
}

// chartedMax is how many variants one chart shows; more could not be distinguished.
const chartedMax = document.SeriesStyles

// simulatedTimeline overlays the results' series; nil if the first has none.
func simulatedTimeline(results []*simulate.Result, sources *ledger) *document.Timeline {
	result := results[0]
	if result.Series == nil || !(result.Seconds > 0) || !(result.Series.StepSeconds > 0) {
		return nil
	}

	axis := &document.Timeline{ToS: result.Seconds, Elapsed: true}
	if len(result.Series.Checkpoints) > 0 {
		axis.Bands = []document.Band{{Kind: "checkpoint", Name: cycleWord(result) + " running",
			Spans: result.Series.Checkpoints}}
	}

	shown := results[:min(len(results), chartedMax)]
	add := func(title, unit string, limit float64, ref func() string, of func(s *simulate.Series) []*float64) {
		c := document.Chart{ID: "c" + strconv.Itoa(len(axis.Charts)+1), Title: title, Unit: unit, Limit: limit,
			StepS: result.Series.StepSeconds}
		for i, x := range shown {
			// A series with a different step would not line up with the shared axis.
			if x.Series == nil || x.Series.StepSeconds != c.StepS {
				continue
			}
			if values := known(of(x.Series)); values != nil {
				c.Series = append(c.Series, document.Series{Name: variantName(x), Style: i%document.SeriesStyles + 1,
					Values: values})
			}
		}

		if len(c.Series) > 0 {
			c.Href = ref()
			axis.Charts = append(axis.Charts, c)
		}
	}

	limit := 0.0
	for _, o := range result.Objectives {
		if o.Name == "write_p99" {
			limit = o.Wanted
		}
	}

	writes := func() string { return sources.classEvidence(result, "write", "all") }
	add("write p99", "seconds", limit, writes, func(s *simulate.Series) []*float64 { return s.WriteP99 })
	add("slowest write", "seconds", 0, writes, func(s *simulate.Series) []*float64 { return s.WriteMax })

	for i := range axis.Charts {
		axis.Charts[i].Log = true // stalls last seconds, other writes a millisecond
	}

	add("dirty in the engine's cache", "bytes", 0, func() string { return sources.engineDirtyEvidence(result) },
		func(s *simulate.Series) []*float64 { return s.EngineDirty })
	add("page cache dirty", "bytes", 0, func() string { return sources.dirtyEvidence(result) },
		func(s *simulate.Series) []*float64 { return s.HostDirty })

	for _, name := range volumesOf(shown) {
		add(name+" busy", "ratio", 0, func() string { return sources.volumeEvidence(having(shown, name), name) },
			func(s *simulate.Series) []*float64 { return s.Busy[name] })
	}

	if len(axis.Charts) == 0 {
		return nil
	}

	axis.Note = fmt.Sprintf("Each point covers %s of the measured time; a latency is plotted at its operation's intended start.",
		units.Seconds(result.Series.StepSeconds))
	if len(results) > chartedMax {
		axis.Note += fmt.Sprintf(" Only the first %d of %d are drawn.", chartedMax, len(results))
	}

	if len(results) > 1 && len(axis.Bands) > 0 {
		axis.Note += " Bands show the scenario as written."
	}

	axis.From, axis.To = "0", units.Seconds(result.Seconds)
	return axis
}

// variantName distinguishes a result from others.
func variantName(r *simulate.Result) string {
	if r.Variant == "" {
		return "as written"
	}
	return r.Variant
}

// aboutSection says how accurate the result is and how to reproduce it.
func aboutSection(r *simulate.Result, g *ledger) document.Section {
	var parts []document.Part
	if r.ModelError != "" { // a lab run has none
		parts = append(parts, document.Part{Text: "Error bar: " + r.ModelError + ".", Ref: g.accurate()})
	}
	for _, w := range r.Warnings {
		parts = append(parts, document.Part{Text: w})
	}
	parts = append(parts, document.Part{Text: seedText(r.Seed, g.Program)})
	return document.Section{ID: "trust", Title: "How accurate this is", Screen: document.Always, Parts: parts}
}

// seedText says how to reproduce a result.
func seedText(seed uint64, program string) string {
	if program != "" {
		program = ", " + program
	}
	return fmt.Sprintf("Seed %d%s: the same scenario, seed and version give identical bytes.", seed, program)
}
