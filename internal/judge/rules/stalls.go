package rules

import "plimsoll/internal/record/timeline"

// Stalls are the stalled time, found before any cause is judged.
type Stalls struct {
	Time
	// Stall is the one that causes are judged against.
	Stall Stall
	// Symptoms are the detectors that fired, worst first, the chosen one (Stall) among them.
	Symptoms []Stall
}

// A Stall is stalled time as one detector sees it.
type Stall struct {
	Rule    string // the symptom rule that reports it
	Subject string // "mongodb writes"
	// Latency is the mean latency in seconds an operation had, or nil where the
	// detector judges throughput.
	Latency []float64
	// Waiting is operations waiting at once (seconds waited per second), or nil.
	Waiting []float64
	// Ops is the operations completed per second, or nil.
	Ops       []float64
	Threshold float64 // seconds above which a cell is stalled; 0 where throughput is judged
	Cells     timeline.Mask
	// Observed is where the detector could judge at all.
	Observed timeline.Mask
	// Active is where clients wanted something: only such time is compared with
	// the stalled, for an idle database does not stall whatever its disk does.
	Active timeline.Mask
	// IsDatabase tells a database's own view from a device's.
	IsDatabase bool
	// OfLog says that what stalled are syncs of the log themselves.
	OfLog bool
	// Foremost says that what clients wrote is what stalled: no longer stall of something else goes
	// before it.
	Foremost bool
}

// Any reports whether anything stalled.
func (s Stall) Any() bool { return s.Cells.Count() > 0 }

// NotStalled is the time under load that did not stall.
func (st *Stalls) NotStalled() timeline.Mask { return st.Stall.Active.Without(st.Stall.Cells) }

// Share is the part of the cells of whole that are in part; 0 if whole is empty.
func Share(part, whole timeline.Mask) float64 {
	n := whole.Count()
	if n == 0 {
		return 0
	}
	return float64(part.And(whole).Count()) / float64(n)
}
