package iostat

import (
	"context"
	"fmt"
	"iter"
	"math"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// An integrator converts reports back to counters and writes them in batches.
//
// A counter grows by rate x interval, where the interval ends with the report and begins with the
// counter's previous sample: irate over two consecutive samples then equals the rate in the log,
// whatever happened in between. Each run starts its counters at zero, as after a reboot, so that
// the time between two runs does not look idle.
type integrator struct {
	ctx context.Context
	w   recording.Writer
	opt source.Options

	idle   bool // a missing device is idle
	period time.Duration
	cpus   float64

	devices map[string]*counters
	order   []*counters
	cpu     *counters
	host    *counters
	run     int
	started bool  // the current run has its baseline
	lastRep int64 // time of the previous report

	times []int64
	size  int // values in the batch

	samples         int64 // sample times written
	outside         int64 // reports outside Options.From and To
	firstMs, lastMs int64
	gaps            []recording.Note
	tooMany         int64 // rows of devices beyond the bound
	holes           int64
}

// counters are the series of one subject: a device, the CPU or the host.
type counters struct {
	gauges int             // how many of the first series are not counters
	labels []labels.Labels // empty for series that are not wanted
	value  []float64
	has    []bool // the series has been given a value
	lastMs int64  // of its last sample
	live   bool   // has a sample in the current run
	cols   [][]float64
}

func newIntegrator(ctx context.Context, w recording.Writer, opt source.Options, s *survey) *integrator {
	it := &integrator{
		ctx: ctx, w: w, opt: opt,
		idle: s.idleWhenMissing(), period: s.period(opt.Period), cpus: float64(max(s.found.cpus, 1)),
		devices: map[string]*counters{}, run: -1,
	}
	it.cpu = it.newCounters(len(cpuModes), func(i int) labels.Labels {
		return labels.FromStrings(labels.MetricName, "node_cpu_seconds_total", "cpu", "all", "mode", cpuModes[i])
	})
	it.host = it.newCounters(int(hostFigures), func(i int) labels.Labels {
		return labels.FromStrings(labels.MetricName, hostMetrics[i])
	})
	it.host.gauges = hostGauges
	return it
}

func (it *integrator) newCounters(n int, name func(int) labels.Labels) *counters {
	c := &counters{labels: make([]labels.Labels, n), value: make([]float64, n), has: make([]bool, n),
		cols: make([][]float64, n)}
	for i := range n {
		l := name(i)
		if it.opt.Want == nil || it.opt.Want(l.Get(labels.MetricName)) {
			c.labels[i] = l
		}
	}
	it.order = append(it.order, c)
	return c
}

func (it *integrator) device(name string) *counters {
	if c, ok := it.devices[name]; ok {
		return c
	}
	if len(it.devices) >= devicesMax {
		it.tooMany++
		return nil
	}
	c := it.newCounters(int(quantities), func(q int) labels.Labels {
		return labels.FromStrings(labels.MetricName, metricNames[q], "device", name)
	})
	it.devices[name] = c
	return c
}

// add adds the report at time ms, which must be later than all previous ones.
func (it *integrator) add(interval *report, ms int64) error {
	if interval.run != it.run || !it.started {
		if err := it.startRun(interval, ms); err != nil {
			return err
		}
		if interval.sinceBoot {
			return nil
		}
	}

	if err := it.baselines(interval); err != nil {
		return err
	}

	it.row(ms)
	for c, rates := range it.subjects(interval) {
		if c.lastMs == ms {
			continue // printed twice
		}

		// The rate is applied to the whole time since the last sample.
		if c.lastMs != it.lastRep && c != it.cpu && c != it.host {
			it.holes++
		}
		dt := float64(ms-c.lastMs) / 1000
		for i, rate := range rates {
			switch {
			case math.IsNaN(rate):
			case i < c.gauges:
				c.value[i] = 0
				it.move(c, i, rate)
			default:
				it.move(c, i, rate*dt)
			}
		}
		c.lastMs = ms
	}

	// A torn report may lack devices that were not idle.
	if it.idle && interval.hasDevices && !interval.torn {
		it.idleDevices(ms)
	}

	it.lastRep = ms
	if len(it.times) >= batchTimesMax || it.size >= batchValuesMax {
		return it.flush()
	}

	return nil
}

// subjects yields the counters of a report with their rates per second, NaN for those that it lacks.
// Devices beyond the bound are left out.
func (it *integrator) subjects(r *report) iter.Seq2[*counters, []float64] {
	return func(yield func(*counters, []float64) bool) {
		if r.hasCPU {
			var rates [len(r.cpu)]float64
			for i, percent := range r.cpu {
				rates[i] = percent / 100 * it.cpus
			}
			if !yield(it.cpu, rates[:]) {
				return
			}
		}
		if r.hasHost && !yield(it.host, r.host[:]) {
			return
		}
		for i := range r.devices {
			if c := it.device(r.devices[i].name); c != nil && !yield(c, r.devices[i].rates[:]) {
				return
			}
		}
	}
}

// idleDevices gives each device that -z omitted another sample with the same value.
func (it *integrator) idleDevices(ms int64) {
	for _, c := range it.devices {
		if c.live && c.lastMs != ms {
			for q := range c.has {
				if c.has[q] {
					it.move(c, q, 0)
				}
			}
			c.lastMs = ms
		}
	}
}

// startRun starts the counters of a run at zero, at the beginning of its first interval.
func (it *integrator) startRun(first *report, ms int64) error {
	if err := it.flush(); err != nil {
		return err
	}

	base := ms
	if !first.sinceBoot {
		base = ms - it.period.Milliseconds()
	}

	if it.run >= 0 && it.started {
		it.gaps = append(it.gaps, recording.Note{Kind: recording.NoteGap, From: it.clockTime(it.lastRep),
			To:   it.clockTime(base),
			Text: "no data between two runs of iostat"})
		// The new run must not start before the last sample of the previous one.
		base = max(base, it.lastRep+1)
	}

	it.run, it.started = first.run, true
	it.lastRep = base

	for _, c := range it.order {
		clear(c.value)
		c.live = false
	}

	it.row(base)
	it.begin(first, base)
	return it.flush()
}

// begin gives the series that have none their first sample of the run: zero, at base.
func (it *integrator) begin(r *report, base int64) {
	for c, rates := range it.subjects(r) {
		if c.live {
			continue
		}
		c.live, c.lastMs = true, base
		for i, rate := range rates {
			if !math.IsNaN(rate) && i >= c.gauges {
				it.move(c, i, 0)
			}
		}
	}
}

// baselines gives new devices a first sample at the time of the previous report, where their first
// interval begins.
func (it *integrator) baselines(r *report) error {
	fresh := false
	for c := range it.subjects(r) {
		fresh = fresh || !c.live
	}
	if !fresh {
		return nil
	}

	if err := it.flush(); err != nil {
		return err
	}

	it.row(it.lastRep)
	it.begin(r, it.lastRep)
	return it.flush()
}

// row opens a new sample time.
func (it *integrator) row(ms int64) {
	it.times = append(it.times, ms)
}

// move adds to a counter and samples it at the current row.
func (it *integrator) move(c *counters, i int, by float64) {
	c.value[i] += by
	c.has[i] = true
	if c.labels[i].IsEmpty() {
		return
	}
	// A series that starts late in the batch lacks its earlier rows.
	for len(c.cols[i]) < len(it.times)-1 {
		c.cols[i] = append(c.cols[i], math.NaN())
		it.size++
	}
	if len(c.cols[i]) < len(it.times) {
		c.cols[i] = append(c.cols[i], c.value[i])
		it.size++
	}
}

// flush writes the batch, limited to Options.From and To.
func (it *integrator) flush() error {
	if len(it.times) == 0 {
		return nil
	}

	defer it.drop()
	offset := it.opt.ClockOffset.Milliseconds()

	// Times increase, so the part outside of the period is at both ends only.
	lo, hi := 0, len(it.times)
	for lo < hi && !it.opt.From.IsZero() && it.times[lo]+offset < it.opt.From.UnixMilli() {
		lo++
	}

	for hi > lo && !it.opt.To.IsZero() && it.times[hi-1]+offset > it.opt.To.UnixMilli() {
		hi--
	}

	it.outside += int64(len(it.times) - (hi - lo))
	if lo == hi {
		return nil
	}

	b := recording.Batch{TimesMs: make([]int64, 0, hi-lo)}
	for _, ms := range it.times[lo:hi] {
		b.TimesMs = append(b.TimesMs, ms+offset)
		it.count(ms + offset)
	}

	for _, c := range it.order {
		for i, col := range c.cols {
			if len(col) <= lo {
				continue
			}
			// A device that is missing from the last reports has a shorter column.
			for len(col) < hi {
				col = append(col, math.NaN())
			}
			c.cols[i] = col
			b.Columns = append(b.Columns, recording.Column{Labels: c.labels[i], Values: col[lo:hi]})
		}
	}

	return it.w.Append(it.ctx, &b)
}

// count counts distinct sample times: the baseline of a late device repeats one.
func (it *integrator) count(ms int64) {
	if it.samples > 0 && ms <= it.lastMs {
		return
	}
	if it.samples == 0 {
		it.firstMs = ms
	}
	it.samples++
	it.lastMs = ms
}

func (it *integrator) drop() {
	it.times = it.times[:0]
	it.size = 0
	for _, c := range it.order {
		for i := range c.cols {
			c.cols[i] = c.cols[i][:0]
		}
	}
}

func (it *integrator) clockTime(ms int64) time.Time {
	return time.UnixMilli(ms).Add(it.opt.ClockOffset).UTC()
}

// notes describe what the log does not contain.
func (it *integrator) notes(surveyed *survey) []recording.Note {
	out := it.gaps
	limit := func(text string) { out = append(out, recording.Note{Kind: recording.NoteLimit, Text: text}) }
	if d := surveyed.found.damage; d.count > 0 {
		out = append(out, recording.Note{Kind: recording.NoteDamage, Offset: d.offset,
			Text: fmt.Sprintf("skipped %d unreadable places in the log, the first at %s: %s", d.count,
				d.where(), d.what)})
	}

	switch {
	case !surveyed.disks || surveyed.awaits:
	case surveyed.together:
		limit("the log has one await for reads and writes together (sar, iostat -s, or sysstat before 9.1.5): they are judged together; iostat -xt 1 separates them")
	case !surveyed.split:
		limit("the log does not separate reads and writes per second (iostat without -x, or with -s): cannot judge device latency; record with iostat -xt 1")
	default:
		limit("the log has no await: cannot judge device latency; record with iostat -xt 1")
	}

	if !surveyed.disks {
		limit("the log has only CPU reports (iostat -c): cannot judge devices; record with iostat -xt 1")
	}

	// has[0] is set once a report had CPU figures.
	if it.cpu.has[0] && surveyed.found.cpus == 0 {
		limit("the log does not contain the number of CPUs: its CPU seconds are for one CPU")
	}

	if it.holes > 0 && !it.idle {
		limit(strconv.FormatInt(it.holes, 10) +
			" times a device was missing from reports and came back: its rates in between are those of the report in which it came back")
	}

	if it.tooMany > 0 {
		out = append(out, recording.Note{Kind: recording.NoteDropped,
			Text: fmt.Sprintf("dropped %d rows of devices beyond the first %d", it.tooMany, devicesMax)})
	}

	if surveyed.found.human {
		limit("the log was recorded with -h or --human: its throughput is rounded to two or three digits")
	}

	if n := len(surveyed.parts); n > 0 {
		limit(
			fmt.Sprintf("skipped %d partitions (iostat -p; the first is %s): their disks are in the log and count the same requests",
				n, surveyed.parts[0]))
	}

	if surveyed.found.groups > 0 {
		limit(fmt.Sprintf("skipped %d rows of device groups (iostat -g): they repeat their devices",
			surveyed.found.groups))
	}

	return out
}
