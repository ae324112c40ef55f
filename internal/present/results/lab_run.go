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

// whereText names the engine, the file system and the machine, or an existing server.
func whereText(l *run.Lab) string {
	v := l.Existing
	if v == nil {
		return fmt.Sprintf("In the lab: %s on %s; volumes emulated in %s; %s.", l.Server, l.FileSystem, l.Backing,
			l.Kernel)
	}
	kept := "was created for this run and removed"
	if v.Kept {
		kept = "was kept"
	}
	return fmt.Sprintf("An existing server: %s (%s); %s %s.", v.Address, l.Server, v.Database, kept)
}

// qualityParts show how accurately the lab emulated its volumes and generated the load.
func qualityParts(r *run.Result) (out []document.Part) {
	if r.Lab.Existing == nil {
		out = append(out, document.Part{Table: emulatedTable(r.Lab.Volumes)})
	}
	out = append(out, document.Part{Terms: laboratoryTerms(r)})
	if p := r.PowerLoss; p != nil {
		for _, e := range p.Examples {
			out = append(out, document.Part{Text: document.Sentence(e)})
		}
	}
	return out
}

// emulatedTable shows how accurately each volume was emulated.
func emulatedTable(volumes []run.Emulation) *document.Table {
	tab := document.NewTable("Accuracy of the emulated volumes", "volume", "#late, median", "#p99", "#max",
		"#too late", "")

	for i := range volumes {
		v := &volumes[i]
		verdict := document.Cell{}
		if v.Saturated {
			verdict = document.Cell{Text: "SATURATED", Roles: "bad"}
		}

		note := ""
		// The kernel's own measurement includes the path to the emulator, which the emulator
		// cannot see.
		if v.Kernel != nil {
			note = fmt.Sprintf("the kernel saw reads and writes take %s on average, %s was requested",
				units.Seconds(*v.Kernel), units.Seconds(*v.Asked))
			if v.Slow {
				note += fmt.Sprintf("; over ten seconds the path to the emulator added %s, which is too much",
					units.Seconds(v.Added))
			}
		}

		tab.Add([]document.Cell{{Text: v.Name, Note: note}, {Text: units.Seconds(v.LateP50)},
			{Text: units.Seconds(v.LateP99)}, {Text: units.Seconds(v.LateMax)}, {Text: units.Percent(v.LateShare)},
			verdict})
	}

	return tab
}

// laboratoryTerms describes the load generator, failed operations, and power losses.
func laboratoryTerms(r *run.Result) []document.Term {
	d := &r.Lab.Dispatch
	out := []document.Term{document.NewTerm("load generator", fmt.Sprintf("operations started late by %s at the median, %s at p99, %s at most",
		units.Seconds(d.LateP50), units.Seconds(d.LateP99), units.Seconds(d.LateMax)))}
	if r.Lab.Failed > 0 {
		var parts []string
		for _, text := range slices.Sorted(maps.Keys(r.Lab.Errors)) {
			parts = append(parts, fmt.Sprintf("%s (%s)", text, units.Count(r.Lab.Errors[text])))
		}
		out = append(out, document.NewTerm("failed", fmt.Sprintf("%s operations: %s", units.Count(r.Lab.Failed),
			strings.Join(parts, "; "))))
	}

	if p := r.PowerLoss; p != nil {
		out = append(out, document.NewTerm("power", powerText(p)))
	}

	return out
}

// powerText describes power losses in a sentence.
func powerText(p *run.PowerLoss) string {
	text := fmt.Sprintf("cut %d times; %s writes to %s documents had been acknowledged: ", p.Cuts,
		units.Count(p.Acknowledged), units.Count(p.Keys))
	if p.Held() {
		text += "none is missing"
	} else {
		text += fmt.Sprintf("%s documents LOST acknowledged writes, %s have content that was never written, %s cannot be read, %d recoveries FAILED",
			units.Count(p.Lost), units.Count(p.Wrong), units.Count(p.Unreadable), p.FailedRecoveries)
	}
	if len(p.RecoverySeconds) > 0 {
		text += fmt.Sprintf("; service resumed %s to %s after power returned",
			units.Seconds(slices.Min(p.RecoverySeconds)), units.Seconds(slices.Max(p.RecoverySeconds)))
	}
	return text + fmt.Sprintf("; of the writes in flight %d were kept, %d torn, %d dropped", p.Kept,
		p.Torn, p.Dropped)
}
