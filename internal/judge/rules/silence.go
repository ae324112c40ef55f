package rules

import (
	"math"

	"plimsoll/internal/record/timeline"
)

// A silence is a time in which hardly anything completed although operations waited. Fewer
// completions alone prove nothing: clients send less between two batches, at night and after a
// deployment that stops traffic. Two things show that operations waited:
//
// - a count of them: queued writers, pending proposals, sessions executing, a busy device; or - the
// interval after the silence, to which counters credit the waits. The mean latency there hides
// them: a server with 64 connections has 64 waits of nine seconds, and then thousands of fast
// writes that clients had held back. So the total of the waits counts, unless the mean is normal.
const (
	// silentOps is the share of the usual completions up to which a cell counts as silent.
	silentOps = 0.1
	// silentWaiters is how many operations must have waited through a silence, on average,
	// according to what is credited after it.
	silentWaiters = 4
	// slowerThanUsual is the multiple of the usual latency above which a latency is not normal.
	slowerThanUsual = 2.0
	// queuedAtLeast is how many operations a source must have counted as waiting, on average.
	queuedAtLeast = 1.0
	// undeterminedS and undeterminedPeriods are the minimum length of a silence at the end before
	// it is reported.
	undeterminedS       = 10.0
	undeterminedPeriods = 3
	// reachedAt is the quantile of completions that operations reach even if they wait for nine tenths
	// of the time. Their median is then that of a silent cell.
	reachedAt = 0.95
)

// quiet holds what is usual for a detector's operations, to recognize silence.
type quiet struct {
	stepS    float64
	interval int     // cells between two samples
	ops      float64 // usual completions per second
	reached  float64 // completions per second that are reached while nothing waits
	latency  float64 // usual latency in seconds
}

func quietOf(t Time, s Stall) quiet {
	return quiet{stepS: t.Grid.StepSeconds(), interval: max(1, int(math.Round(s.PeriodS/t.Grid.StepSeconds()))),
		ops: timeline.Quantile(s.Ops, 0.5), reached: timeline.Quantile(s.Ops, reachedAt),
		latency: timeline.Quantile(s.Latency, 0.5)}
}

// silent reports whether hardly anything completed in a cell.
func (q quiet) silent(s Stall, k int) bool { return s.Ops[k] <= silentOps*q.ops }

// partOfWait reports whether a cell before a stalled one belongs to the same wait: it is silent, or
// its operations were few and slow.
func (q quiet) partOfWait(s Stall, k int) bool {
	return q.silent(s, k) || s.Ops[k] <= quietOps*q.ops && s.Latency[k] >= slowerThanUsual*q.latency
}

// mark marks the silences of a stall, and the undetermined one at the end. If most of the time is silent,
// only a count of waiting operations distinguishes a stall from an idle server: a batch that a cron job sends
// every minute is credited with just as much waiting. Sessions counted as executing are not enough, as in a
// bulk load.
func (q quiet) mark(s *Stall) {
	if q.ops >= minUsualOps {
		q.eachSilence(s, q.ops, q.judge)
	}
	if q.reached >= minUsualOps && s.Queued != nil {
		q.eachSilence(s, q.reached, q.judgeCounted)
	}
}

// eachSilence judges the runs of cells with hardly any completions, compared with the given rate. A run is
// from cell first to the cell before end.
func (q quiet) eachSilence(s *Stall, rate float64, judge func(s *Stall, first, end int)) {
	first := -1
	for k, x := range s.Ops {
		switch {
		case x <= silentOps*rate:
			if first < 0 {
				first = k
			}
		case first >= 0:
			judge(s, first, k)
			first = -1
		}
	}

	if first >= 0 {
		judge(s, first, len(s.Ops))
	}
}

// judgeCounted marks a silence if operations were counted as waiting in it.
func (q quiet) judgeCounted(s *Stall, first, end int) {
	counted, _ := q.counted(*s, first, end)
	if counted && float64(end-first)*q.stepS >= s.ThresholdAt(first) {
		fill(s.Cells, first, end)
	}
}

// ends is the cell after the last one with any data on a detector's operations.
func ends(s Stall) int {
	end := len(s.Ops)
	for end > 0 && math.IsNaN(s.Ops[end-1]) {
		end--
	}
	return end
}

// judge decides about the silence from cell first to the cell before end.
func (q quiet) judge(s *Stall, first, end int) {
	// A silence shorter than the threshold is not a stall even if operations waited.
	length := float64(end-first) * q.stepS
	if !(length >= s.ThresholdAt(first)) {
		return
	}

	counted, known := q.counted(*s, first, end)
	atEnd := end >= ends(*s)

	switch {
	case counted:
		fill(s.Cells, first, end)
	case !atEnd && q.credited(*s, end, length):
		// Operations credited to the next interval also waited for part of it.
		fill(s.Cells, first, min(end+q.interval, len(s.Cells)))
	case atEnd && !known && first > 0 && length >= max(undeterminedS, undeterminedPeriods*s.PeriodS):
		s.Undetermined = make(timeline.Mask, len(s.Cells))
		fill(s.Undetermined, first, end)
	}
}

// counted reports whether operations were counted as waiting throughout a silence, and whether
// anything counts them.
func (q quiet) counted(s Stall, first, end int) (waited, known bool) {
	queued, least := s.Queued, queuedAtLeast
	if queued == nil && s.Sampled {
		queued, least = s.Waiting, silentWaiters
	}
	if queued == nil {
		return false, false
	}
	in := queued[first:end]
	return timeline.Mean(in) >= least, timeline.Count(in) > 0
}

// credited reports whether the cell after a silence is credited with waits as long as the silence.
// Values that a source samples at one moment are not credited later.
func (q quiet) credited(s Stall, k int, silence float64) bool {
	return !s.Sampled && silence <= maxReachS && s.Latency[k] >= StallFactor*q.latency &&
		(s.Waiting[k]-q.latency*s.Ops[k])*s.PeriodS >= silentWaiters*silence
}

func fill(m timeline.Mask, first, end int) {
	for k := first; k < end; k++ {
		m[k] = true
	}
}
