//go:build linux

package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/lab/run"
	"plimsoll/internal/lab/table"
	"plimsoll/internal/model/simulate"
)

// labText is a result of the lab as a page of text: simulate's, and what is to be known of the laboratory.
type labText struct {
	simulateText
	r *run.Result
}

func labResults(r *run.Result) []*simulate.Result { return []*simulate.Result{r.Result} }

func (t *labText) write(w io.Writer) error {
	r := t.r.Result
	t.results = labResults(t.r)
	t.header(r)
	l := &t.r.Lab
	if v := l.Existing; v != nil {
		t.para("", fmt.Sprintf("A server that runs already: %s (%s); %s %s.", v.Address, l.Server, v.Database, keptWord(v.Kept)))
	} else {
		t.para("", fmt.Sprintf("In the lab: %s on %s; volumes emulated in %s; %s.", l.Server, l.FileSystem, l.Backing, l.Kernel))
	}
	t.latencies(r)
	t.checkpoints(r)
	if l.Existing == nil {
		t.volumes(r)
	}
	t.plots(r)
	t.objectives(r)
	t.beside()
	t.power()
	t.emulator()
	_, err := io.WriteString(w, t.b.String())
	return err
}

// beside shows the model's figures next to the laboratory's.
func (t *labText) beside() {
	if t.r.Model == nil {
		return
	}
	t.line("")
	t.line("%-32s%14s%14s%14s", "LAB AND MODEL", "lab", "model", "model is off")
	for _, row := range table.Rows(t.r.Result, t.r.Model, t.r.Lab.Saturated || t.r.Lab.Dispatch.Behind) {
		t.line("%-32s%14s%14s%14s", row.Figure, valueText(row.Lab, row.Unit), valueText(row.Model, row.Unit), changeText(row.Lab, row.Model, row.Unit))
	}
}

// power tells what losses of power took.
func (t *labText) power() {
	p := t.r.PowerLoss
	if p == nil {
		return
	}
	t.line("")
	t.para("POWER  ", powerText(p))
	for _, e := range p.Examples {
		t.para("       ", e)
	}
}

// powerText tells losses of power in a sentence.
func powerText(p *run.PowerLoss) string {
	text := fmt.Sprintf("lost %d times; %s writes to %s documents had been acknowledged: ", p.Cuts, whole(p.Acknowledged), whole(p.Keys))
	if p.Held() {
		text += "none is missing"
	} else {
		text += fmt.Sprintf("%s documents LOST what was acknowledged, %s hold what nobody wrote, %s cannot be read, %d recoveries FAILED",
			whole(p.Lost), whole(p.Wrong), whole(p.Unreadable), p.FailedRecoveries)
	}
	if len(p.RecoverySeconds) > 0 {
		text += fmt.Sprintf("; it served again %s after the power came back, at the most %s",
			units.Seconds(slices.Min(p.RecoverySeconds)), units.Seconds(slices.Max(p.RecoverySeconds)))
	}
	return text + fmt.Sprintf("; of the volumes' writes in flight %d were kept, %d torn, %d dropped", p.Kept, p.Torn, p.Dropped)
}

// emulator tells how well it was emulated, and what else is to be known.
func (t *labText) emulator() {
	l := &t.r.Lab
	t.line("")
	if l.Existing == nil {
		t.volumesEmulated(l)
	}
	d := &l.Dispatch
	t.para("driver      ", fmt.Sprintf("operations began late by %s in the median, %s at p99, %s at the most", units.Seconds(d.LateP50), units.Seconds(d.LateP99), units.Seconds(d.LateMax)))
	if l.Failed > 0 {
		var parts []string
		for _, text := range slices.Sorted(maps.Keys(l.Errors)) {
			parts = append(parts, fmt.Sprintf("%s (%s)", text, whole(l.Errors[text])))
		}
		t.para("failed      ", fmt.Sprintf("%s operations: %s", whole(l.Failed), strings.Join(parts, "; ")))
	}
	for _, remark := range l.Remarks {
		t.para("- ", remark+".")
	}
}

// volumesEmulated tells how well each volume was.
func (t *labText) volumesEmulated(l *run.Lab) {
	t.line("%-12s%14s%12s%12s%14s  %s", "EMULATOR", "late, median", "p99", "most", "too late", "")
	for i := range l.Volumes {
		v := &l.Volumes[i]
		verdict := ""
		if v.Saturated {
			verdict = "SATURATED"
		}
		t.line("%-12s%14s%12s%12s%14s  %s", clipName(v.Name, 12), units.Seconds(v.LateP50), units.Seconds(v.LateP99), units.Seconds(v.LateMax),
			units.Percent(v.LateShare), verdict)
	}
	for i := range l.Volumes {
		if v := &l.Volumes[i]; v.Kernel != nil {
			text := fmt.Sprintf("saw %s's reads and writes take %s in the mean, asked were %s", v.Name, units.Seconds(*v.Kernel), units.Seconds(*v.Asked))
			if v.Slow {
				text += fmt.Sprintf("; in ten seconds the path to the emulator added %s, which is too much", units.Seconds(v.Added))
			}
			t.para("kernel      ", text)
		}
	}
}

func keptWord(kept bool) string {
	if kept {
		return "was kept"
	}
	return "was made for this, and removed"
}
