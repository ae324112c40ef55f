package diagnosis

import (
	"strconv"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/document"
)

// support returns the evidence for support cases, from findings about faults of a volume. Times are
// in UTC for the provider's engineers.
func (d *diagnosed) support() []document.Section {
	var out []document.Section
	for _, f := range d.Findings {
		if f.SupportCase == nil {
			continue
		}
		id := "support"
		if len(out) > 0 {
			id += strconv.Itoa(len(out) + 1)
		}
		out = append(out, d.supportCase(id, f))
	}
	return out
}

func (d *diagnosed) supportCase(id string, f diagnose.Finding) document.Section {
	x := f.SupportCase
	volume := x.Device
	if x.Volume != "" {
		volume += " (" + x.Volume + ")"
	}

	at := func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }
	text := volume + " was slow between " + at(x.From) + " and " + at(x.To) + " UTC, for " +
		units.Seconds(x.SlowS) +
		" in total. " + f.Summary
	t := document.NewTable("Counters of "+volume+" and of its peers, medians", "device", "counter",
		"#while slow", "#at the same load")
	t.Notes = []string{"The last column is from times when the device handled at least the same load at normal speed."}

	value := func(v *float64, unit string) document.Cell {
		if v == nil {
			return document.Cell{Text: "–", Number: true}
		}
		return document.Cell{Text: units.Value(*v, unit), Number: true}
	}

	for _, r := range x.Counters {
		t.Add([]document.Cell{{Text: r.Device}, {Text: r.Counter, Href: d.queries.Link(r.Metric)},
			value(r.Slow, r.Unit), value(r.Usual, r.Unit)})
	}

	parts := []document.Part{{Text: text}, {Table: t}}
	for _, e := range x.Excluded {
		parts = append(parts, document.Part{Text: "Ruled out: " + e})
	}

	return document.Section{ID: id, Title: "Evidence for a support case", Aside: x.Device,
		Note: "Attach this to a support case, with the volume's ID.", Parts: parts}
}
