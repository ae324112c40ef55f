package live

import (
	"time"

	"plimsoll/internal/record/source"
)

// OpenEvery is [Open] with a different time between two reads of the member list.
func OpenEvery(text string, opt Options, every time.Duration) (source.Source, error) {
	s, err := Open(text, opt)
	if err == nil {
		s.(*cluster).every = every
	}
	return s, err
}
