package simulate

import (
	"context"
	"fmt"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/volume"
	"plimsoll/internal/record/recording"
)

// A sampler samples the system once a virtual second. It writes the recording and keeps what the
// result reports about volumes and hosts.
type sampler struct {
	*system
	from  vtime.Instant
	step  int // seconds per step of the series
	row   []float64
	first []float64 // the row at from
	last  []float64 // the row of the previous second
	n     int       // rows so far

	engineRow []float64   // part of row
	hostRows  [][]float64 // parts of row
	felt      []feltRow   // parts of row; none unless the run is recorded
	dirtyAt   int         // index of the engine's dirty bytes; -1: it has none
	cpu       [][]int     // indexes of the cores' busy time, by host
	volumes   []volumeTrack

	hostDirtyMax float64
	engineDirty  []float64 // one per step; the maximum in it
	hostDirty    []float64

	writer  recording.Writer
	batch   recording.Batch
	samples int64
}

// A volumeTrack follows a device's counters.
type volumeTrack struct {
	at     int // index of its first counter in the row
	before volume.State
	// busy is the time with I/O in flight in each of the last ten seconds: a ring by second.
	busy                       [10]float64
	iopsMax, bytesMax, busyMax float64
	series                     []float64 // busy share, a cell each
}

// The counters of a device in kernel.Host.Metrics, in their order from the first.
const (
	diskReads = iota
	diskWrites
	diskReadBytes
	diskWrittenBytes
	diskReadTime
	diskWriteTime
	diskBusy
	diskQueued
)

func newSampler(sys *system, measured *meter, writes units.Ratio, writer recording.Writer) (*sampler, error) {
	out := &sampler{system: sys, from: measured.from, step: int(measured.series.Step / 1e9), writer: writer,
		dirtyAt: -1}
	cells := len(measured.series.Cells)
	out.engineDirty, out.hostDirty = make([]float64, cells), make([]float64, cells)

	own := sys.engine.Metrics()
	for i, x := range own {
		if x.Name == sys.dirtyMetric {
			out.dirtyAt = i
		}
		out.column(x.Name, x.Labels, nil)
	}

	devices := 0
	bounds := []int{len(own)}
	for h, host := range sys.hosts {
		out.cpu = append(out.cpu, nil)
		for _, x := range host.Metrics() {
			i := len(out.batch.Columns)
			switch {
			case x.Name == "node_disk_reads_completed_total":
				out.volumes = append(out.volumes, volumeTrack{at: i, series: make([]float64, cells)})
				devices++
			case x.Name == "node_cpu_seconds_total" && slices.Contains(x.Labels, "user"):
				out.cpu[h] = append(out.cpu[h], i)
			}
			out.column(x.Name, x.Labels, sys.labels[h])
		}

		bounds = append(bounds, len(out.batch.Columns))
	}

	// Volumes are matched with devices by position, so the counts must agree.
	if devices != len(sys.devices) {
		return nil, fmt.Errorf("%d of %d devices have counters", devices, len(sys.devices))
	}

	if writer != nil {
		measured.felt = &felt{}
		out.clients(measured.felt, writes)
	}

	n := len(out.batch.Columns)
	out.row, out.first, out.last = make([]float64, n), make([]float64, n), make([]float64, n)
	out.engineRow = out.row[:bounds[0]]

	for h := range sys.hosts {
		out.hostRows = append(out.hostRows, out.row[bounds[h]:bounds[h+1]])
	}

	return out, nil
}

func (p *sampler) column(name string, pairs, more []string) {
	all := slices.Concat([]string{labels.MetricName, name}, pairs, more)
	p.batch.Columns = append(p.batch.Columns, recording.Column{Labels: labels.FromStrings(all...)})
}

// sample takes a sample. The first call begins the measured time.
func (p *sampler) sample(ctx context.Context) error {
	p.engine.Sample(p.engineRow)
	for h, host := range p.hosts {
		host.Sample(p.hostRows[h])
	}

	for i := range p.felt {
		p.felt[i].sample(p.row)
	}

	now := p.clock.Now()

	// The first row is the baseline for all counters.
	if p.n == 0 {
		copy(p.first, p.row)
		for i, d := range p.devices {
			p.volumes[i].before = d.Volume().State(now)
		}
	} else {
		p.follow(min((p.n-1)/p.step, len(p.hostDirty)-1))
	}

	copy(p.last, p.row)
	p.n++
	if p.writer == nil {
		return nil
	}

	// Prometheus timestamps are in milliseconds, virtual time is in nanoseconds.
	p.batch.TimesMs = append(p.batch.TimesMs, epoch.UnixMilli()+int64(now)/1e6)
	for i, x := range p.row {
		p.batch.Columns[i].Values = append(p.batch.Columns[i].Values, x)
	}

	p.samples++
	if len(p.batch.TimesMs) < batchSeconds {
		return nil
	}

	return p.flush(ctx)
}

// follow adds the last second to its step of the series.
func (p *sampler) follow(cell int) {
	dirty := 0.0
	for _, h := range p.hosts {
		dirty += float64(h.DirtyBytes())
	}

	p.hostDirtyMax = max(p.hostDirtyMax, dirty)
	p.hostDirty[cell] = max(p.hostDirty[cell], dirty)
	if p.dirtyAt >= 0 {
		p.engineDirty[cell] = max(p.engineDirty[cell], p.row[p.dirtyAt])
	}

	for i := range p.volumes {
		v := &p.volumes[i]
		gone := func(counter int) float64 { return p.row[v.at+counter] - p.last[v.at+counter] }
		v.iopsMax = max(v.iopsMax, gone(diskReads)+gone(diskWrites))
		v.bytesMax = max(v.bytesMax, gone(diskReadBytes)+gone(diskWrittenBytes))
		busy := min(gone(diskBusy), 1)
		v.busy[p.n%len(v.busy)] = busy
		v.series[cell] += busy / float64(p.step)

		if p.n >= len(v.busy) {
			sum := 0.0
			for _, b := range v.busy {
				sum += b
			}
			v.busyMax = max(v.busyMax, sum/float64(len(v.busy)))
		}
	}
}

// flush writes the batch to the recording.
func (p *sampler) flush(ctx context.Context) error {
	if p.writer == nil || len(p.batch.TimesMs) == 0 {
		return nil
	}
	if err := p.writer.Append(ctx, &p.batch); err != nil {
		return err
	}
	p.batch.TimesMs = p.batch.TimesMs[:0]
	for i := range p.batch.Columns {
		p.batch.Columns[i].Values = p.batch.Columns[i].Values[:0]
	}
	return nil
}

// delta is a counter's increase in the measured time.
func (p *sampler) delta(i int) float64 { return p.last[i] - p.first[i] }

// cyclesIn returns the engine's cycles that were running at some time after from.
func cyclesIn(cycles []database.Cycle, from vtime.Instant) []database.Cycle {
	for i, c := range cycles {
		if c.End > from {
			return cycles[i:]
		}
	}
	return nil
}
