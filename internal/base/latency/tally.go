package latency

import "math/bits"

// A tally counts like a [Distribution], in the same classes, but allocates classes only up to the
// longest time. Each part of a cycle has one, so a run uses several hundred; a full histogram
// always has room for times up to a day.
type tally struct {
	counts []int64
	n      int64
	sum    int64 // ns
	most   int64 // ns
}

// The classes of a histogram with two significant digits: times up to 2*halfClasses microseconds
// have one class each; from there on, each power of two has halfClasses of them.
const (
	halfBits    = 7
	halfClasses = 1 << halfBits
)

// classAt returns the class of a time in microseconds.
func classAt(us int64) int {
	shift := bits.Len64(uint64(us)|(2*halfClasses-1)) - halfBits - 1
	return shift<<halfBits + int(us>>shift)
}

// classFrom returns the shortest time in a class, in microseconds.
func classFrom(class int) int64 {
	if class < 2*halfClasses {
		return int64(class)
	}
	shift := class>>halfBits - 1
	return int64(class-shift<<halfBits) << shift
}

// add counts a time in nanoseconds.
func (t *tally) add(ns int64) {
	class := classAt(counted(ns))
	if class >= len(t.counts) {
		t.grow(class)
	}
	t.counts[class]++
	t.n++
	t.sum += ns
	t.most = max(t.most, ns)
}

// grow makes room for a class, in steps of half an octave so that it rarely copies.
func (t *tally) grow(class int) {
	counts := make([]int64, (class/(halfClasses/2)+1)*(halfClasses/2))
	copy(counts, t.counts)
	t.counts = counts
}

// addTo adds everything counted to a distribution.
func (t *tally) addTo(d *Distribution) {
	if t.n == 0 {
		return
	}
	d.init()
	for class, n := range t.counts {
		if n > 0 {
			_ = d.hdr.RecordValues(classFrom(class), n) // within range, as it was counted
		}
	}
	d.n += t.n
	d.sum += t.sum
	d.most = max(d.most, t.most)
}
