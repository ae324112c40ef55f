//go:build linux

package disk

import (
	"slices"

	"plimsoll/internal/base/random"
)

// volatileBytesMax bounds the writes that are remembered because they are not durable yet. Real
// caches are bounded too, and write out the oldest data when they are full; so does this one.
const volatileBytesMax = 256 << 20

// sectorBytes is the size that any device writes atomically; a larger write may be torn between
// sectors.
const sectorBytes = 512

// A volatileLog holds the writes that a power loss may undo, in order.
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

// add records a write that is about to be applied to img.
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

// forget removes a write that failed.
func (v *volatileLog) forget(w *written) {
	if i := slices.Index(v.writes, w); i >= 0 {
		v.drop(i)
	}
}

func (v *volatileLog) drop(i int) {
	v.bytes -= int64(len(v.writes[i].after))
	v.writes = slices.Delete(v.writes, i, i+1)
}

// answered returns the acknowledged writes, which a flush submitted now makes durable.
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
// first. An older write in the log must not undo a durable one that overwrote it, so the durable
// data is copied into the older write's before-image.
func (v *volatileLog) durable(ws []*written) {
	if len(ws) == 0 {
		return
	}

	settled := make(map[*written]bool, len(ws))
	for _, w := range ws {
		settled[w] = true
	}

	kept := v.writes[:0]
	for _, w := range v.writes {
		if !settled[w] {
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

// settle copies the data of a durable write into the images of an older write that it overlaps.
func (w *written) settle(over *written) {
	from, end := max(w.off, over.off), min(w.off+int64(len(w.after)), over.off+int64(len(over.after)))
	if from >= end {
		return
	}
	data := over.after[from-over.off : end-over.off]
	copy(w.before[from-w.off:], data)
	copy(w.after[from-w.off:], data)
}

// zero clears a range of a write's images that was discarded after the write.
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
	LostBytes        int64 // in lost writes, and in the lost parts of torn ones
	// Unanswered writes were in flight and had not been acknowledged.
	Unanswered int
}

// cut undoes the log and replays what survives: each write is lost with probability Lose, otherwise
// torn with probability Torn, otherwise kept.
func (v *volatileLog) cut(img image, stream *random.Stream, loss Cut) (CutReport, error) {
	var cutReport CutReport
	sector := max(int64(loss.Sector), sectorBytes)

	// First restore the durable state, newest write first, then apply what survives in the original
	// order.
	for _, w := range slices.Backward(v.writes) {
		if err := img.write(w.before, w.off); err != nil {
			return cutReport, err
		}
	}

	for _, written := range v.writes {
		if !written.done {
			cutReport.Unanswered++
		}

		stays := len(written.after)

		// Sectors are aligned on the disk, regardless of where the write begins.
		first := sector - written.off%sector
		switch {
		case stream.Float() < float64(loss.Lose):
			stays = 0
			cutReport.Lost++
		case stream.Float() < float64(loss.Torn) && int64(len(written.after)) > first:
			stays = int(first + sector*int64(stream.Below(uint64(1+(int64(len(written.after))-first-1)/sector))))
			cutReport.Torn++
		default:
			cutReport.Kept++
		}

		cutReport.LostBytes += int64(len(written.after) - stays)
		if stays == 0 {
			continue
		}

		if err := img.write(written.after[:stays], written.off); err != nil {
			return cutReport, err
		}
	}

	*v = volatileLog{}
	return cutReport, nil
}
