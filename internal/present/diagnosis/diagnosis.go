// Package diagnosis presents a diagnosis: [Document] for people, [JSON] for programs.
//
// The JSON is a contract: fields are added, never renamed or removed. [Schema] describes it.
package diagnosis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/present/document"
)

// Options say how a diagnosis is shown.
type Options struct {
	// Pack supplies the rules' conditions and the signals' PromQL.
	Pack *rules.Pack
	// Location is the time zone for display; nil means UTC.
	Location *time.Location
	// Host is the machine to name if no source names one; "" means none.
	Host string
	// Live says that the sources are being watched. The document then distinguishes what is true
	// now from what was true earlier.
	Live bool
	// Watching is the running watch of these sources; nil if there is none.
	Watching *document.Watching
	// Servers are the addresses of the databases on this machine, for a diagnosis of the machine alone.
	Servers []string
}

// diagnosed is a diagnosis that is turned into a document.
type diagnosed struct {
	*diagnose.Report
	Options
	clock   Clock
	queries *Queries
	charts  *document.Timeline
	linked  map[string]bool // rules whose address a finding has
}

// Document returns a diagnosis as a document. With r.Detail ([diagnose.Options], Slots), its
// timeline has enough detail for zooming, and latencies are drawn as a heat map and a distribution.
// Without it, the timeline has the few series of the contract.
func Document(report *diagnose.Report, opt Options) *document.Document {
	if opt.Location == nil {
		opt.Location = time.UTC
	}

	shown := &diagnosed{Report: report, Options: opt, clock: NewClock(report.Span, opt.Location),
		queries: NewQueries(opt.Pack), linked: map[string]bool{}}
	doc := &document.Document{Kind: "Diagnosis", Title: document.FirstSentence(report.Verdict),
		Host: cmp.Or(hosts(report.Sources), opt.Host)}
	doc.Verdict, doc.Lead = shown.verdict()

	// Lost samples come before other remarks, because every figure depends on them.
	for _, l := range shown.Lost {
		doc.Lead = append(doc.Lead,
			fmt.Sprintf("LOST: %s of the samples of %s are missing, possibly the worst ones: %s.",
				units.Percent(l.Share), l.Source, l.Text))
	}

	doc.Lead = append(doc.Lead, shown.nearly()...)
	doc.Lead = append(doc.Lead, shown.headroomLines()...)
	shown.nameServer(doc)
	if shown.charts = shown.timeline(); shown.charts != nil {
		doc.Timeline = shown.charts
		doc.Add(document.Section{ID: "timeline", Title: "Timeline", Note: shown.charts.Note,
			Screen: document.IfItFits, Parts: []document.Part{{Timeline: shown.charts}}})
	}

	// The timeline must be built before these: they link to it only if there is one.
	doc.Now, doc.Onward = shown.doNow(), shown.onward()
	doc.Facts, doc.Summary = shown.facts(), shown.summary()
	doc.Add(shown.marks(), shown.others(), shown.incidents())
	doc.Add(shown.periods()...)

	calm := report.Stalls.Seconds == 0

	// If nothing stalled, the next limit to be reached matters most.
	if calm {
		s := shown.headroom()
		s.Screen = document.IfItFits
		doc.Add(s)
	}

	causes, symptoms := shown.ofKind(diagnose.Cause), shown.ofKind(diagnose.Symptom)
	// Without a latency to judge, "none" would claim too much.
	if len(causes)+len(symptoms) == 0 && report.Stalls.Of > 0 {
		doc.Add(document.Section{ID: "why", Title: "Findings", Screen: document.IfItFits,
			Parts: []document.Part{{Text: "None: no rule that could be judged found a cause or a symptom."}}})
	}

	doc.Add(shown.findings("why", "Causes", "", causes, 0),
		shown.findings("hurts", "Symptoms", "", symptoms, len(causes)), shown.elsewhere())
	doc.Add(shown.support()...)
	doc.Add(shown.then(), shown.measured(), shown.account())
	doc.Add(shown.latency()...)
	doc.Add(shown.findings("not", "Ruled out", "What not to spend money on.", shown.ofKind(diagnose.Refutation),
		len(causes)+len(symptoms)))

	if !calm {
		doc.Add(shown.headroom())
	}

	doc.Add(shown.gaps(), shown.sources(), shown.queries.Section())

	if len(report.Findings) > 0 {
		doc.Next = "More on a finding: plimsoll rules show " + report.Findings[0].Rule
	}

	return doc
}

// timeline puts the report's series on a common time axis; nil if there are none.
func (d *diagnosed) timeline() *document.Timeline {
	if !d.Span.To.After(d.Span.From) {
		return nil
	}

	from, to := d.Span.From, d.Span.To
	// With cuts, the axis only covers the runs.
	if n := len(d.Runs); n > 0 {
		from, to = d.Runs[0].From, d.Runs[n-1].To
	}

	axis := &document.Timeline{FromS: d.seconds(from), ToS: d.seconds(to), Cuts: d.cuts(),
		Zone: d.Span.From.In(d.Location).Format("MST")}
	var slot float64
	add := func(p diagnose.Plot) {
		c := document.Chart{ID: "c" + strconv.Itoa(len(axis.Charts)+1), Title: p.Title, Unit: p.Unit, Limit: p.LimitS,
			Href:  d.queries.Link(p.Signal),
			FromS: d.seconds(p.Tracks[0].From), StepS: p.Tracks[0].StepS}
		d.series(&c, p.Tracks, axis.ToS)
		if len(c.Series) == 0 {
			return
		}

		if p.Percentiles {
			percentiles(&c, p)
		} else {
			// Points of percentiles have their own step, which their chart states.
			slot = max(slot, c.StepS)
		}

		axis.Charts = append(axis.Charts, c)
	}

	if d.Detail != nil {
		d.band(axis, "stall", "stalled", d.Detail.Stalled)
		d.band(axis, "checkpoint", "checkpoint running", d.Detail.Checkpoints)
		for _, p := range d.Detail.Plots {
			add(p)
		}
	} else {
		d.band(axis, "stall", "stalled", d.Stalls.Windows)

		// With cuts, each series has a track for each run, which form a single plot.
		plots := titled(d.Report.Timeline)
		if len(d.Runs) == 0 {
			plots = plots[:0]
			for _, x := range d.Report.Timeline {
				plots = append(plots, diagnose.Plot{Title: x.Name, Unit: x.Unit, Tracks: []diagnose.Track{x}})
			}
		}

		for _, p := range plots {
			add(p)
		}
	}

	if len(axis.Charts) == 0 {
		return nil
	}

	for _, m := range d.Marks {
		// A mark after the last sample is drawn at the end.
		axis.Marks = append(axis.Marks, document.Mark{AtS: min(d.seconds(m.At), axis.ToS),
			Text: document.Visible(m.Text), Clock: d.clock.At(m.At)})
	}

	axis.Note = d.pointsNote(slot, axis)
	axis.From, axis.To = d.clock.At(from), d.clock.At(to)
	return axis
}

// pointsNote explains what a point of the charts means.
func (d *diagnosed) pointsNote(slot float64, t *document.Timeline) string {
	note := "Times are " + t.Zone + "."
	if slot > 0 {
		note = fmt.Sprintf("Each point is the highest value in its %s. %s", units.Seconds(slot), note)
	}
	if slices.ContainsFunc(t.Charts, func(c document.Chart) bool { return c.Counts != nil }) {
		note += " A percentile covers all operations in its time span. It needs at least 10 operations for p50, 100 for p99 and 1,000 for p99.9."
	}
	return note
}

func (d *diagnosed) band(t *document.Timeline, kind, name string, spans []diagnose.Span) {
	b := document.Band{Kind: kind, Name: name}
	for _, s := range spans {
		b.Spans = append(b.Spans, [2]float64{d.seconds(s.From), d.seconds(s.To)})
	}
	if len(b.Spans) > 0 {
		t.Bands = append(t.Bands, b)
	}
}

// smallShare is the share of the stalled time below which only a share's name is listed.
const smallShare = 0.01

// account says where the stalled time went.
func (d *diagnosed) account() document.Section {
	if len(d.Account) == 0 {
		return document.Section{}
	}

	aside, unit := "", "seconds"
	if of := d.Account[0].Of; of > 0 {
		// With wait counters, the whole is the time operations waited, not the stalled wall-clock
		// time.
		if math.Abs(of-d.Stalls.Seconds) > 1e-9 {
			unit = units.OpSeconds
			aside = "of " + units.Value(of, unit) + " of waiting, summed over operations"
		} else {
			aside = "of " + units.Seconds(of)
		}
	}

	shares := &document.Shares{Caption: "Where the stalled time went", Under: units.Percent(smallShare)}
	for _, s := range d.Account {
		row := document.SharePart{Name: s.Share, Amount: units.Value(s.Seconds, unit), Note: s.Note,
			Overlaps: s.Overlaps}
		if s.Of > 0 {
			row.Part = s.Seconds / s.Of
			// How much is unexplained says how far to trust the rest, however small it is.
			row.Minor = s.Seconds < smallShare*s.Of && s.Share != "unexplained"
		}
		shares.Rows = append(shares.Rows, row)
	}

	return document.Section{ID: "accounting", Title: "Where the stalled time went", Aside: aside,
		Parts: []document.Part{{Shares: shares}}}
}

// densityOfSpread prepares a spread for drawing, together with the operations that are shown
// separately.
func (d *diagnosed) densityOfSpread(x *diagnose.Spread) (h document.Density, parts []document.Population) {
	h = document.Density{FromS: d.seconds(x.From), StepS: x.StepS, BoundsS: x.BoundsS, Counts: x.Operations,
		Unseen: x.Unseen}
	if x.Stalled != nil {
		stalled := document.Population{Name: "in stalled intervals", Counts: x.Stalled, Unseen: x.StalledUnseen}
		parts = []document.Population{stalled, h.Everything("").Without("otherwise", stalled)}
	}
	return h, parts
}

// latency draws the distribution of latencies.
func (d *diagnosed) latency() []document.Section {
	if d.Detail == nil || d.charts == nil {
		return nil
	}

	var out []document.Section
	for _, spread := range d.Detail.Latencies {
		h, stalled := d.densityOfSpread(spread)
		id := "latency"
		if len(out) > 0 {
			id += strconv.Itoa(len(out) + 1)
		}

		var parts []document.Part
		if spread.Signal != "" {
			parts = append(parts, document.Part{Source: &document.Cell{Text: spread.Signal,
				Href: d.queries.Link(spread.Signal)}})
		}

		for _, f := range []*document.Figure{h.HeatMap(d.charts, spread.Subject),
			h.Distribution(spread.Subject, stalled...)} {
			if f != nil {
				f.ID += strings.TrimPrefix(id, "latency")
				parts = append(parts, document.Part{Figure: f})
			}
		}

		// Only the source and no figure: nothing to show.
		if len(parts) < 2 {
			continue
		}

		note := "Each operation counts individually, from the source's histogram."
		if spread.SlowestOf > 1 {
			note += " Of " + strconv.Itoa(spread.SlowestOf) + " instances, this one has the highest p99."
		}

		if spread.Signal == "" {
			note = "Only the mean latency of each interval is known, and each operation counts with the mean of its interval. Individual operations were slower or faster."
		}

		out = append(out, document.Section{ID: id, Title: "Latency of " + spread.Subject, Note: note, Parts: parts})
	}

	return out
}

// gaps lists the rules that could not be judged.
func (d *diagnosed) gaps() document.Section {
	all := gaps(d.Report, d.Pack)
	if len(all) == 0 {
		return document.Section{}
	}
	return document.Section{ID: "gaps", Title: "Not measurable here", Aside: "neither found nor ruled out",
		Parts: []document.Part{{Gaps: all, Brief: d.Stalls.Of > 0}}}
}

// sources lists the sources that were examined.
func (d *diagnosed) sources() document.Section {
	tab := document.NewTable("Sources", "source", "kind", "#samples", "from", "to")
	for _, s := range d.allSources() {
		what := strings.TrimSpace(s.Kind + " " + strings.TrimSpace(s.Engine+" "+s.Version))
		if s.Host != "" {
			what += ", host " + s.Host
		}

		samples := ""
		if s.Samples > 0 {
			samples = units.Number(float64(s.Samples))
		}

		row := []document.Cell{{Text: s.Name, Roles: "code long", Note: facts(s.Facts)}, {Text: what},
			{Text: samples, Number: true}, {}, {}}
		if s.PeriodS > 0 {
			row[2].Note = units.Seconds(s.PeriodS) + " apart"
		}

		if !s.From.IsZero() && !s.To.IsZero() {
			row[3].Text = s.From.In(d.Location).Format(time.DateTime)
			row[4].Text = s.To.In(d.Location).Format(time.DateTime)
		}

		tab.Add(row)
	}

	tab.Notes = d.Notes
	return document.Section{ID: "sources", Title: "Sources", Only: document.Page | document.Markdown,
		Parts: []document.Part{{Table: tab}}}
}
