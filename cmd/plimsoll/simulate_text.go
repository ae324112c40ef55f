package main

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/simulate"
)

// simulateText is a result as a page of text; of several, a table of them side by side.
type simulateText struct {
	b       strings.Builder
	width   int
	ascii   bool
	results []*simulate.Result
}

func (t *simulateText) line(format string, args ...any) {
	t.b.WriteString(strings.TrimRight(printable(fmt.Sprintf(format, args...)), " ") + "\n")
}

// para writes text that is wrapped behind an indent.
func (t *simulateText) para(first, text string) {
	rest := strings.Repeat(" ", utf8.RuneCountInString(first))
	for i, l := range wrapped(text, t.width-len(rest)) {
		if i > 0 {
			first = rest
		}
		t.line("%s%s", first, l)
	}
}

func seconds(x *float64) string {
	if x == nil {
		return "-"
	}
	return units.Seconds(*x)
}

func (t *simulateText) header(r *simulate.Result) {
	name := r.Engine
	if f := r.Host.Machine; f != "" {
		name += " on " + f
	}
	t.para("", r.Scenario+": "+name)
	t.para("", fmt.Sprintf("%s after %s of warm-up; seed %d; plimsoll %s", units.Seconds(r.Seconds),
		units.Seconds(r.WarmupSeconds), r.Seed, thisBuild().Version))
	if len(t.results) > 1 {
		t.line("")
		return
	}
	load := fmt.Sprintf("open loop: %s/s came, %s/s were done", units.Number(r.AskedPerSec), units.Number(r.DonePerSec))
	if !r.OpenLoop {
		load = fmt.Sprintf("closed loop: %s/s, each client waiting for its answer; what users would feel in a stall it does not tell", units.Number(r.DonePerSec))
	}
	if r.Unanswered > 0 {
		load += fmt.Sprintf("; %s unanswered at the end", whole(r.Unanswered))
	}
	if r.MonthlyUSD != nil {
		load += fmt.Sprintf("; %s a month, volumes %s", dollars(*r.MonthlyUSD), dollars(*r.MonthlyVolumesUSD))
	} else if r.MonthlyVolumesUSD != nil {
		load += fmt.Sprintf("; volumes %s a month", dollars(*r.MonthlyVolumesUSD))
	}
	t.para("", load)
	if r.OpenLoop && float64(r.Unanswered) > 0.01*float64(r.Writes.All.Operations+r.Reads.All.Operations) {
		t.para("", "More than one in a hundred has no answer yet: percentiles are lower bounds, and it may never settle.")
	}
}

// whole prints a count.
func whole(n int64) string { return units.Count(n) }

func dollars(x float64) string {
	if math.Abs(x) >= 100 {
		return whole(int64(math.Round(x))) + " USD"
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", x), "0"), ".") + " USD"
}

func (t *simulateText) latencies(r *simulate.Result) {
	t.line("")
	name, count, each := 30, 12, 11
	if t.width < simulateColumns {
		name, count, each = 25, 10, 9
	}
	row := func(cells ...string) {
		text := fmt.Sprintf("%-*s%*s", name, cells[0], count, cells[1])
		for _, c := range cells[2:] {
			text += fmt.Sprintf("%*s", each, c)
		}
		t.line("%s", text)
	}
	row("LATENCY", "operations", "p50", "p95", "p99", "p99.9", "max")
	of := func(name string, l *simulate.Latency) {
		if l.Operations > 0 {
			row(name, whole(l.Operations), seconds(l.P50Seconds), seconds(l.P95Seconds), seconds(l.P99Seconds), seconds(l.P999Seconds), seconds(l.MaxSeconds))
		}
	}
	for _, c := range []struct {
		name  string
		class *simulate.Class
	}{{"writes", &r.Writes}, {"reads", &r.Reads}} {
		of(c.name, &c.class.All)
		if c.class.DuringCheckpoint.Operations > 0 {
			of("  in a "+cycleWord(r), &c.class.DuringCheckpoint)
			of("  outside", &c.class.OutsideCheckpoint)
		}
	}
	main := &r.Writes
	if main.All.Operations == 0 {
		main = &r.Reads
	}
	for i := range main.SinceCheckpoint {
		p := &main.SinceCheckpoint[i]
		if i == 0 {
			t.line("  by when they were to begin, after the start of a %s:", cycleWord(r))
		}
		of("    "+phaseText(p), &p.Latency)
	}
}

// phaseText is from when to when a phase lasts, in ms where a cycle is so short that seconds say little.
func phaseText(p *simulate.Phase) string {
	if p.ToSeconds-p.FromSeconds < 0.1 {
		return fmt.Sprintf("%.0f-%.0f ms", 1e3*p.FromSeconds, 1e3*p.ToSeconds)
	}
	return strings.TrimSuffix(p.Name, "s") + " s"
}

// cycleWord is what the engine calls its cycle of writing.
func cycleWord(r *simulate.Result) string {
	switch r.Engine {
	case "etcd":
		return "backend commit"
	case "iris":
		return "write daemon cycle"
	}
	return "checkpoint"
}

func (t *simulateText) checkpoints(r *simulate.Result) {
	c := &r.Checkpoints
	if c.Count == 0 {
		return
	}
	t.line("")
	text := fmt.Sprintf("%s ended, median %s, longest %s; running %s of the time", whole(int64(c.Count)), seconds(c.MedianSeconds),
		seconds(c.MaxSeconds), units.Percent(c.ShareOfTime))
	if c.PeriodSeconds != nil {
		text += fmt.Sprintf("; one begins every %s", seconds(c.PeriodSeconds))
	}
	if c.Requested > 0 {
		text += fmt.Sprintf("; %d were asked for before their time", c.Requested)
	}
	if c.DirtyBytesMax != nil {
		text += fmt.Sprintf("; up to %s dirty at the start", units.Bytes(*c.DirtyBytesMax))
	}
	if c.WrittenBytes > 0 { // of a real engine it is not known
		text += fmt.Sprintf("; %s written by all", units.Bytes(c.WrittenBytes))
	}
	t.para(strings.ToUpper(cycleWord(r))+"S  ", text)
}

func (t *simulateText) volumes(r *simulate.Result) {
	t.line("")
	row := func(c ...string) {
		if t.width < simulateColumns {
			t.line("%-12s%8s%11s%12s%8s%12s%12s", c[0], c[1], c[2], c[3], c[5], c[6], c[8])
			return
		}
		t.line("%-12s%8s%11s%12s%12s%8s%12s%9s%12s", c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8])
	}
	row("VOLUME", "IO/s", "busiest s", "bytes/s", "busiest s", "busy", "worst 10 s", "queue", "await")
	for i := range r.Volumes {
		v := &r.Volumes[i]
		row(clipName(v.Name, 12), units.Number(v.IOPS), units.Number(v.IOPSMax), units.Bytes(v.BytesPerSec)+"/s", units.Bytes(v.BytesPerSecMax)+"/s",
			units.Percent(v.Busy), units.Percent(v.BusyMax), units.Number(v.QueueMean), seconds(v.AwaitSeconds))
		if held := heldText(v, r.Seconds); held != "" {
			t.para("            ", held)
		}
	}
	host := fmt.Sprintf("page cache up to %s dirty; cores %s busy", units.Bytes(r.Host.DirtyBytesMax), units.Percent(r.Host.CPUBusy))
	for _, name := range sortedNames(r.EngineFigures) {
		if x := r.EngineFigures[name]; x != nil {
			host += fmt.Sprintf("; %s %s", strings.ReplaceAll(name, "_", " "), units.Value(*x, r.FigureUnits[name]))
		}
	}
	t.para("host        ", host)
}

// heldText says which limits held requests back, leaving out what hardly did, and all of it where
// that is less than a twentieth of the time requests took.
func heldText(v *simulate.VolumeResult, span float64) string {
	sum, took := 0.0, v.QueueMean*span
	for _, h := range v.HeldBy {
		sum += h.Seconds
	}
	var parts []string
	for _, h := range v.HeldBy {
		if h.Seconds >= 0.02*sum && sum >= 0.05*took {
			parts = append(parts, fmt.Sprintf("%s %s", h.Name, units.Percent(h.Seconds/sum)))
		}
	}
	text := ""
	if len(parts) > 0 {
		text = fmt.Sprintf("held back for %s in sum: %s", units.Value(sum, units.OpSeconds), strings.Join(parts, ", "))
	}
	if v.Credits != nil {
		text = strings.TrimPrefix(text+fmt.Sprintf("; %s of its burst credits left", units.Percent(*v.Credits)), "; ")
	}
	return text
}

func (t *simulateText) objectives(r *simulate.Result) {
	if len(r.Objectives) == 0 {
		return
	}
	t.line("")
	for _, o := range r.Objectives {
		verdict := "NOT MET"
		if o.Met {
			verdict = "met"
		}
		t.line("OBJECTIVE %s within %s: %s (%s)", o.Name, units.Seconds(o.Wanted), verdict, seconds(o.Got))
	}
}
