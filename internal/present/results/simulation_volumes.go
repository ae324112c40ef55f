package results

import (
	"maps"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/present/document"
)

// having returns the first result with the given volume, which only some variants may have.
func having(results []*simulate.Result, name string) *simulate.Result {
	for _, r := range results {
		if slices.Contains(volumesOf([]*simulate.Result{r}), name) {
			return r
		}
	}
	return results[0]
}

// known converts optional values to points; nil if there are none.
func known(values []*float64) []float64 {
	some := false
	out := make([]float64, len(values))
	for i, v := range values {
		if out[i] = math.NaN(); v != nil {
			out[i], some = *v, true
		}
	}
	if !some {
		return nil
	}
	return out
}

func volumesOf(results []*simulate.Result) []string {
	var out []string
	for _, r := range results {
		for i := range r.Volumes {
			if name := r.Volumes[i].Name; !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

func waitSection(r *simulate.Result, g *ledger) document.Section {
	tab := document.NewTable("Where writes waited", "where", "slowest 1 %", "#", "#all writes",
		"#per slow write", "#root wait")

	for _, w := range r.Waits {
		// Below 0.1 % everywhere a row is noise.
		if w.Share < 0.001 && w.SlowShare < 0.001 && w.SlowCauseShare < 0.001 {
			continue
		}
		tab.Add(linked(g.waitsEvidence(), []document.Cell{{Text: w.Name}, {Bar: new(w.SlowShare)},
			{Text: units.Percent(w.SlowShare)}, {Text: units.Percent(w.Share)},
			{Text: units.Seconds(w.SlowSeconds)}, {Text: units.Percent(w.SlowCauseShare)}}))
	}

	tab.Notes = []string{"Root wait: the slowest 1 %. Time spent waiting for a connection or for a sync in progress counts towards whatever its holder was waiting for."}
	return document.Section{ID: "waits", Title: "Where writes waited", Screen: document.IfItFits,
		Parts: []document.Part{{Table: tab}}}
}

func volumeSection(r *simulate.Result, g *ledger) document.Section {
	tab := &document.Table{Caption: "Volumes",
		Columns: []document.Column{{Text: "volume"}, {Text: "IO/s", Number: true},
			{Text: "busiest second", Number: true}, {Text: "bytes", Number: true},
			{Text: "busiest second", Number: true, Drop: 2}, {Text: "busy", Number: true},
			{Text: "worst 10 s", Number: true}, {Text: "queue", Number: true, Drop: 1}, {Text: "await", Number: true}}}

	for i := range r.Volumes {
		v := &r.Volumes[i]
		tab.Add(linked(g.volumeEvidence(r, v.Name), []document.Cell{
			{Text: v.Name, Note: heldText(v, r.Seconds)}, {Text: units.Number(v.IOPS)},
			{Text: units.Number(v.IOPSMax)}, {Text: units.Value(v.BytesPerSec, "bytes/s")},
			{Text: units.Value(v.BytesPerSecMax, "bytes/s")}, {Text: units.Percent(v.Busy)},
			{Text: units.Percent(v.BusyMax)}, {Text: units.Number(v.QueueMean)},
			{Text: optional(v.AwaitSeconds, "seconds")}}))
	}

	host := []string{"page cache up to " + units.Bytes(r.Host.DirtyBytesMax) + " dirty",
		"cores " + units.Percent(r.Host.CPUBusy) + " busy"}
	for _, name := range slices.Sorted(maps.Keys(r.EngineFigures)) {
		if x := r.EngineFigures[name]; x != nil {
			host = append(host, strings.ReplaceAll(name, "_", " ")+" "+units.Value(*x, r.FigureUnits[name]))
		}
	}

	tab.Notes = []string{"Host: " + strings.Join(host, "; ") + "."}
	return document.Section{ID: "volumes", Title: "Volumes and host",
		Parts: []document.Part{{Table: tab},
			{Source: &document.Cell{Text: "host and engine", Href: g.hostEvidence()}}}}
}

// heldText says which limits held back a volume's requests, omitting negligible ones.
func heldText(v *simulate.VolumeResult, seconds float64) string {
	sum, took := 0.0, v.QueueMean*seconds
	for _, h := range v.HeldBy {
		sum += h.Seconds
	}

	var parts []string
	for _, h := range v.HeldBy {
		if sum > 0 && h.Seconds >= 0.02*sum {
			parts = append(parts, h.Name+" "+units.Percent(h.Seconds/sum))
		}
	}

	text := ""
	if len(parts) > 0 {
		text = "held back for " + units.Value(sum, units.OpSeconds) + " in total"
		if took > 0 && sum <= took {
			text += ", " + units.Percent(sum/took) + " of the requests' time"
		}
		text += ": " + strings.Join(parts, ", ")
	}

	if v.Credits != nil {
		text = strings.TrimPrefix(text+"; "+units.Percent(*v.Credits)+" of its burst credits left", "; ")
	}

	return text
}
