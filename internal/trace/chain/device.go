package chain

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"plimsoll/internal/trace/events"
)

func timeOf(from, to int64) time.Duration { return time.Duration(to - from) }

// A sizeClass groups requests that a device should serve equally fast: same operation, sizes within
// a factor of two.
type sizeClass struct {
	dev  uint32
	op   uint32
	size int
}

func classOf(r *events.Request) sizeClass {
	if r.Flush() {
		return sizeClass{r.Dev, events.OpFlush, 0}
	}
	return sizeClass{r.Dev, r.Op(), bits.Len32(r.Bytes)}
}

// aloneMax is the number of latencies kept for each class.
const aloneMax = 256

// learn records the latency of a request that had the device to itself.
func (w *Window) learn(r *events.Request) {
	if !r.Alone || r.Issue == 0 || r.Done <= r.Issue {
		return
	}
	c := classOf(r)
	a := w.alone[c]
	if a == nil {
		a = &latencies{}
		w.alone[c] = a
	}
	a.all[a.n%aloneMax] = r.Done - r.Issue
	a.n++
}

// latencies is a ring of the most recent latencies of a class.
type latencies struct {
	all [aloneMax]int64
	n   int
}

// aloneLeast is the number of latencies required for a baseline.
const aloneLeast = 5

// baseline estimates how long the idle device takes for a request: the median latency of its class,
// or of the next smaller size. If the device was never idle, the estimate is the time since the
// last request ahead of it completed, as in a queue, but at most the shortest latency of a request
// of similar size.
func (w *Window) baseline(r *events.Request, ahead []events.Request) int64 {
	c := classOf(r)

	// With too few samples of this size, the next smaller one is the best estimate.
	for ; c.size >= 0; c.size-- {
		if a := w.alone[c]; a != nil && a.n >= aloneLeast {
			sorted := slices.Clone(a.all[:min(a.n, aloneMax)])
			slices.Sort(sorted)
			return sorted[len(sorted)/2]
		}
	}

	last := r.Started()
	for i := range ahead {
		if q := &ahead[i]; q.Started() <= r.Started() {
			last = max(last, q.Done)
		}
	}

	// The queue estimate can still contain waiting inside the device, so any faster request of
	// similar size within the last 10 s caps it.
	least := r.Done - last
	for _, q := range w.completed(r.Dev, r.Done-int64(10*time.Second), r.Done) {
		if took := q.Done - q.Started(); q.Op() == r.Op() && q.Bytes <= 2*r.Bytes && took > 0 {
			least = min(least, took)
		}
	}

	return least
}

// ahead returns the requests that the device served while r waited for it: those that completed
// within (from, to], r's own time at the device.
func (w *Window) ahead(r *events.Request, from, to int64) []events.Request {
	var out []events.Request
	for _, q := range w.completed(r.Dev, from, to) {
		// Discards are excluded: most devices process them in the background, and their size would
		// dominate the weights.
		if q.First != r.First && q.Issue > 0 && q.Op() != events.OpDiscard {
			out = append(out, q)
		}
	}
	return out
}

// inFlightFor bounds how long after a point in time a request in flight then is searched for.
const inFlightFor = int64(60e9)

// inFlight returns the other requests that the device was working on at a time.
func (w *Window) inFlight(r *events.Request, at int64) []events.Request {
	var out []events.Request
	for _, q := range w.completed(r.Dev, at, at+inFlightFor) {
		if q.Issue > 0 && q.Issue <= at && q.First != r.First {
			out = append(out, q)
		}
	}
	return out
}

// weight is the cost of a request to a device: one operation plus its bytes. A device limited by
// IOPS counts one per request; one limited by throughput spends about as much on 64 KiB as on the
// operation itself.
func weight(r *events.Request) float64 { return 1 + float64(r.Bytes)/65536 }

// shares divides a duration between the owners of requests, by weight.
func (w *Window) shares(rs []events.Request, took time.Duration, call *events.Call) []Share {
	sum := 0.0
	for i := range rs {
		sum += weight(&rs[i])
	}

	if sum == 0 {
		return nil
	}

	var out []Share
	at := map[Culprit]int{}
	for i := range rs {
		c := w.owner(&rs[i], call)
		k, ok := at[c]
		if !ok {
			k = len(out)
			at[c] = k
			out = append(out, Share{Culprit: c})
		}
		out[k].Time += time.Duration(float64(took) * weight(&rs[i]) / sum)
		out[k].Requests++
		out[k].Bytes += int64(rs[i].Bytes)
	}

	slices.SortStableFunc(out, func(a, b Share) int { return cmp.Compare(b.Time, a.Time) })
	var all time.Duration
	for _, s := range out {
		all += s.Time
	}

	// The parts of a call must add up exactly, so the largest share absorbs the rounding error.
	out[0].Time += took - all
	return out
}

// device splits a request's time at the device into queueing behind others and its own service
// time.
func (e *explainer) device(r *events.Request, from, to int64, p Place) {
	ahead := e.w.ahead(r, from, to)
	if len(ahead) == 0 {
		e.own(r, from, to, p)
		return
	}
	// The device is modelled as a queue: the requests ahead come first, then this one.
	alone := min(e.w.baseline(r, ahead), to-from)
	e.put(from, to-alone, p, DeviceQueue, e.w.shares(ahead, timeOf(from, to-alone), e.call)...)
	e.own(r, to-alone, to, p)
}

// own attributes an interval to the device serving only this request.
func (e *explainer) own(r *events.Request, from, to int64, p Place) {
	stage := DeviceOwn
	if r.Flush() {
		stage = DeviceFlush
	}
	e.put(from, to, p, stage, Share{Culprit: e.w.owner(r, e.call), Requests: 1, Bytes: int64(r.Bytes)})
}

// queued explains the time between a request's creation and its dispatch to the driver: a flush
// that must come first, or a scheduler and a full device.
func (e *explainer) queued(r *events.Request, from, to int64, p Place) {
	// The kernel sends a separate flush to the device before a request with PREFLUSH, and only then
	// the data.
	if r.Flags&events.FlagPreflush != 0 {
		if f := e.w.last(e.call.File.Dev, from, to+slackNs, isFlush); f != nil && f.First != r.First {
			if start := min(f.Started(), to); start > from {
				e.put(from, start, p, DeviceFlush, Share{Culprit: e.w.owner(f, e.call)})
				from = start
			}
			if done := min(f.Done, to); done > from {
				e.device(f, from, done, p)
				from = done
			}
		}
	}

	rs := e.w.completed(r.Dev, from, to)
	if len(rs) == 0 {
		// Nothing completed in this interval: whatever the device was working on held the request up.
		rs = e.w.inFlight(r, from)
	}

	e.put(from, to, p, Scheduler, e.w.shares(rs, timeOf(from, to), e.call)...)
}

// blockLayer explains a wait for a free request (or for permission to submit one) by the requests
// that held them.
func (e *explainer) blockLayer(c class, from, to int64, p Place) {
	stage, wanted := TagWait, func(*events.Request) bool { return true }
	switch c {
	case wbtWait:
		stage, wanted = WBT, isWriteback
	case cgroupWait:
		// The limit belongs to the caller's own cgroup, so no other process is to blame.
		stage = CgroupWait
		e.put(from, to, p, stage, Share{Culprit: Culprit{Self: true, Cgroup: e.w.groups[e.call.PID]}})
		return
	default:
	}
	e.put(from, to, p, stage, e.served(e.call.File.Dev, from, to, wanted)...)
}

// served returns the shares of the requests that a file system's disks completed in an interval.
func (e *explainer) served(fs uint32, from, to int64, wanted func(*events.Request) bool) []Share {
	var rs []events.Request
	for _, dev := range e.w.disksOf(fs) {
		for _, r := range e.w.completed(dev, from, to+slackNs) {
			if wanted(&r) {
				rs = append(rs, r)
			}
		}
	}
	if len(rs) == 0 {
		for _, dev := range e.w.disksOf(fs) {
			rs = append(rs, e.w.inFlight(&events.Request{Dev: dev}, from)...)
		}
	}
	return e.w.shares(rs, timeOf(from, to), e.call)
}
