package diagnose

import (
	"time"

	"plimsoll/internal/judge/act"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/timeline"
)

// A Marked is a mark that a user set when changing something, with the measurements before and
// after it, each up to the adjacent mark or the end of the time.
type Marked struct {
	At     time.Time `json:"at"`
	Text   string    `json:"text"`
	Before Side      `json:"before"`
	After  Side      `json:"after"`
}

// A Side holds the measurements of the report's leading detector before or after a mark.
type Side struct {
	From     time.Time `json:"from"`
	To       time.Time `json:"to"`
	WatchedS float64   `json:"watched_seconds"`
	StalledS float64   `json:"stalled_seconds"`
	// MeanS is the mean latency of an operation in seconds, and Rate the completions per second;
	// nil if not measured.
	MeanS *float64 `json:"mean_seconds,omitempty"`
	Rate  *float64 `json:"operations_per_second,omitempty"`
}

// marksAfter is how long after the last sample a mark still belongs to a recording: users often set
// a mark and then stop recording.
const marksAfter = time.Minute

// marksOf returns the marks within a case's time, from its recordings and the options.
func marksOf(c *rules.Case, in []recording.Reader, opt Options) (out []recording.Mark) {
	all := [][]recording.Mark{opt.Marks}
	for _, r := range in {
		all = append(all, r.Marks())
	}
	whole := c.Whole()
	if opt.To.IsZero() {
		whole.To = whole.To.Add(marksAfter)
	}
	for _, m := range recording.MergeMarks(all...) {
		if !m.At.Before(whole.From) && !m.At.After(whole.To) {
			out = append(out, m)
		}
	}
	return out
}

const (
	// markBefore and markAfter must be recorded around a mark to compare both sides. The prove
	// command excludes the first minute after a mark.
	markBefore = time.Minute
	markAfter  = 3 * time.Minute
)

// markedIn returns the folder and time of the newest mark, if the case is of a single folder with a
// mark: the prove command accepts a single folder.
func markedIn(c *rules.Case, in []recording.Reader) act.Marked {
	if len(in) != 1 {
		return act.Marked{}
	}
	dir, growing := recording.Folder(in[0])
	all := in[0].Marks()
	if dir == "" || len(all) == 0 {
		return act.Marked{}
	}
	at, whole := all[len(all)-1].At, c.Whole()
	return act.Marked{Folder: dir, At: at, Growing: growing,
		Judged: at.Sub(whole.From) >= markBefore && whole.To.Sub(at) >= markAfter}
}

// recordedIn returns the folder of the recording, "" unless everything was read from a single one.
func recordedIn(in []recording.Reader) string {
	if len(in) != 1 {
		return ""
	}
	dir, _ := recording.Folder(in[0])
	return dir
}

// marked measures what a detector saw before and after each mark.
func marked(c *rules.Case, s rules.Stall, marks []recording.Mark) []Marked {
	var out []Marked
	for i, m := range marks {
		x := Marked{At: m.At, Text: m.Text}
		from, to := c.Whole().From, c.Whole().To
		if i > 0 {
			from = marks[i-1].At
		}
		if i+1 < len(marks) {
			to = marks[i+1].At
		}
		x.Before, x.After = side(c, s, from, m.At), side(c, s, m.At, to)
		out = append(out, x)
	}
	return out
}

// side measures the cells between two times.
func side(c *rules.Case, stall rules.Stall, from, to time.Time) Side {
	out := Side{From: from, To: to}
	cells := make(timeline.Mask, c.Grid.N)
	for k := range cells {
		cells[k] = !c.Grid.Start(k).Before(from) && !c.Grid.Time(k).After(to)
	}

	if stall.Observed != nil {
		out.WatchedS = c.Seconds(cells.And(stall.Observed))
	}

	if stall.Cells != nil {
		out.StalledS = c.Seconds(cells.And(stall.AsSampled()))
	}

	ops, waited, known, timed := 0.0, 0.0, 0, 0.0
	for k, on := range cells {
		if !on || k >= len(stall.Ops) || !(stall.Ops[k] >= 0) {
			continue
		}
		known++
		ops += stall.Ops[k]
		// Weight each interval's latency by its operations: the mean is per operation.
		if k < len(stall.Latency) && stall.Latency[k] >= 0 {
			waited += stall.Latency[k] * stall.Ops[k]
			timed += stall.Ops[k]
		}
	}

	if known > 0 {
		rate := ops / float64(known)
		out.Rate = &rate
	}

	if timed > 0 {
		mean := waited / timed
		out.MeanS = &mean
	}

	return out
}

// leading returns the detector that a report describes.
func leading(c *rules.Case, all []*judged, opt Options) rules.Stall {
	n := max(opt.Incident, 1) - 1
	if n >= len(all) {
		return c.Stall
	}
	return detector(c, all[n].lead())
}

// detector returns the detector of a case that watches the same operations as s, a stall of another
// case; s if there is none.
func detector(c *rules.Case, s rules.Stall) rules.Stall {
	for _, x := range c.Symptoms {
		if x.Called() == s.Called() && x.Class == s.Class {
			return x
		}
	}
	return s
}
