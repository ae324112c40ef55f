//go:build linux

package results

import (
	"fmt"
	"strings"

	"plimsoll/internal/base/latency"
	"plimsoll/internal/base/units"
	"plimsoll/internal/lab/probe"
	"plimsoll/internal/present/document"
)

// Probe shows the result of probing a device: what limits it, whether the profile's criterion is
// met, each stage, and the device as a volume of a scenario.
func Probe(r *probe.Result) *document.Document {
	device := r.Device
	if device == "" {
		device = "no block device"
	}

	d := &document.Document{Kind: "Probe", Title: r.Profile + " on " + r.Path,
		Verdict: document.Sentence("Limited by: " + r.Blame.Text)}
	d.Lead = []string{fmt.Sprintf("%s on %s (%s), %s.", r.Profile, r.Path, device, units.Seconds(r.Seconds))}
	if v := r.Criterion; v != nil {
		word, level := met(v.Met)
		d.Facts = append(d.Facts, document.Fact{Label: "criterion", Value: word, Level: level, Note: v.Text,
			Href: "#criterion"})
		d.Add(criterionSection(v))
	}

	d.Facts = append(d.Facts, limitsFact(&r.Limits))
	d.Add(stagesTable(r.Stages).Section("stages", "Stages"))
	if r.Fitted != nil {
		d.Add(document.Section{ID: "volume", Title: "As a volume of a scenario",
			Parts: []document.Part{
				{Text: "It includes burst credits, if there are any."},
				{Files: []document.File{{Path: "scenario.yaml",
					Lines: strings.Split(strings.TrimRight(r.Fitted.YAML, "\n"), "\n")}}}}})
	}

	return d
}

// met says in a word whether a criterion is met.
func met(ok bool) (word string, level document.Level) {
	if ok {
		return "met", document.Good
	}
	return "NOT MET", document.Critical
}

func criterionSection(v *probe.Verdict) document.Section {
	tab := document.NewTable("The criterion in each stage", "stage", "#measured", "criterion")
	for _, s := range v.Stages {
		word, level := met(s.Met)
		role := "bad"
		if level == document.Good {
			role = "good"
		}
		tab.Add([]document.Cell{{Text: s.Stage}, {Text: optional(s.Seconds, "seconds")}, {Text: word, Roles: role}})
	}
	return document.Section{ID: "criterion", Title: "Criterion",
		Parts: []document.Part{{Text: document.Sentence(v.Text)}, {Table: tab},
			{Text: "Source: " + document.Sentence(v.Source)}}}
}

// limitsFact says which limits of the volume and its instance were exceeded.
func limitsFact(l *probe.Limits) document.Fact {
	out := document.Fact{Label: "limits"}
	switch bit := l.Bit(); {
	case l.Reason != "":
		out.Value, out.Note = "not measurable", l.Reason
	case len(bit) == 0:
		out.Value, out.Note = "none exceeded", "neither the volume's nor the instance's"
	default:
		out.Value, out.Level = "exceeded", document.Warning
		out.Note = fmt.Sprintf("%s (IOPS %s, throughput %s; instance: IOPS %s, throughput %s)",
			strings.Join(bit, ", "),
			units.Seconds(l.VolumeIOPS), units.Seconds(l.VolumeThroughput), units.Seconds(l.InstanceIOPS),
			units.Seconds(l.InstanceThroughput))
	}
	return out
}

// stagesTable has a row for each stream of each stage, and for the measurements with a companion on
// and off.
func stagesTable(stages []probe.StageResult) *document.Table {
	tab := document.NewTable("Results of each stream", "stage", "stream", "#IOPS", "#bytes/s", "#p50", "#p95",
		"#p99", "#p99.9", "#max", "#fdatasync p99", "of the time")
	tab.Repeat = 2

	row := func(stage, stream, iops, bytes string, l *latency.Latency, sync, shares string) {
		cells := []document.Cell{{Text: stage}, {Text: stream}, {Text: iops, Number: true},
			{Text: bytes, Number: true}}
		for _, x := range []*float64{l.P50Seconds, l.P95Seconds, l.P99Seconds, l.P999Seconds, l.MaxSeconds} {
			cells = append(cells, document.Cell{Text: optional(x, "seconds"), Number: true})
		}
		tab.Add(append(cells, document.Cell{Text: sync, Number: true}, document.Cell{Text: shares}))
	}

	for _, st := range stages {
		for i := range st.Streams {
			s := &st.Streams[i]
			name, sync := st.Name, "–"
			if i > 0 {
				name = ""
			}

			if s.Fdatasync != nil {
				sync = optional(s.Fdatasync.P99Seconds, "seconds")
			}

			row(name, s.Name, units.Number(s.IOPS), units.Throughput(s.BytesPerSecond).String(), &s.Latency, sync,
				streamShares(s))
			if i > 0 {
				continue
			}

			for j := range st.While {
				// A companion that was on all the time leaves nothing to compare with.
				if w := &st.While[j]; w.Off.Operations > 0 {
					row("", "while "+w.Companion+" on", "", "", &w.On, "", "")
					row("", "while off", "", "", &w.Off, "", "")
				}
			}
		}
	}

	return tab
}

// streamShares says where a stream's time was spent.
func streamShares(s *probe.StreamResult) string {
	var parts []string
	if s.Share != nil {
		for _, x := range []struct {
			share float64
			what  string
		}{{s.Share.Synced, "fdatasync"}, {s.Share.Moved, "read/write"}, {s.Share.Waited, "waiting for its turn"}} {
			if x.share >= 0.01 {
				parts = append(parts, units.Percent(x.share)+" "+x.what)
			}
		}
	}

	if s.Missed > 0 {
		parts = append(parts, fmt.Sprintf("%d not started in time", s.Missed))
	}

	return strings.Join(parts, ", ")
}
