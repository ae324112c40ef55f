package kernel

import (
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// quotaPeriod is the kernel's default period of a CPU quota (sched/fair.c, default_cfs_period;
// cpu.max in cgroup v2), which container runtimes use too.
const quotaPeriod = 100 * time.Millisecond

// A quota is the CPU time that a container's threads may use in each period on all cores together.
// Once it is used up, they all stop until the period ends, even while they hold locks. The kernel
// hands the quota to cores in slices of 5 ms; the model keeps one account.
type quota struct {
	each  time.Duration // in each period; 0: no quota
	first int64         // the period of used[0]
	used  []time.Duration

	throttled int64         // periods before first in which threads needed more than the quota
	stopped   time.Duration // time for which they were stopped in these periods
	stops     []time.Duration
}

func newQuota(share units.Ratio) quota {
	return quota{each: time.Duration(float64(share) * float64(quotaPeriod))}
}

// book uses d of CPU time from start on, and returns the instant at which all of it has been used.
func (q *quota) book(start vtime.Instant, d time.Duration) (done vtime.Instant) {
	for {
		i := int(int64(start)/int64(quotaPeriod) - q.first)
		if i < 0 { // that period is over, and Sample has closed it
			i, start = 0, vtime.Instant(q.first*int64(quotaPeriod))
		}

		for len(q.used) <= i {
			q.used, q.stops = append(q.used, 0), append(q.stops, 0)
		}

		end := vtime.Instant((q.first + int64(i) + 1) * int64(quotaPeriod))
		room := min(q.each-q.used[i], end.Sub(start))
		if d <= room {
			q.used[i] += d
			return start.Add(d)
		}

		q.used[i] += room
		d -= room
		if q.used[i] >= q.each {
			q.stops[i] = max(q.stops[i], end.Sub(start.Add(room)))
		}

		start = end
	}
}

// close counts the periods that are over at now.
func (q *quota) close(now vtime.Instant) {
	over := min(int(int64(now)/int64(quotaPeriod)-q.first), len(q.used))
	for _, s := range q.stops[:over] {
		if s > 0 {
			q.throttled++
			q.stopped += s
		}
	}
	q.used, q.stops = q.used[:copy(q.used, q.used[over:])], q.stops[:copy(q.stops, q.stops[over:])]
	q.first = int64(now) / int64(quotaPeriod)
}

// ahead is the CPU time that is booked from now on.
func (q *quota) ahead() (sum time.Duration) {
	for _, d := range q.used {
		sum += d
	}
	return sum
}

// container labels the series of the container that has the quota.
var container = []string{"id", "/database", "name", "database"}

// quotaMetrics are cAdvisor's.
var quotaMetrics = []string{
	"container_cpu_usage_seconds_total", "container_spec_cpu_quota", "container_spec_cpu_period",
	"container_cpu_cfs_periods_total",
	"container_cpu_cfs_throttled_periods_total", "container_cpu_cfs_throttled_seconds_total",
}

// sampleCores writes the values of the cores and of quotaMetrics. Each core gets an equal part of the
// time that the container used, because the quota does not record on which core it was used.
func (h *Host) sampleCores(now vtime.Instant, values []float64) {
	q := &h.quota
	q.close(now)

	used := -q.ahead()
	for _, d := range h.used {
		used += d
	}

	for c := range h.cores {
		values[2*c] = used.Seconds() / float64(len(h.cores))
		values[2*c+1] = now.Seconds() - values[2*c]
	}

	for i, x := range []float64{
		used.Seconds(), float64(q.each.Microseconds()), float64(quotaPeriod.Microseconds()),
		float64(q.first), float64(q.throttled), q.stopped.Seconds(),
	} {
		values[2*len(h.cores)+i] = x
	}
}
