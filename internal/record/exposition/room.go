package exposition

import (
	"sync/atomic"

	"plimsoll/internal/record/httpclient"
)

const (
	// largePage is the size from which pages are read one at a time. A database's has a megabyte.
	largePage = 4 << 20
	// seriesBytesMax bounds the text of all series that are remembered: 600 bytes for each of seriesMax.
	seriesBytesMax = 128 << 20
	// samplesMax bounds the samples of one page of a server. Only series with times of their own can
	// have several.
	samplesMax = 2 * seriesMax
)

// A Room is what the pages of several servers may take together, which are read at the same time: the
// members of a cluster, or all exporters of a command.
type Room struct {
	turns  *httpclient.Turns
	series atomic.Int64
	bytes  atomic.Int64 // of the text of the series
}

// NewRoom returns room for as many series as one page may have.
func NewRoom() *Room { return &Room{turns: httpclient.NewTurns(largePage)} }

// take reports whether there is room for another series.
func (r *Room) take(text int) bool {
	series, bytes := r.series.Add(1), r.bytes.Add(int64(text))
	if series <= seriesMax && bytes <= seriesBytesMax {
		return true
	}
	r.give(text)
	return false
}

// give returns the room of a series that was forgotten.
func (r *Room) give(text int) {
	r.series.Add(-1)
	r.bytes.Add(-int64(text))
}
