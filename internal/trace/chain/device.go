package chain

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"plimsoll/internal/trace/events"
)

func timeOf(from, to int64) time.Duration { return time.Duration(to - from) }

// A sizeClass is requests that a device serves alike: same operation, sizes within a factor of two.
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

// aloneMax is how many latencies of a class are remembered.
const aloneMax = 256

// learn remembers the latency of a request that had the device for itself.
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

// latencies are the last ones of a class.
type latencies struct {
	all [aloneMax]int64
	n   int
}

// aloneLeast is how many such latencies make a baseline.
const aloneLeast = 5

// baseline is what the device takes for a request that it began to wait for at a time, when it has
// nothing else to do: the median of what was seen, or of the next smaller size. If the device never
// was idle, it is what remains after the last of the requests in front had completed, as in a queue,
// but no more than the shortest latency that a request of its size had.
func (w *Window) baseline(r *events.Request, ahead []events.Request) int64 {
	c := classOf(r)
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

	least := r.Done - last
	for _, q := range w.completed(r.Dev, r.Done-int64(10*time.Second), r.Done) {
		if took := q.Done - q.Started(); q.Op() == r.Op() && q.Bytes <= 2*r.Bytes && took > 0 {
			least = min(least, took)
		}
	}

	return least
}

// ahead are the requests that the device served while r waited for it: those that completed within
// (from, to], r's own time at the device.
func (w *Window) ahead(r *events.Request, from, to int64) []events.Request {
	var out []events.Request
	for _, q := range w.completed(r.Dev, from, to) {
		if q.First != r.First && q.Issue > 0 && q.Op() != events.OpDiscard {
			out = append(out, q)
		}
	}
	return out
}

// inFlightFor is how much later a request that was in flight may have completed.
const inFlightFor = int64(60e9)

// inFlight are the other requests that the device had at a time.
func (w *Window) inFlight(r *events.Request, at int64) []events.Request {
	var out []events.Request
	for _, q := range w.completed(r.Dev, at, at+inFlightFor) {
		if q.Issue > 0 && q.Issue <= at && q.First != r.First {
			out = append(out, q)
		}
	}
	return out
}

// weight is what a request costs a device: an operation, and its bytes. A device that is limited in
// operations counts one for each; one that is limited in bytes spends about as much on the first
// 64 KiB as on the operation.
func weight(r *events.Request) float64 { return 1 + float64(r.Bytes)/65536 }

// shares divides a time between the owners of requests, by weight.
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

	out[0].Time += took - all // what rounding lost
	return out
}

// device explains a request's time at the device: behind others, then its own.
func (e *explainer) device(r *events.Request, from, to int64, p Place) {
	ahead := e.w.ahead(r, from, to)
	if len(ahead) == 0 {
		e.own(r, from, to, p)
		return
	}
	alone := min(e.w.baseline(r, ahead), to-from)
	e.put(from, to-alone, p, DeviceQueue, e.w.shares(ahead, timeOf(from, to-alone), e.call)...)
	e.own(r, to-alone, to, p)
}

// own is a request's time with the device for itself.
func (e *explainer) own(r *events.Request, from, to int64, p Place) {
	stage := DeviceOwn
	if r.Flush() {
		stage = DeviceFlush
	}
	e.put(from, to, p, stage, Share{Culprit: e.w.owner(r, e.call), Requests: 1, Bytes: int64(r.Bytes)})
}

// queued explains the time between a request's making and its start at the driver: a flush that
// must come first, or a scheduler and a full device.
func (e *explainer) queued(r *events.Request, from, to int64, p Place) {
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
		rs = e.w.inFlight(r, from)
	}

	e.put(from, to, p, Scheduler, e.w.shares(rs, timeOf(from, to), e.call)...)
}

// blockLayer explains a wait for a request's place, by the requests that held one.
func (e *explainer) blockLayer(c class, from, to int64, p Place) {
	stage, wanted := TagWait, func(*events.Request) bool { return true }
	switch c {
	case wbtWait:
		stage, wanted = WBT, isWriteback
	case cgroupWait:
		stage = CgroupWait
		e.put(from, to, p, stage, Share{Culprit: Culprit{Self: true, Cgroup: e.w.groups[e.call.PID]}})
		return
	default:
	}
	e.put(from, to, p, stage, e.served(e.call.File.Dev, from, to, wanted)...)
}

// served are the shares of what a file system's disks completed in a time.
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
