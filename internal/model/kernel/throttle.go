package kernel

import (
	"math"
	"time"

	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/volume"
)

// Writeback throttling as in block/blk-wbt.c and block/blk-rq-qos.c of Linux 6.18.
const (
	throttleDepth   = 16                     // RWB_DEF_DEPTH
	throttleWindow  = 100 * time.Millisecond // RWB_WINDOW_NSEC
	throttleSamples = 3                      // RWB_MIN_WRITE_SAMPLES
	throttleUnknown = 5                      // RWB_UNKNOWN_BUMP
	throttleClose   = 100 * time.Millisecond // close_io
	throttleWaited  = time.Second            // wb_recent_wait
	throttleQueue   = 128                    // BLKDEV_DEFAULT_RQ: if Config.NrRequests says nothing
)

// An urgency is the reason for submitting a buffered write, to the extent that the block layer distinguishes
// it.
type urgency uint8

const (
	background urgency = iota // by the flusher: REQ_BACKGROUND
	normal                    // by sync_file_range
	urgent                    // a thread waits for it: REQ_SYNC
)

// A throttle limits the buffered writes that a device has in flight. The limit depends on why a
// write is submitted: the full limit if a thread waits for it, half for other writes, a quarter for
// the flusher's. The throttle watches reads. If even the fastest read of a window took longer than
// the target, the limits are halved, down to one write at a time. If nothing is read, they double,
// up to three quarters of the queue, so on a device without reads the limits hardly matter.
//
// Writes over the limit queue in order, and the first blocks the rest, even if the first is the
// flusher with the lowest limit and the next is a sync. Journal writes of the file system, reads and
// direct writes are never throttled (wbt_should_throttle).
type throttle struct {
	device *Device
	target time.Duration // of reads; 0: there is no throttle
	fixed  bool          // its bounds do not move (Config.WritebackDepth)
	used   bool          // the device has files, so there may be buffered writes
	queue  int           // depth of the device's queue at its creation: later changes do not count

	step   int
	capped bool // scaled_max: the step cannot go lower
	depth  [3]int
	flight int
	line   []throttled
	woken  int // submitters that were woken and have not run yet

	ticking bool
	window  time.Duration
	reads   int           // that ended in this window
	fastest time.Duration // of them
	writes  int           // all that ended in this window
	unknown int

	watched   vtime.Instant // when a read that is still in progress was issued, if ...
	watching  bool
	lastRead  vtime.Instant // when one was submitted, or ended
	hasRead   bool
	lastSleep vtime.Instant // when a writer over the dirty limit was last held back
	hasSlept  bool
}

// A throttled submitter waits for room.
type throttled struct {
	why  urgency
	turn vtime.Handler // called once it has room
	arg  uint64
}

// throttleOf creates a device's throttle from the host's settings. A device without slots queues
// requests before the throttle would see them, like the kernel's blk-throttle, and has none.
func throttleOf(d *Device, cfg *Config, slots int) throttle {
	t := throttle{device: d, queue: cfg.NrRequests, window: throttleWindow}
	if t.queue == 0 {
		t.queue = throttleQueue
	}

	switch {
	case cfg.WritebackDepth > 0:
		n := cfg.WritebackDepth
		if slots > 0 {
			n = min(n, slots)
		}
		t.fixed, t.target, t.depth = true, math.MaxInt64, [3]int{n, n, n}
	case cfg.WbtLatUsec > 0 && cfg.Scheduler != BFQ && slots > 0:
		t.target = time.Duration(cfg.WbtLatUsec) * time.Microsecond
		t.scale()
	}

	return t
}

// take reports whether a write may be submitted now; it then occupies the room until it is done.
// If not, the submitter is queued, and turn fires once there is room.
func (t *throttle) take(why urgency, turn vtime.Handler, arg uint64) bool {
	if t.target == 0 {
		return true
	}
	if len(t.line) == 0 && t.flight < t.limit(why) {
		t.flight++
		t.tick()
		return true
	}
	t.line = append(t.line, throttled{why, turn, arg})
	t.tick()
	return false
}

// limit corresponds to the kernel's get_limit.
func (t *throttle) limit(why urgency) int {
	now := t.device.host.clock.Now()
	switch {
	case why == urgent || t.recentlySlept(now):
		return t.depth[urgent]
	case why == background || t.hasRead && now.Sub(t.lastRead) < throttleClose:
		return t.depth[background]
	}
	return t.depth[normal]
}

func (t *throttle) recentlySlept(now vtime.Instant) bool {
	return t.hasSlept && now.Sub(t.lastSleep) < throttleWaited
}

// slept records that a writer over the dirty limit is blocked until the given time.
func (t *throttle) slept(until vtime.Instant) { t.hasSlept, t.lastSleep = true, until }

// begin records a submitted request: when a write releases its room, and which reads to watch.
func (t *throttle) begin(op volume.Op, c *volume.Completion, buffered bool) {
	if t.target == 0 || !t.used || op == volume.Flush {
		return
	}

	clock := t.device.host.clock
	now := clock.Now()

	issued := max(now, c.Admitted)
	switch {
	case op == volume.Read && !t.fixed:
		t.hasRead, t.lastRead = true, now
		if !t.watching {
			t.watching, t.watched = true, issued
		}
		clock.At(c.Done, (*readEnd)(t), uint64(issued))
	case buffered:
		clock.At(c.Done, (*writeEnd)(t), 1)
	case !t.fixed:
		clock.At(c.Done, (*writeEnd)(t), 0)
	}
}

// forget releases room that was not used.
func (t *throttle) forget() {
	if t.target != 0 {
		t.release()
	}
}

// readEnd is the throttle as the event handler for a read's end; the argument is when it was issued.
type readEnd throttle

// Fire records the read's latency.
func (r *readEnd) Fire(now vtime.Instant, arg uint64) {
	t := (*throttle)(r)
	issued := vtime.Instant(arg)
	if took := now.Sub(issued); t.reads == 0 || took < t.fastest {
		t.fastest = took
	}
	t.reads++
	t.lastRead = now
	if t.watching && issued == t.watched {
		t.watching = false
	}
}

// writeEnd is the throttle as the event handler for a write's end; the argument is the room it releases.
type writeEnd throttle

// Fire counts the write and lets the next ones in.
func (w *writeEnd) Fire(_ vtime.Instant, arg uint64) {
	t := (*throttle)(w)
	t.writes++
	if arg == 1 {
		t.release()
	}
}

// release corresponds to the kernel's wbt_rqw_done: queued submitters are woken once there is room
// for several.
func (t *throttle) release() {
	t.flight--
	limit := t.depth[normal]
	if t.device.cache && !t.fixed && !t.recentlySlept(t.device.host.clock.Now()) {
		limit = 0
	}
	if len(t.line) == 0 || t.flight > 0 && t.flight >= limit {
		return
	}
	if t.fixed || t.flight == 0 || limit-t.flight >= t.depth[background]/2 {
		t.wake()
	}
}

// wake admits queued submitters up to the first one for which there is no room.
func (t *throttle) wake() {
	now := t.device.host.clock.Now()
	n := 0
	for n < len(t.line) && t.flight < t.limit(t.line[n].why) {
		t.flight++
		t.woken++
		t.device.host.clock.At(now, t.line[n].turn, t.line[n].arg)
		n++
	}
	t.line = append(t.line[:0], t.line[n:]...)
}

// yields lets the other submitters that were woken together with this one continue, round-robin with
// one request each; again fires when it is this one's turn. The reason: submitting all the requests
// for which there is room, tens of them, takes a thread longer than another thread needs to wake up
// and submit its own. So behind a checkpoint's fsync both requests of an append go out together: a
// server's syncs took 0.72 s, which is one turn plus the wait for the file system's log. A separate
// turn for the second request would make it 1.1 or 1.5 s.
func (t *throttle) yields(again vtime.Handler, arg uint64) bool {
	if t.woken == 0 {
		return false
	}
	t.woken++
	t.device.host.clock.At(t.device.host.clock.Now(), again, arg)
	return true
}

// tick starts a window if none is open.
func (t *throttle) tick() {
	if t.ticking || t.fixed {
		return
	}
	t.ticking = true
	t.window = throttleWindow
	if t.step > 0 {
		t.window = time.Duration(int64(throttleWindow) << 4 / int64(math.Sqrt(float64((t.step+1)<<8))))
	}
	t.reads, t.writes = 0, 0
	t.device.host.clock.After(t.window, (*windowEnd)(t), 0)
}

// windowEnd is the throttle as the event handler for a window's end.
type windowEnd throttle

// Fire adjusts the limits to what the window showed (wb_timer_fn, latency_exceeded).
func (w *windowEnd) Fire(now vtime.Instant, _ uint64) {
	t := (*throttle)(w)
	flight := t.flight
	waiting := time.Duration(0)

	if t.watching {
		waiting = max(now.Sub(t.watched), 0)
	}

	switch {
	case waiting > t.window || waiting > t.target && t.reads == 0:
		t.down(true)
	case t.reads == 0 || t.writes < throttleSamples:
		switch {
		case t.writes > 0 || flight > 0 || t.recentlySlept(now):
			t.up()
		default:
			t.settle()
		}
	case t.fastest > t.target:
		t.down(true)
	default:
		t.up()
	}

	t.ticking = false
	if t.step != 0 || flight > 0 {
		t.tick()
	}
}

// settle slowly returns the step to zero while windows have too few samples.
func (t *throttle) settle() {
	if t.unknown++; t.unknown < throttleUnknown {
		return
	}
	if t.step > 0 {
		t.up()
	} else if t.step < 0 {
		t.down(false)
	}
}

func (t *throttle) up() {
	if t.capped {
		return
	}
	t.step--
	t.capped = t.scale()
	t.unknown = 0
	t.wake()
}

// down halves the limits; if hard and they are above the middle, it returns to the middle instead.
func (t *throttle) down(hard bool) {
	if t.depth[urgent] == 1 {
		return
	}
	if t.step < 0 && hard {
		t.step = 0
	} else {
		t.step++
	}
	t.scale()
	t.capped = false
	t.unknown = 0
}

// scale sets the limits for the step, and reports whether they are the highest
// (rq_depth_calc_max_depth, calc_wb_limits).
func (t *throttle) scale() (capped bool) {
	// A queue of one request alternates between one and two writes, as the kernel does.
	most := min(throttleDepth, t.queue)
	switch {
	case t.queue == 1 && t.step > 0:
		most = 1
	case t.queue == 1:
		most, capped = 2, true
	case t.step > 0:
		most = 1 + (most-1)>>min(t.step, 31)
	case t.step < 0:
		most = 1 + (most-1)<<min(-t.step, 31)
		if highest := 3 * t.queue / 4; most > highest {
			most, capped = highest, true
		}
	}

	if t.depth = [3]int{(most + 3) / 4, (most + 1) / 2, most}; most <= 2 {
		t.depth = [3]int{1, most, most}
	}

	return capped
}
