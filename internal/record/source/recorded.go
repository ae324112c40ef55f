package source

import (
	"sync"

	"plimsoll/internal/record/recording"
)

// Recorded is what sources of files have in common, to be embedded: they do not wait for time to
// pass, and can describe themselves fully only after Read.
type Recorded struct {
	mu   sync.Mutex
	desc recording.Source
}

// Describe implements [Source].
func (r *Recorded) Describe() recording.Source {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.desc
}

// SetDescription replaces what Describe gives.
func (r *Recorded) SetDescription(d recording.Source) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.desc = d
}

// Live implements [Source].
func (r *Recorded) Live() bool { return false }
