package document

import (
	"fmt"
	"strings"

	"plimsoll/internal/base/shellword"
)

// Watching is a running `plimsoll watch` that samples what a document is about. Documents name it instead of
// suggesting to start one.
type Watching struct {
	PID     int
	Ring    string // the folder of its ring; "" if it keeps none
	Sources []string // as arguments, without secrets
}

// Next is the title, command and result of the next step while a watch runs.
func (w *Watching) Next() (title, command, expect string) {
	title = fmt.Sprintf("catch the next stall: plimsoll watch (process %d) already samples this", w.PID)
	if w.Ring != "" {
		return title, "plimsoll diagnose " + shellword.Quote(w.Ring) + " --from -15m",
			"the stalls it has seen; it reports the next one within seconds, and its ring keeps what came before"
	}

	words := make([]string, len(w.Sources))
	for i, s := range w.Sources {
		words[i] = shellword.Quote(s)
	}
	return title, "plimsoll top " + strings.Join(words, " "), "latency and causes live; that watch keeps no samples (--out)"
}
