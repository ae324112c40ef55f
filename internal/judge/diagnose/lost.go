package diagnose

import "plimsoll/internal/record/recording"

// LostLeast is the share of a source's samples from which their loss is reported first: what a diagnosis
// did not see may be the worst of it.
const LostLeast = 0.01

// A Loss is the part of a source's samples that are missing.
type Loss struct {
	Source string  `json:"source"`
	Share  float64 `json:"share"`
	Text   string  `json:"text"` // why, and what to do
}

// lostOf returns the losses that recordings report.
func lostOf(in []recording.Reader) []Loss {
	var out []Loss
	for _, r := range in {
		for _, n := range r.Notes() {
			if n.Lost > LostLeast {
				out = append(out, Loss{n.Source, n.Lost, n.Text})
			}
		}
	}
	return out
}
