//go:build linux

package run

import (
	"context"
	"maps"
	"slices"
	"time"

	"plimsoll/internal/base/latency"
	"plimsoll/internal/base/procfs"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/lab/loadgen"
	"plimsoll/internal/lab/mount"
	"plimsoll/internal/model/simulate"
)

// A watcher samples volumes, machine and load generator once a second during the measured time. It
// does not sample while the power is off.
type watcher struct {
	m      *machines
	load   *loadgen.Generator
	record *recorder // nil: nothing is recorded
	from   vtime.Instant
	step   int // seconds per cell of the series

	seconds   float64 // total time sampled
	at        time.Time
	names     []string // of the volumes, in order
	tracks    map[string]*track
	processor processor
	cpuBusy   float64 // ticks, over all CPUs
	cpuAll    float64
	dirtyMax  float64
	dirty     []*float64 // one maximum per cell
}

// A track follows one volume.
type track struct {
	device string
	last   counters
	sum    counters
	busy   []float64 // last ten seconds
	series []*float64

	iopsMax, bytesMax, busyMax float64

	before mount.VolumeStatus // at the first sample
	now    mount.VolumeStatus
	held   map[string]float64 // time until the last power loss
	worst  Emulation
}

func newWatcher(m *machines, d *loadgen.Generator, from, end vtime.Instant) *watcher {
	cells := latency.NewSeries(from, end) // the same cells as the result's other series
	w := &watcher{m: m, load: d, from: from, step: int(cells.Step / time.Second), tracks: map[string]*track{}}
	n := len(cells.Cells)
	w.dirty = make([]*float64, n)
	for name, device := range m.lab.Devices {
		w.tracks[name] = &track{device: device, series: make([]*float64, n), held: map[string]float64{}}
	}
	return w
}

// begin takes the first sample, after the warm-up or a power loss.
func (w *watcher) begin(ctx context.Context) error {
	if err := w.m.resetStats(ctx); err != nil {
		return err
	}

	all, err := w.m.status(ctx)
	if err != nil {
		return err
	}

	w.names = w.names[:0]
	for _, s := range all.Volumes {
		t := w.tracks[s.Name]
		w.names = append(w.names, s.Name)
		t.before, t.now = s, s
		if t.last, err = diskstat(t.device); err != nil {
			return err
		}
	}

	w.at = time.Now()
	w.processor, err = cpu()
	w.load.Totals() // resets its maxima

	return err
}

// sample adds what happened since the last sample.
func (w *watcher) sample(ctx context.Context) (loadgen.Totals, error) {
	now := time.Now()
	span := now.Sub(w.at).Seconds()
	totals := w.load.Totals()

	// A sample covers the second that ends at its time, hence the -1.
	cell := min(max(int((totals.At-w.from)/1e9)-1, 0)/w.step, len(w.dirty)-1)

	dirty, err := procfs.Memory("Dirty")
	if err != nil {
		return totals, err
	}

	w.dirtyMax = max(w.dirtyMax, float64(dirty))
	w.dirty[cell] = most(w.dirty[cell], float64(dirty))
	p, err := cpu()
	if err != nil {
		return totals, err
	}

	w.cpuBusy += float64(p.busy - w.processor.busy)
	w.cpuAll += float64(p.all - w.processor.all)
	all, err := w.m.status(ctx)
	if err != nil {
		return totals, err
	}

	for _, s := range all.Volumes {
		t := w.tracks[s.Name]
		t.now = s
		if err := t.sample(span, cell, w.step); err != nil {
			return totals, err
		}
	}

	w.at, w.processor = now, p
	w.seconds += span
	if w.record != nil {
		err = w.record.own(ctx, now, totals, all.Volumes)
	}

	return totals, err
}

func (t *track) sample(span float64, cell, step int) error {
	c, err := diskstat(t.device)
	if err != nil || span <= 0 {
		return err
	}

	d := c.less(t.last)
	t.last, t.sum = c, t.sum.more(d)
	busy := min(d.busyTime/span, 1)

	if span >= 0.5 { // a fraction of a second at the end would exaggerate rates
		t.iopsMax = max(t.iopsMax, (d.reads+d.writes)/span)
		t.bytesMax = max(t.bytesMax, (d.readBytes+d.writtenBytes)/span)
		if t.busy = append(t.busy, busy); len(t.busy) > 10 {
			t.busy = t.busy[1:]
		}

		// busyMax is the highest mean over ten seconds. A single second at 100 % is nothing
		// unusual.
		if len(t.busy) == 10 {
			sum := 0.0
			for _, b := range t.busy {
				sum += b
			}
			t.busyMax = max(t.busyMax, sum/10)
		}
	}

	// A cell may cover several seconds, each of which adds its part.
	share := busy / float64(step)
	if t.series[cell] != nil {
		share += *t.series[cell]
	}

	share = min(share, 1)
	t.series[cell] = &share
	return nil
}

// pause saves the volumes' counters, which restart after a power loss.
func (w *watcher) pause() {
	for _, name := range w.names {
		t := w.tracks[name]
		for limit, x := range t.now.HeldBy {
			t.held[limit] += max(x-t.before.HeldBy[limit], 0)
		}

		v := &t.now
		e := &t.worst
		e.Name, e.Gives, e.Resident, e.Refused = name, v.Gives, v.Resident, v.Refused
		e.LateP50, e.LateP99, e.LateMax = max(e.LateP50, v.LateP50), max(e.LateP99, v.LateP99),
			max(e.LateMax, v.LateMax)
		e.LateShare, e.LateWorst = max(e.LateShare, v.Late), max(e.LateWorst, v.LateWorst)

		// Report the two means of the same span, the one with the largest excess.
		if v.Kernel != nil && (v.Added >= e.Added || e.Kernel == nil) {
			e.Kernel, e.Asked = v.Kernel, v.Asked
		}

		e.Added, e.Slow = max(e.Added, v.Added), e.Slow || v.Slow
		e.Saturated = e.Saturated || v.Saturated
		t.before = t.now
	}
}

// volumes returns the volumes' usage over all samples.
func (w *watcher) volumes() []simulate.VolumeResult {
	out := []simulate.VolumeResult{}
	for _, name := range w.names {
		t := w.tracks[name]
		d, span := t.sum, max(w.seconds, 1e-9)
		v := simulate.VolumeResult{
			Name: name, ReadIOPS: d.reads / span, WriteIOPS: d.writes / span, IOPS: (d.reads + d.writes) / span,
			IOPSMax:     t.iopsMax,
			BytesPerSec: (d.readBytes + d.writtenBytes) / span, BytesPerSecMax: t.bytesMax,
			Busy: min(d.busyTime/span, 1), BusyMax: t.busyMax, QueueMean: d.weighted / span,
			AwaitSeconds:     per(d.readTime+d.writeTime, d.reads+d.writes),
			ReadAwaitSeconds: per(d.readTime, d.reads), WriteAwaitSeconds: per(d.writeTime, d.writes),
			HeldBy: []simulate.HeldBy{}, Credits: t.now.Credits,
		}
		if v.BusyMax == 0 {
			v.BusyMax = v.Busy // the run was shorter than ten seconds
		}

		for _, limit := range slices.Sorted(maps.Keys(t.held)) {
			if x := t.held[limit]; x > 0 {
				v.HeldBy = append(v.HeldBy, simulate.HeldBy{Name: limit, Seconds: x})
			}
		}

		out = append(out, v)
	}

	return out
}

// series returns the first cells of the time series.
func (w *watcher) series(cells int) *simulate.Series {
	s := &simulate.Series{EngineDirty: make([]*float64, cells), HostDirty: w.dirty[:cells],
		Busy: map[string][]*float64{}}
	for name, t := range w.tracks {
		s.Busy[name] = t.series[:cells]
	}
	return s
}

func per(a, b float64) *float64 {
	if b == 0 {
		return nil
	}
	x := a / b
	return &x
}

func most(old *float64, x float64) *float64 {
	if old != nil {
		x = max(x, *old)
	}
	return &x
}
