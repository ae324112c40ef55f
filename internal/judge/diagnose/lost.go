package diagnose

import "plimsoll/internal/record/recording"

// LostLeast is the share of a source's samples whose loss a report states first: the missing time
// may have been the worst.
const LostLeast = 0.01

// A Loss is the share of a source's samples that is missing.
type Loss struct {
	Source string  `json:"source"`
	Share  float64 `json:"share"`
	Text   string  `json:"text"` // the reason, and what to do
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
