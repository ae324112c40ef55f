package exposition

import (
	"sync/atomic"

	"plimsoll/internal/record/httpclient"
)

const (
	// largePage is the size above which pages are read one at a time. A database's page has about a
	// megabyte.
	largePage = 4 << 20
	// seriesBytesMax bounds the text of all cached series: 600 bytes for each of seriesMax.
	seriesBytesMax = 128 << 20
	// samplesMax bounds the samples of one page of a server. Only series with their own timestamps
	// can occur more than once.
	samplesMax = 2 * seriesMax
)

// A Room limits the memory of pages that are read at the same time: those of the members of a
// cluster, or of all exporters of a command.
type Room struct {
	turns  *httpclient.Turns
	series atomic.Int64
	bytes  atomic.Int64 // of the text of the series
}

// NewRoom returns a Room for as many series as one page may have.
func NewRoom() *Room { return &Room{turns: httpclient.NewTurns(largePage, 1)} }

// take reports whether there is room for another series.
func (r *Room) take(text int) bool {
	series, bytes := r.series.Add(1), r.bytes.Add(int64(text))
	// Added first and returned on failure, because pages are parsed concurrently.
	if series <= seriesMax && bytes <= seriesBytesMax {
		return true
	}
	r.give(text)
	return false
}

// give returns the room of a series that was dropped.
func (r *Room) give(text int) {
	r.series.Add(-1)
	r.bytes.Add(-int64(text))
}
