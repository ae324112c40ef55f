package serverlog

import (
	"context"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
)

// A Series is a kind of event.
type Series struct {
	// Name is the beginning of its metrics' names.
	Name string
	// Timed means that its events have a duration; otherwise there is only NAME_total.
	Timed bool
	// Always means that the server logs such events whatever its settings, so that none logged means
	// that there were none. Otherwise the series exists only if the log has such an event.
	Always bool
}

// The metrics of a timed series, in the order of its columns. The last one is not a counter.
const (
	columnTotal = iota
	columnSeconds
	columnRunning
	columnLongest
	columnsTimed
)

var suffixes = [columnsTimed]string{"_total", "_seconds_total", "_running_seconds_total", "_longest_seconds"}

// columns is the number of metrics of a series.
func (s Series) columns() int {
	if s.Timed {
		return columnsTimed
	}
	return 1
}

// The lengths of an interval. A longer log, or one with more events, has coarser ones.
var steps = []time.Duration{time.Second, 10 * time.Second, time.Minute, 10 * time.Minute, time.Hour,
	24 * time.Hour}

const (
	// cellsMax bounds the intervals with events, and samplesMax those of the log.
	cellsMax   = 100_000
	samplesMax = 200_000
	// runningMax is the longest duration that is spread over the time that it took.
	runningMax = 24 * time.Hour
	batchTimes = 512
)

// Events are the events found in a log so far, by interval.
type Events struct {
	series []Series
	first  []int // first column of each series
	width  int
	seen   []bool // by series

	step  int // index of steps
	cells map[int64][]float64
	facts map[string]string
	// unread are the reasons why lines could not be read, with their numbers.
	unread map[string]int64

	// The times of the first and the last line, and of events to keep.
	from, to         time.Time
	keepFrom, keepTo time.Time
}

func newEvents(series []Series) *Events {
	e := &Events{series: series, seen: make([]bool, len(series)), cells: map[int64][]float64{},
		facts: map[string]string{}, unread: map[string]int64{}}
	for i, s := range series {
		e.first = append(e.first, e.width)
		e.width += s.columns()
		e.seen[i] = s.Always
	}
	return e
}

// Fact stores a fact about the server, such as its version.
func (e *Events) Fact(name, value string) { e.facts[name] = value }

// Unread counts a line that could not be read, with the reason. There must be few distinct reasons.
func (e *Events) Unread(reason string) { e.unread[reason]++ }

// Add adds n events of a kind.
func (e *Events) Add(series int, at time.Time, n float64) {
	if e.skips(at) {
		return
	}
	e.seen[series] = true
	e.cell(e.index(at))[e.first[series]] += n
}

// Took adds an event that took d and ended at a time.
func (e *Events) Took(series int, end time.Time, d time.Duration) {
	if d < 0 || e.skips(end) {
		return
	}

	e.seen[series] = true
	first := e.first[series]
	c := e.cell(e.index(end))
	c[first+columnTotal]++
	c[first+columnSeconds] += d.Seconds()
	c[first+columnLongest] = max(c[first+columnLongest], d.Seconds())
	e.spread(first+columnRunning, end.Add(-min(d, runningMax)), end)
}

// spread adds the time from one time to another to the intervals that it covers.
func (e *Events) spread(column int, from, to time.Time) {
	for from.Before(to) {
		// The step may become coarser in the middle.
		i := e.index(from)
		c := e.cell(i)
		if e.index(from) != i {
			continue
		}
		end := e.end(i)
		if end.After(to) {
			end = to
		}
		c[column] += end.Sub(from).Seconds()
		from = end
	}
}

// skips reports whether events at a time are outside the requested time. An event that began before it
// may still have run in it.
func (e *Events) skips(at time.Time) bool {
	return !e.keepFrom.IsZero() && at.Before(e.keepFrom) || !e.keepTo.IsZero() && at.After(e.keepTo)
}

func (e *Events) index(at time.Time) int64 {
	return at.UnixNano() / int64(steps[e.step])
}

func (e *Events) end(i int64) time.Time { return time.Unix(0, (i+1)*int64(steps[e.step])) }

// cell returns the figures of an interval, by column. If there are too many intervals, they become
// coarser, and the result is that of the interval around it.
func (e *Events) cell(i int64) []float64 {
	if c, ok := e.cells[i]; ok {
		return c
	}
	for len(e.cells) >= cellsMax && e.step < len(steps)-1 {
		at := time.Unix(0, i*int64(steps[e.step]))
		e.coarsen()
		i = e.index(at)
		if c, ok := e.cells[i]; ok {
			return c
		}
	}
	c := make([]float64, e.width)
	e.cells[i] = c
	return c
}

// coarsen merges intervals into those of the next longer step.
func (e *Events) coarsen() {
	factor := int64(steps[e.step+1] / steps[e.step])
	e.step++

	old := e.cells
	e.cells = make(map[int64][]float64, len(old)/2)
	for i, c := range old {
		into, ok := e.cells[i/factor]
		if !ok {
			e.cells[i/factor] = c
			continue
		}
		for s, x := range e.series {
			for k := range x.columns() {
				at := e.first[s] + k
				if k == columnLongest {
					into[at] = max(into[at], c[at])
				} else {
					into[at] += c[at]
				}
			}
		}
	}
}

// A column is a metric that is written.
type column struct {
	labels labels.Labels
	at     int
	gauge  bool
}

// columns returns the metrics that the log has and a diagnosis wants.
func (e *Events) columns(want func(string) bool) (out []column) {
	for i, s := range e.series {
		for k := range s.columns() {
			name := s.Name + suffixes[k]
			if e.seen[i] && (want == nil || want(name)) {
				out = append(out, column{labels.FromStrings(labels.MetricName, name), e.first[i] + k,
					k == columnLongest})
			}
		}
	}
	return out
}

// write passes the counters to a recording, with a value for each interval between the first and
// the last line, and returns the number of intervals.
func (e *Events) write(ctx context.Context, w recording.Writer, want func(string) bool) (int64, error) {
	from, to := e.from, e.to
	if !e.keepFrom.IsZero() && from.Before(e.keepFrom) {
		from = e.keepFrom
	}
	if !e.keepTo.IsZero() && to.After(e.keepTo) {
		to = e.keepTo
	}

	for to.Sub(from)/steps[e.step] > samplesMax && e.step < len(steps)-1 {
		e.coarsen()
	}

	cols := e.columns(want)
	sums := make([]float64, e.width)
	batch := &recording.Batch{}
	first, last := e.index(from), e.index(to)

	flush := func() error {
		err := w.Append(ctx, batch)
		batch.TimesMs = batch.TimesMs[:0]
		for i := range batch.Columns {
			batch.Columns[i].Values = batch.Columns[i].Values[:0]
		}
		return err
	}

	for _, c := range cols {
		batch.Columns = append(batch.Columns, recording.Column{Labels: c.labels})
	}

	// Counters start with a sample before the first interval. What ran before it is not counted.
	count := int64(0)
	for i := first - 1; i <= last; i++ {
		cell := e.cells[i]
		if i < first {
			cell = nil
		}
		batch.TimesMs = append(batch.TimesMs, e.end(i).UnixMilli())
		for k, c := range cols {
			value := 0.0
			if cell != nil {
				sums[c.at] += cell[c.at]
				value = cell[c.at]
			}
			if !c.gauge {
				value = sums[c.at]
			}
			batch.Columns[k].Values = append(batch.Columns[k].Values, value)
		}

		count++
		if len(batch.TimesMs) == batchTimes || i == last {
			// A batch of one time has only constant columns.
			if err := flush(); err != nil {
				return count, err
			}
		}
	}

	return count, nil
}
