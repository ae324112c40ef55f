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

// RecordedFile is the common part of sources of one file, to be embedded.
type RecordedFile struct {
	Recorded
	File
}

// OfFile returns the common part of the source of a file. Its description needs no name.
func OfFile(from File, d recording.Source) *RecordedFile {
	d.Name = from.Path
	return &RecordedFile{Recorded: Recorded{desc: d}, File: from}
}
