//go:build linux

package results

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/lab/run"
	"plimsoll/internal/present/document"
)

// LabRunOf is a run of the laboratory as it was measured: see [LabRun]. A server's address is not
// repeated in commands: what was given may hold a password.
func LabRunOf(r *run.Result, origin Origin) *document.Document {
	l := &r.Lab
	out := LabResult{Result: r.Result, Model: r.Model, Saturated: l.Saturated || l.Dispatch.Behind,
		Remarks: l.Remarks}
	if v := l.Existing; v != nil {
		origin.Command = append(slices.Clone(origin.Command), "--server", "ADDRESS")
		kept := "was made for this, and removed"
		if v.Kept {
			kept = "was kept"
		}
		out.Existing = true
		out.Where = fmt.Sprintf("A server that runs already: %s (%s); %s %s.", v.Address, l.Server,
			v.Database, kept)
	} else {
		out.Where = fmt.Sprintf("In the lab: %s on %s; volumes emulated in %s; %s.", l.Server, l.FileSystem,
			l.Backing, l.Kernel)
		out.Emulation = append(out.Emulation, document.Part{Table: emulatedTable(l.Volumes)})
	}

	out.Emulation = append(out.Emulation, document.Part{Terms: laboratoryTerms(r)})
	if p := r.PowerLoss; p != nil {
		if !p.Held() {
			out.Failure = "What was acknowledged was not there after a loss of power."
		}
		for _, e := range p.Examples {
			out.Emulation = append(out.Emulation, document.Part{Text: document.Sentence(e)})
		}
	}

	return LabRun(out, origin)
}

// emulatedTable is how well each volume was emulated.
func emulatedTable(volumes []run.Emulation) *document.Table {
	tab := &document.Table{Caption: "How well volumes were emulated",
		Columns: []document.Column{{Text: "volume"}, {Text: "late, median", Number: true},
			{Text: "p99", Number: true},
			{Text: "most", Number: true}, {Text: "too late", Number: true}, {}}}

	for i := range volumes {
		v := &volumes[i]
		verdict := document.Cell{}
		if v.Saturated {
			verdict = document.Cell{Text: "SATURATED", Roles: "bad"}
		}

		note := ""
		if v.Kernel != nil {
			note = fmt.Sprintf("the kernel saw reads and writes take %s in the mean, asked were %s",
				units.Seconds(*v.Kernel), units.Seconds(*v.Asked))
			if v.Slow {
				note += fmt.Sprintf("; in ten seconds the path to the emulator added %s, which is too much",
					units.Seconds(v.Added))
			}
		}

		tab.Rows = append(tab.Rows, []document.Cell{{Text: v.Name, Note: note},
			{Text: units.Seconds(v.LateP50), Number: true}, {Text: units.Seconds(v.LateP99), Number: true},
			{Text: units.Seconds(v.LateMax), Number: true}, {Text: units.Percent(v.LateShare), Number: true}, verdict})
	}

	return tab
}

// laboratoryTerms are what is to be known of the load generator, of failed operations, and of
// losses of power.
func laboratoryTerms(r *run.Result) []document.Term {
	d := &r.Lab.Dispatch
	out := []document.Term{{Label: "load generator",
		Lines: []document.Line{{Text: fmt.Sprintf("operations began late by %s in the median, %s at p99, %s at the most",
			units.Seconds(d.LateP50), units.Seconds(d.LateP99), units.Seconds(d.LateMax))}}}}
	if r.Lab.Failed > 0 {
		var parts []string
		for _, text := range slices.Sorted(maps.Keys(r.Lab.Errors)) {
			parts = append(parts, fmt.Sprintf("%s (%s)", text, units.Count(r.Lab.Errors[text])))
		}
		out = append(out, document.Term{Label: "failed",
			Lines: []document.Line{{Text: fmt.Sprintf("%s operations: %s", units.Count(r.Lab.Failed),
				strings.Join(parts, "; "))}}})
	}

	if p := r.PowerLoss; p != nil {
		out = append(out, document.Term{Label: "power", Lines: []document.Line{{Text: powerText(p)}}})
	}

	return out
}

// powerText tells losses of power in a sentence.
func powerText(p *run.PowerLoss) string {
	text := fmt.Sprintf("lost %d times; %s writes to %s documents had been acknowledged: ", p.Cuts,
		units.Count(p.Acknowledged), units.Count(p.Keys))
	if p.Held() {
		text += "none is missing"
	} else {
		text += fmt.Sprintf("%s documents LOST what was acknowledged, %s hold what nobody wrote, %s cannot be read, %d recoveries FAILED",
			units.Count(p.Lost), units.Count(p.Wrong), units.Count(p.Unreadable), p.FailedRecoveries)
	}
	if len(p.RecoverySeconds) > 0 {
		text += fmt.Sprintf("; it served again %s after the power came back, at the most %s",
			units.Seconds(slices.Min(p.RecoverySeconds)), units.Seconds(slices.Max(p.RecoverySeconds)))
	}
	return text + fmt.Sprintf("; of the volumes' writes in flight %d were kept, %d torn, %d dropped", p.Kept,
		p.Torn, p.Dropped)
}
