package diagnosis

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/headroom"
	"plimsoll/internal/present/document"
)

const (
	// endsSoonS is how close, in seconds, a limit must be for the headline to mention it.
	endsSoonS = 30 * 86400.0
	// headlines is how many limits the headline mentions.
	headlines = 2
	// headroomShort is how many limits a short text lists.
	headroomShort = 8
)

// headroomLines describes limits that will be reached soon, or that are reached in bursts which
// coarser sampling would hide.
func (d *diagnosed) headroomLines() (out []string) {
	for _, h := range d.Headroom {
		if len(out) == headlines {
			break
		}
		switch {
		case h.Limit == nil:
		case h.Ends != nil && h.Ends.InS <= endsSoonS:
			out = append(out, d.endLine(h))
		// If something stalled, its cause says more than this. A limit that was inferred from use was
		// reached by definition, so a burst at it adds nothing.
		case h.Bursts != nil && h.LimitFrom != headroom.Seen && h.Bursts.MinuteRatio < hiddenRatio &&
			d.Stalls.Seconds == 0:
			out = append(out, d.burstLine(h))
		}
	}

	return out
}

// headroomFacts returns the limit that will be reached first, if that is soon.
func (d *diagnosed) headroomFacts() []document.Fact {
	if len(d.Headroom) == 0 || d.Headroom[0].Ends == nil || d.Headroom[0].Ends.InS > endsSoonS {
		return nil
	}
	h := d.Headroom[0]
	return []document.Fact{{Label: "First limit", Value: "in " + headroom.Ahead(h.Ends.InS),
		Note: h.Title + " of " + h.Subject, Level: document.Warning, Href: "#headroom"}}
}

// hiddenRatio is the share of a limit used in the worst minute below which the mean of a minute
// hides a burst at the limit.
const hiddenRatio = 0.9

func (d *diagnosed) endLine(h headroom.Headroom) string {
	at := d.Span.To.Add(time.Duration(h.Ends.InS * float64(time.Second)))
	return h.Sentence("on " + at.In(d.Location).Format("2006-01-02 15:04 MST"))
}

func (d *diagnosed) burstLine(h headroom.Headroom) string {
	b := h.Bursts
	text := fmt.Sprintf("Headroom of %s: %s at the limit for %s at a time", h.Subject, h.Title,
		units.Seconds(b.LongestS))
	if b.PeriodS > 0 {
		text += ", every " + units.Seconds(b.PeriodS)
	}
	return text + fmt.Sprintf(", %s in total. One-minute means show at most %s of the limit.",
		units.Seconds(b.Seconds), units.Percent(b.MinuteRatio))
}

// headroom lists how much of each limit is used.
func (d *diagnosed) headroom() document.Section {
	if len(d.Headroom) == 0 {
		return document.Section{}
	}

	tab := &document.Table{Caption: "Headroom", Short: headroomShort, Columns: []document.Column{
		{Text: "limit of"}, {Text: "resource"}, {Text: "limit", Number: true, Drop: 2},
		{Text: "peak", Number: true, Drop: 1}, {Text: "share", Number: true},
		{Text: "when", Drop: 5}, {Text: "usual", Number: true, Drop: 4}, {Text: "grows", Number: true, Drop: 3},
		{Text: "ends in", Number: true}}}

	var unknown []string
	for _, h := range d.Headroom {
		if h.Limit == nil {
			// A volume with one known limit needs no further options.
			known := slices.ContainsFunc(d.Headroom,
				func(o headroom.Headroom) bool { return o.Subject == h.Subject && o.Limit != nil })
			if !known && !slices.Contains(unknown, h.Subject) {
				unknown = append(unknown, h.Subject)
			}
			continue
		}
		tab.Add(d.headroomRow(h))
	}

	for _, h := range d.Headroom {
		if h.NotSeen != "" {
			tab.Notes = append(tab.Notes, "Not seen: "+document.LowerFirst(h.NotSeen))
			break
		}
	}

	if len(unknown) > 0 {
		tab.Notes = append(tab.Notes,
			fmt.Sprintf("Unknown: the limits of %s. Specify them with --volume %s=TYPE,SIZE, for example gp3,500GiB.",
				strings.Join(unknown, ", "), unknown[0]))
	}

	s := document.Section{ID: "headroom", Title: "Headroom",
		Aside: "peak use of each limit, in the finest intervals available", Parts: []document.Part{{Table: tab}}}
	// Markdown omits a table without rows together with its notes, so they become text.
	if len(tab.Rows) == 0 {
		s.Aside, s.Parts = "no limit is known", nil
		for _, n := range tab.Notes {
			s.Parts = append(s.Parts, document.Part{Text: n})
		}
	}

	return s
}

func (d *diagnosed) headroomRow(resource headroom.Headroom) []document.Cell {
	row := []document.Cell{{Text: resource.Subject, Roles: "code"}, {Text: resource.Title, Detail: resource.LimitText},
		{Text: quantity(*resource.Limit, resource.Unit), Number: true}, {Text: "not measured", Number: true},
		{Text: "–", Number: true},
		{Text: "–"}, {Text: "–", Number: true}, {Text: "–", Number: true}, {Text: "–", Number: true}}

	if m := resource.Most; m != nil {
		step := time.Duration(resource.IntervalS * float64(time.Second))
		row[3].Text = quantity(m.Value, resource.Unit)
		row[5] = d.when(diagnose.Span{From: m.At.Add(-step), To: m.At})
		if m.Ratio != nil {
			row[4].Text = units.Percent(*m.Ratio)
		}
	}

	if resource.UsualRatio != nil {
		row[6].Text = units.Percent(*resource.UsualRatio)
	}

	if t := resource.Trend; t != nil {
		row[7].Text = growth(t.PerS, resource.Unit)
		row[7].Detail = fmt.Sprintf("%s to %s, of %s over %s", growth(t.Low, resource.Unit), growth(t.High, resource.Unit), t.Of,
			headroom.Ahead(t.OverS))
	}

	if e := resource.Ends; e != nil {
		if row[8].Text = headroom.Ahead(e.InS); e.InS <= 0 {
			row[8].Text = "now"
		}
		if !e.Exact {
			row[8].Note = headroom.Ahead(e.LowS) + " to " + headroom.Ahead(e.HighS)
		}
		row[8].Detail = e.Assumes
	}

	if b := resource.Bursts; b != nil {
		row[3].Detail = fmt.Sprintf("%s at the limit, longest %s", units.Seconds(b.Seconds),
			units.Seconds(b.LongestS))
		if b.PeriodS > 0 {
			row[3].Detail += ", every " + units.Seconds(b.PeriodS)
		}
	}

	return row
}

// quantity prints a figure of a limit. Volumes are sold by MiB/s.
func quantity(x float64, unit string) string {
	switch unit {
	case "bytes/s":
		return units.Number(x/(1<<20)) + " MiB/s"
	case "operations":
		return units.Number(x)
	}
	return units.Value(x, unit)
}

// growth prints a slope per day.
func growth(perS float64, unit string) string {
	sign := "+"
	if perS < 0 {
		sign = "-"
	}
	return sign + quantity(math.Abs(perS)*86400, unit) + " a day"
}
