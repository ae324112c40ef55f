//go:build linux

package disk

import (
	"slices"

	"plimsoll/internal/base/random"
)

// volatileBytesMax bounds the writes remembered because they are not durable yet. A real cache is
// bounded as well and writes the oldest out when it is full; so does this one.
const volatileBytesMax = 256 << 20

// sectorBytes is what any device writes atomically; a write of several sectors may be torn between
// them.
const sectorBytes = 512

// A volatileLog holds the writes that a power loss may undo, in the order in which they were made.
type volatileLog struct {
	writes []*written
	bytes  int64
}

// A written is a write with the data that it replaced.
type written struct {
	off    int64
	before []byte
	after  []byte
	done   bool // it was acknowledged
}

// add records a write that is about to be made to img.
func (v *volatileLog) add(img image, p []byte, off int64) (*written, error) {
	w := &written{off: off, before: make([]byte, len(p)), after: slices.Clone(p)}
	if err := img.read(w.before, off); err != nil {
		return nil, err
	}
	v.writes = append(v.writes, w)
	v.bytes += int64(len(p))
	for v.bytes > volatileBytesMax && len(v.writes) > 1 {
		v.drop(0)
	}
	return w, nil
}

// forget removes a write that was not made after all.
func (v *volatileLog) forget(w *written) {
	if i := slices.Index(v.writes, w); i >= 0 {
		v.drop(i)
	}
}

func (v *volatileLog) drop(i int) {
	v.bytes -= int64(len(v.writes[i].after))
	v.writes = slices.Delete(v.writes, i, i+1)
}

// answered returns the writes that a flush submitted now will make durable.
func (v *volatileLog) answered() []*written {
	var out []*written
	for _, w := range v.writes {
		if w.done {
			out = append(out, w)
		}
	}
	return out
}

// durable removes writes that can no longer be lost. A later cut undoes the rest of the log, newest
// first. An older write in it must not undo a durable one that was made over it, so the older
// write's before-image takes over the durable data.
func (v *volatileLog) durable(ws []*written) {
	if len(ws) == 0 {
		return
	}

	is := make(map[*written]bool, len(ws))
	for _, w := range ws {
		is[w] = true
	}

	kept := v.writes[:0]
	for _, w := range v.writes {
		if !is[w] {
			kept = append(kept, w)
			continue
		}
		v.bytes -= int64(len(w.after))
		for _, older := range kept {
			older.settle(w)
		}
	}

	clear(v.writes[len(kept):])
	v.writes = kept
}

// settle takes over into a write's before-image what a durable one has written over it.
func (w *written) settle(over *written) {
	from, end := max(w.off, over.off), min(w.off+int64(len(w.after)), over.off+int64(len(over.after)))
	if from >= end {
		return
	}
	lies := over.after[from-over.off : end-over.off]
	copy(w.before[from-w.off:], lies)
	copy(w.after[from-w.off:], lies)
}

// zero takes over into a write's before-image a range that was discarded after it.
func (w *written) zero(off, n int64) {
	from, end := max(w.off, off), min(w.off+int64(len(w.after)), off+n)
	if from < end {
		clear(w.before[from-w.off : end-w.off])
		clear(w.after[from-w.off : end-w.off])
	}
}

// A CutReport says what a power loss did to the writes that were not durable.
type CutReport struct {
	Kept, Torn, Lost int   // writes
	LostBytes        int64 // of the lost writes, and of the lost parts of torn ones
	// Unanswered writes were still in flight: they were not acknowledged.
	Unanswered int
}

// cut undoes the log: each write is lost with probability lose, else torn with probability torn,
// else kept.
func (v *volatileLog) cut(img image, s *random.Stream, c Cut) (CutReport, error) {
	var r CutReport
	sector := max(int64(c.Sector), sectorBytes)

	for _, w := range slices.Backward(v.writes) {
		if err := img.write(w.before, w.off); err != nil {
			return r, err
		}
	}

	for _, w := range v.writes {
		if !w.done {
			r.Unanswered++
		}

		stays := len(w.after)

		// Sectors begin at multiples of their length on the disk, wherever the write begins.
		first := sector - w.off%sector
		switch {
		case s.Float() < float64(c.Lose):
			stays = 0
			r.Lost++
		case s.Float() < float64(c.Torn) && int64(len(w.after)) > first:
			stays = int(first + sector*int64(s.Below(uint64(1+(int64(len(w.after))-first-1)/sector))))
			r.Torn++
		default:
			r.Kept++
		}

		r.LostBytes += int64(len(w.after) - stays)
		if stays == 0 {
			continue
		}

		if err := img.write(w.after[:stays], w.off); err != nil {
			return r, err
		}
	}

	*v = volatileLog{}
	return r, nil
}
