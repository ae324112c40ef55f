package ftdc

import (
	"slices"
	"time"
)

const (
	// gapPeriods is the number of periods without a sample that make a gap. The server skips a
	// sample if collecting takes longer than a period; three in a row are no coincidence.
	gapPeriods = 3
	// gapMinMs is the shortest gap. At a period of 100 ms the sampler is sometimes a few samples
	// late, which is less than one sample of other captures.
	gapMinMs = 1000
	// gapNeighbors is how many intervals on each side determine the usual period around a long
	// interval, so that a changed period is not a gap.
	gapNeighbors = 5
	// recentChunks is how many chunks' first times are kept to recognise repeated chunks.
	recentChunks = 64
	// periodKinds limits the distinct intervals that are counted for the usual period.
	periodKinds = 4096
)

// A gap is a span of time without samples, or one that was recorded twice.
type gap struct{ from, to int64 }

// An order is the timeline of a capture. It accepts chunks, keeps samples that are newer than all
// before, and reports what is missing. Times are the server's, in milliseconds.
type order struct {
	begun  bool
	last   int64 // newest time accepted
	recent []int64
	median int64 // of the last chunk's intervals, 0 before the first

	intervals map[int64]int64 // count by length in milliseconds
	diffs     []int64         // buffer
	sorted    []int64         // buffer
}

// An admission describes the new part of a chunk's samples.
type admission struct {
	keep    []int // indices into the times
	gaps    []gap
	back    *gap // the clock was set back from .from to .to
	dropped int  // samples not kept because of that
}

// admit accepts the times of the next chunk.
func (o *order) admit(times []int64) admission {
	var admitted admission
	repeated := slices.Contains(o.recent, times[0])
	if !repeated {
		o.recent = append(o.recent, times[0])
		if len(o.recent) > recentChunks {
			o.recent = slices.Delete(o.recent, 0, 1)
		}
	}

	first := !o.begun
	if first {
		o.begun, o.last = true, times[0]
	}

	o.diffs = o.diffs[:0]
	newest := o.last
	for i, t := range times {
		switch {
		case t > newest:
			o.diffs = append(o.diffs, t-newest)
		case first && i == 0:
		// A repeated chunk is normal after a crash: the interim file is also in the archive.
		case repeated && len(admitted.keep) == 0:
			continue
		default:
			if admitted.back == nil {
				admitted.back = &gap{newest, t}
			}
			admitted.dropped++
			continue
		}

		admitted.keep = append(admitted.keep, i)
		newest = t
	}

	if len(o.diffs) > 0 {
		admitted.gaps = o.measure(o.last)
	}

	o.last = newest
	return admitted
}

// measure counts the intervals in diffs, which begin at from, and finds the gaps.
func (o *order) measure(from int64) []gap {
	o.sorted = append(o.sorted[:0], o.diffs...)
	slices.Sort(o.sorted)
	if o.intervals == nil {
		o.intervals = map[int64]int64{}
	}

	for _, d := range o.sorted {
		if o.intervals[d] > 0 || len(o.intervals) < periodKinds {
			o.intervals[d]++
		}
	}

	var gaps []gap

	// If no interval exceeds three times the lower quartile, there is nothing to examine further.
	quartile := max(1, o.sorted[len(o.sorted)/4])
	if o.median > 0 {
		quartile = min(quartile, o.median)
	}

	if o.sorted[len(o.sorted)-1] > gapPeriods*quartile {
		at := from
		for i, d := range o.diffs {
			if d >= gapMinMs && d > gapPeriods*quartile && d > gapPeriods*o.around(i) {
				gaps = append(gaps, gap{at, at + d})
			}
			at += d
		}
	}

	if len(o.diffs) > 1 {
		o.median = o.sorted[len(o.sorted)/2]
	}

	return gaps
}

// around returns the greater of the usual intervals before and after interval i.
func (o *order) around(i int) int64 {
	before := medianOf(o.diffs[max(0, i-gapNeighbors):i])
	// Too few intervals before this one: use the previous chunk's median.
	if i < gapNeighbors/2+1 && o.median > 0 {
		before = o.median
	}
	after := medianOf(o.diffs[i+1 : min(len(o.diffs), i+1+gapNeighbors)])
	if before == 0 && after == 0 {
		return o.diffs[i] // nothing to compare with, so no gap
	}
	return max(before, after)
}

// medianOf returns the median of a few intervals, or 0 for none.
func medianOf(d []int64) int64 {
	if len(d) == 0 {
		return 0
	}
	var buf [gapNeighbors]int64
	s := append(buf[:0], d...)
	slices.Sort(s)
	return s[len(s)/2]
}

// period returns the median of all intervals so far, or 0 if there are none.
func (o *order) period() time.Duration {
	var n int64
	kinds := make([]int64, 0, len(o.intervals))
	for d, count := range o.intervals {
		kinds = append(kinds, d)
		n += count
	}
	slices.Sort(kinds)
	var seen int64
	for _, d := range kinds {
		if seen += o.intervals[d]; 2*seen >= n {
			return time.Duration(d) * time.Millisecond
		}
	}
	return 0
}
