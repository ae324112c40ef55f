package recording

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// notesMax bounds the notes of a recording, because a damaged source may produce one per byte. A
// final note counts those that were dropped.
const notesMax = 1000

// A ledger holds the sources and notes of a Writer, and counts dropped samples. It is safe for
// concurrent use.
type ledger struct {
	mu      sync.Mutex
	sources []Source
	notes   []Note
	more    int          // dropped notes
	late    drops        // not newer than the last one of their series
	over    drops        // beyond a bound on series or bytes
	far     drops        // at impossible times
	handed  atomic.Int64 // samples passed to Append
	version int          // changes so far
	// rolling means that the oldest note makes room for the newest, and that duplicates are
	// dropped.
	rolling bool
}

// drops counts dropped samples.
type drops struct {
	samples int64
	metric  string // of the first one
	fromMs  int64
	toMs    int64
}

func (d *drops) add(metric string, samples int, fromMs, toMs int64) {
	if samples == 0 {
		return
	}
	if d.samples == 0 {
		d.metric, d.fromMs, d.toMs = metric, fromMs, toMs
	}
	d.samples += int64(samples)
	d.fromMs, d.toMs = min(d.fromMs, fromMs), max(d.toMs, toMs)
}

func (l *ledger) source(s Source) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.version++
	facts := make(map[string]string, len(s.Facts))
	maps.Copy(facts, s.Facts)
	s.Facts = facts
	s.From, s.To = clock(s.From), clock(s.To)
	for i := range l.sources {
		if l.sources[i].Name == s.Name {
			l.sources[i] = s
			return
		}
	}
	l.sources = append(l.sources, s)
}

func (l *ledger) note(n Note) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n.From, n.To = clock(n.From), clock(n.To)

	if l.rolling && slices.Contains(l.notes, n) {
		return
	}

	l.version++

	// A ring runs for years: recent notes matter more than old ones.
	if l.rolling && len(l.notes) >= notesMax {
		l.notes = slices.Delete(l.notes, 0, 1)
	}

	if len(l.notes) >= notesMax {
		l.more++
		return
	}

	l.notes = append(l.notes, n)
}

// drop counts dropped samples in one of the ledger's drops.
func (l *ledger) drop(into *drops, metric string, samples int, fromMs, toMs int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.version++
	into.add(metric, samples, fromMs, toMs)
}

// dropped returns the number of dropped samples.
func (l *ledger) dropped() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.late.samples + l.over.samples + l.far.samples
}

// all returns copies of the sources and of the notes, including those about dropped samples, and
// the version of the ledger.
func (l *ledger) all() ([]Source, []Note, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	notes := slices.Clone(l.notes)
	name := ""

	if len(l.sources) == 1 {
		name = l.sources[0].Name
	}

	dropped := func(d drops, text string) {
		if d.samples == 0 {
			return
		}
		notes = append(notes, Note{
			Kind: NoteDropped, Source: name,
			From: clock(time.UnixMilli(d.fromMs).UTC()), To: clock(time.UnixMilli(d.toMs).UTC()),
			Text: fmt.Sprintf(text, d.samples, d.metric),
			Lost: min(float64(d.samples)/float64(max(l.handed.Load(), 1)), 1),
		})
	}

	dropped(l.late,
		"dropped %d samples that were not newer than the last one of their series, the first in %s: "+
			"give overlapping sources as one source, or one at a time")
	dropped(l.over,
		"dropped %d samples because the recording reached its limit of series or memory, the first in %s: "+
			"record fewer metrics or a shorter time")
	dropped(l.far,
		"dropped %d samples because of their time (before 1970, after 2199 or, in a ring, ahead of this machine's clock), the first in %s: "+
			"correct the clock of the machine that recorded them")

	if l.more > 0 {
		notes = append(notes, Note{Kind: NoteDropped, Source: name,
			Text: fmt.Sprintf("dropped %d more notes", l.more)})
	}

	return slices.Clone(l.sources), notes, l.version
}

// coarsestPeriod returns the longest period among the sources, or 0 if none is known.
func coarsestPeriod(sources []Source) time.Duration {
	var longest time.Duration
	for _, s := range sources {
		longest = max(longest, s.Period)
	}
	return longest
}
