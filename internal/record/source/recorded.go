package source

import (
	"sync"

	"plimsoll/internal/record/recording"
)

// Recorded is the common part of sources of files, to be embedded: they do not wait for time to pass, and
// their full description is available only after Read.
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

// SetDescription replaces the result of Describe.
func (r *Recorded) SetDescription(d recording.Source) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.desc = d
}

// Live implements [Source].
func (r *Recorded) Live() bool { return false }
