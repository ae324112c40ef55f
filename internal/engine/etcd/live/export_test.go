package live

import (
	"context"
	"time"

	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/source"
)

// OpenEvery is [Open] with a different time between two reads of the member list.
func OpenEvery(text string, opt recognise.LiveOptions, every time.Duration) (source.Source, error) {
	s, err := Open(context.Background(), text, opt)
	if err == nil {
		s.(*cluster).every = every
	}
	return s, err
}
