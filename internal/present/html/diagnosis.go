package html

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/present/report"
)

// Diagnosis writes a diagnosis as a page. With r.Detail ([diagnose.Options], Slots) its charts have the detail that
// zooming deserves and latencies are drawn as a heat map and a distribution; without, the few series of the
// contract are drawn.
func Diagnosis(w io.Writer, r *diagnose.Report, opt Options) error {
	return write(w, diagnosisPage(r, opt))
}

// A diagnosed is a diagnosis that is made into a page.
type diagnosed struct {
	*diagnose.Report
	clock   report.Clock
	loc     *time.Location
	queries *queries
	charts  *timeline
}

func diagnosisPage(r *diagnose.Report, opt Options) *page {
	d := &diagnosed{Report: r, clock: report.NewClock(r.Span, opt.location()), loc: opt.location(), queries: &queries{}}
	first, rest := firstSentence(r.Verdict)
	p := &page{Kind: "Diagnosis", Title: first, Verdict: first, Footer: opt.Program, queries: d.queries}
	if rest != "" {
		p.Lead = []string{rest}
	}
	if d.charts = d.timeline(); d.charts != nil {
		p.Charts = d.charts
		p.Sections = append(p.Sections, section{ID: "timeline", Title: "Timeline", Note: d.charts.Note, Parts: []part{{Timeline: d.charts}}})
	}
	p.Facts = d.facts()
	causes, symptoms := d.ofKind(diagnose.Cause), d.ofKind(diagnose.Symptom)
	if len(causes)+len(symptoms) == 0 && r.Stalls.Of > 0 {
		p.Sections = append(p.Sections, section{ID: "why", Title: "Findings", Parts: []part{{Text: "None: no rule of those that could be judged found a cause or a symptom."}}})
	}
	p.Sections = append(p.Sections, d.findings("why", "Why", "", causes, 0)...)
	p.Sections = append(p.Sections, d.findings("hurts", "What hurts", "", symptoms, len(causes))...)
	p.Sections = append(p.Sections, d.account()...)
	p.Sections = append(p.Sections, d.latency()...)
	p.Sections = append(p.Sections, d.findings("not", "What it is not", "What not to spend money on.", d.ofKind(diagnose.Refutation), len(causes)+len(symptoms))...)
	p.Sections = append(p.Sections, d.gaps()...)
	p.Sections = append(p.Sections, d.sources())
	p.Sections = append(p.Sections, d.queries.section()...)
	return p
}

// firstSentence parts a verdict: an abbreviation's point is followed by no capital.
func firstSentence(s string) (first, rest string) {
	for i := 0; i+2 < len(s); i++ {
		if s[i] == '.' && s[i+1] == ' ' && (s[i+2] < 'a' || s[i+2] > 'z') {
			return s[:i+1], strings.TrimSpace(s[i+2:])
		}
	}
	return s, ""
}

func (d *diagnosed) ofKind(k diagnose.Kind) []diagnose.Finding {
	var out []diagnose.Finding
	for _, f := range d.Findings {
		if f.Kind == k {
			out = append(out, f)
		}
	}
	return out
}

// facts are the figures that carry the verdict.
func (d *diagnosed) facts() []fact {
	s := d.Stalls
	var out []fact
	timelineLink := ""
	if d.charts != nil {
		timelineLink = "#timeline"
	}
	switch {
	case s.Of <= 0:
		out = append(out, fact{Label: "Stalled", Value: "not known", Note: "no source tells how long clients' writes took"})
	case s.Seconds <= 0:
		out = append(out, fact{Label: "Stalled", Value: "0 s", Note: "of " + units.Seconds(s.Of) + " of " + s.Signal, Level: "good", Href: timelineLink})
	default:
		out = append(out, fact{Label: "Stalled", Value: units.Seconds(s.Seconds), Level: "critical", Href: timelineLink,
			Note: fmt.Sprintf("of %s, %s", units.Seconds(s.Of), units.Percent(s.Seconds/s.Of))})
		note := "longest " + units.Seconds(s.LongestS)
		if s.PeriodS > 0 {
			note += ", every " + units.Seconds(s.PeriodS)
		}
		out = append(out, fact{Label: "Episodes", Value: number(s.Episodes), Note: note, Href: timelineLink})
	}
	if worst := highest(d.Timeline); worst > 0 {
		out = append(out, fact{Label: "Worst mean latency", Value: units.Seconds(worst), Note: "of an interval, " + s.Signal, Href: timelineLink})
	}
	out = append(out, d.percentileFacts()...)
	for i, f := range d.ofKind(diagnose.Cause) {
		if i == 0 && f.Weight > 0 && s.Seconds > 0 {
			out = append(out, fact{Label: "First cause", Value: units.Percent(f.Weight), Note: "of the stall: " + f.Title, Level: level(f.Severity), Href: "#f1"})
		}
	}
	if !d.Span.From.IsZero() && !d.Span.To.IsZero() {
		out = append(out, fact{Label: "Watched", Value: units.Seconds(d.Span.Seconds()), Note: d.clock.Whole(d.Span), Href: "#sources"})
	}
	return out
}

// percentileFacts are the p99 of the first that is known by classes, over all time.
func (d *diagnosed) percentileFacts() []fact {
	if d.Detail == nil || d.charts == nil {
		return nil
	}
	for i, x := range d.Detail.Latencies {
		h, _ := d.densityOfSpread(x)
		all := h.everything("")
		if x.Signal == "" || len(h.BoundsS) < 2 || !all.enough(p99) {
			continue
		}
		href := "#latency"
		if i > 0 {
			href += number(i + 1)
		}
		return []fact{{Label: "p99 of " + x.Subject, Value: h.told(all, p99), Note: "of all " + counted(all.total()) + ", median " + h.told(all, median), Href: href}}
	}
	return nil
}

// highest is the highest latency plotted; 0 if none is.
func highest(tracks []diagnose.Track) (s float64) {
	if len(tracks) == 0 || tracks[0].Unit != "seconds" {
		return 0
	}
	for _, v := range tracks[0].Values {
		if v != nil && !math.IsNaN(*v) && !math.IsInf(*v, 0) {
			s = max(s, *v)
		}
	}
	return s
}

// timeline lays the report's series on one time; nil if there are none.
func (d *diagnosed) timeline() *timeline {
	if !d.Span.To.After(d.Span.From) {
		return nil
	}
	t := &timeline{FromS: clockSeconds(d.Span.From, d.loc), ToS: clockSeconds(d.Span.To, d.loc), Zone: d.Span.From.In(d.loc).Format("MST")}
	var slot float64
	add := func(p diagnose.Plot) {
		c := chart{ID: "c" + number(len(t.Charts)+1), Title: p.Title, Unit: p.Unit, Limit: p.LimitS, Href: d.queries.link(p.Signal),
			FromS: clockSeconds(p.Tracks[0].From, d.loc), StepS: p.Tracks[0].StepS}
		for i, x := range p.Tracks {
			if x.StepS != c.StepS || !x.From.Equal(p.Tracks[0].From) || !(x.StepS > 0) {
				continue // of another grid: it cannot stand on this axis
			}
			s := series{Name: x.Name, Style: i%seriesStyles + 1, Values: make(points, len(x.Values))}
			for k, v := range x.Values {
				if s.Values[k] = math.NaN(); v != nil {
					s.Values[k] = *v
				}
			}
			c.Series = append(c.Series, s)
		}
		if len(c.Series) == 0 {
			return
		}
		if p.Percentiles {
			c.percentiles(p)
		} else {
			slot = max(slot, c.StepS)
		}
		t.Charts = append(t.Charts, c)
	}
	if d.Detail != nil {
		t.band("stall", "stalled", d.Detail.Stalled, d.loc)
		t.band("checkpoint", "checkpoint running", d.Detail.Checkpoints, d.loc)
		for _, p := range d.Detail.Plots {
			add(p)
		}
	} else {
		t.band("stall", "stalled", d.Stalls.Windows, d.loc)
		for _, x := range d.Report.Timeline {
			add(diagnose.Plot{Title: x.Name, Unit: x.Unit, Tracks: []diagnose.Track{x}})
		}
	}
	if len(t.Charts) == 0 {
		return nil
	}
	t.Note = d.pointsNote(slot, t)
	t.finish()
	return t
}

// pointsNote says what a point of the charts is.
func (d *diagnosed) pointsNote(slot float64, t *timeline) string {
	note := "Times are " + t.Zone + "."
	if slot > 0 {
		note = fmt.Sprintf("Each point is the highest value of its %s. %s", units.Seconds(slot), note)
	}
	if slices.ContainsFunc(t.Charts, func(c chart) bool { return c.Counts != nil }) {
		note += " A percentile is of all operations of its stretch of time, and missing where they were too few for it: under 10 for p50, 100 for p99, 1,000 for p99.9."
	}
	return note
}

func (t *timeline) band(kind, name string, spans []diagnose.Span, loc *time.Location) {
	b := band{Kind: kind, Name: name}
	for _, s := range spans {
		b.Spans = append(b.Spans, [2]float64{clockSeconds(s.From, loc), clockSeconds(s.To, loc)})
	}
	if len(b.Spans) > 0 {
		t.Bands = append(t.Bands, b)
	}
}

// finish draws what needs all charts and bands to be there.
func (t *timeline) finish() {
	for i, c := range t.Charts {
		t.Charts[i].Still = t.still(c)
	}
	t.Table = t.tabulate()
}

// smallShare is the part of the stalled time under which a share is told by name alone, as in the text.
const smallShare = 0.01

// account says where the stalled time went.
func (d *diagnosed) account() []section {
	if len(d.Account) == 0 {
		return nil
	}
	note, unit := "", "seconds"
	if of := d.Account[0].Of; of > 0 {
		if math.Abs(of-d.Stalls.Seconds) > 1e-9 {
			unit = units.OpSeconds
			note = "Of " + units.Value(of, unit) + " of waiting, summed over operations."
		} else {
			note = "Of " + units.Seconds(of) + "."
		}
	}
	tab := &table{Caption: "Where the stalled time went", Columns: []column{{Text: "where"}, {Text: "share"}, {Text: "", Number: true}, {Text: "time", Number: true}}}
	overlaps := false
	var small []string
	for _, s := range d.Account {
		part := 0.0
		if s.Of > 0 {
			part = s.Seconds / s.Of
		}
		if s.Of > 0 && part < smallShare && s.Share != "unexplained" {
			small = append(small, s.Share)
			continue
		}
		name := s.Share
		if s.Overlaps {
			name, overlaps = name+" *", true
		}
		tab.Rows = append(tab.Rows, []cell{{Text: name, Note: s.Note}, {Bar: shareBar(part).done()}, {Text: units.Percent(part), Number: true}, {Text: units.Value(s.Seconds, unit), Number: true}})
	}
	if overlaps {
		tab.Notes = append(tab.Notes, "* may be counted in another share too: these do not add up to the whole")
	}
	if len(small) > 0 {
		tab.Notes = append(tab.Notes, "under "+units.Percent(smallShare)+" each: "+strings.Join(small, ", "))
	}
	return []section{{ID: "accounting", Title: "Where the stalled time went", Note: note, Parts: []part{{Table: tab}}}}
}

// densityOfSpread is a spread as it is drawn, with those of its operations that are told apart.
func (d *diagnosed) densityOfSpread(x *diagnose.Spread) (h density, parts []population) {
	h = density{FromS: clockSeconds(x.From, d.loc), StepS: x.StepS, BoundsS: x.BoundsS, Counts: x.Operations, Unseen: x.Unseen}
	if x.Stalled != nil {
		stalled := population{name: "in stalled intervals", counts: x.Stalled, unseen: x.StalledUnseen}
		parts = []population{stalled, h.everything("").without("otherwise", stalled)}
	}
	return h, parts
}

// latency draws how latencies were distributed.
func (d *diagnosed) latency() []section {
	if d.Detail == nil || d.charts == nil {
		return nil
	}
	var out []section
	for _, x := range d.Detail.Latencies {
		h, stalled := d.densityOfSpread(x)
		id := "latency"
		if len(out) > 0 {
			id += number(len(out) + 1)
		}
		var parts []part
		if x.Signal != "" {
			parts = append(parts, part{Source: &cell{Text: x.Signal, Href: d.queries.link(x.Signal)}})
		}
		for _, f := range []*figure{heatMap(h, d.charts, x.Subject), distribution(h, x.Subject, stalled...)} {
			if f != nil {
				f.ID += strings.TrimPrefix(id, "latency")
				parts = append(parts, part{Figure: f})
			}
		}
		if len(parts) < 2 {
			continue
		}
		note := "Each operation counts by itself, as the source's histogram has it."
		if x.SlowestOf > 1 {
			note += " Of " + number(x.SlowestOf) + " this one has the highest p99."
		}
		if x.Signal == "" {
			note = "These are means: what is known is the mean latency of each interval, and an operation is counted with it. Single operations were slower, and quicker."
		}
		out = append(out, section{ID: id, Title: "Latency of " + x.Subject, Note: note, Parts: parts})
	}
	return out
}

// gaps are the rules that could not be judged.
func (d *diagnosed) gaps() []section {
	all := report.Gaps(d.Report)
	if len(all) == 0 {
		return nil
	}
	tab := &table{Caption: "Rules that could not be judged", Columns: []column{{Text: "rule"}, {Text: "what it lacks"}, {Text: "what to record the next time"}}}
	for _, g := range all {
		for i, m := range g.Rules {
			advice := "the same"
			if i == 0 {
				advice = g.Advice
			}
			tab.Rows = append(tab.Rows, []cell{{Text: m.Rule, Class: "code"}, {Text: strings.Join(m.Missing, "; "), Class: "code long"}, {Text: advice}})
		}
	}
	tab.Fold = fmt.Sprintf("%d rules could not be judged: what to record the next time", len(d.Missing))
	if len(d.Missing) == 1 {
		tab.Fold = "1 rule could not be judged: what to record the next time"
	}
	return []section{{ID: "gaps", Title: "Not measurable here", Note: "Neither found nor ruled out.", Parts: []part{{Table: tab}}}}
}

// sources say what was looked at.
func (d *diagnosed) sources() section {
	tab := &table{Caption: "Sources", Columns: []column{{Text: "source"}, {Text: "what it is"}, {Text: "samples", Number: true}, {Text: "from"}, {Text: "to"}}}
	for _, s := range d.Sources {
		what := strings.TrimSpace(s.Kind + " " + strings.TrimSpace(s.Engine+" "+s.Version))
		if s.Host != "" {
			what += ", host " + s.Host
		}
		samples := ""
		if s.Samples > 0 {
			samples = units.Number(float64(s.Samples))
		}
		row := []cell{{Text: s.Name, Class: "code long", Note: facts(s.Facts)}, {Text: what}, {Text: samples, Number: true}, {}, {}}
		if s.PeriodS > 0 {
			row[2].Note = units.Seconds(s.PeriodS) + " apart"
		}
		if !s.From.IsZero() && !s.To.IsZero() {
			row[3].Text, row[4].Text = s.From.In(d.loc).Format(time.DateTime), s.To.In(d.loc).Format(time.DateTime)
		}
		tab.Rows = append(tab.Rows, row)
	}
	return section{ID: "sources", Title: "Sources", Parts: []part{{Table: tab}}}
}

func level(s diagnose.Severity) string {
	switch s {
	case diagnose.Critical:
		return "critical"
	case diagnose.Warning:
		return "warning"
	}
	return "info"
}

// condition is the PromQL that a rule's finding begins with; "" if the rule is not of the pack or has none.
func condition(rule string) string {
	r, err := rules.ByID(rule)
	if err != nil {
		return ""
	}
	return r.When
}
