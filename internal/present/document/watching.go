package document

import "fmt"

// Watching is a running `plimsoll watch` that samples what a document is about. Documents name it instead of
// suggesting to start one.
type Watching struct {
	PID     int
	Ring    bool   // whether it keeps samples
	Command string // what shows them or, without a ring, what happens now
}

// Next is the title, command and result of the next step while a watch runs.
func (w *Watching) Next() (title, command, expect string) {
	title = fmt.Sprintf("catch the next stall: plimsoll watch (process %d) already samples this", w.PID)
	if w.Ring {
		return title, w.Command,
			"the stalls it has seen; it reports the next one within seconds, and its ring keeps what came before"
	}
	return title, w.Command, "latency and causes live; that watch keeps no samples (--out)"
}
