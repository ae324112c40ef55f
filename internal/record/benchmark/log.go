package benchmark

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/samples"
	"plimsoll/internal/record/source"
)

// The kinds of operations of a benchmark.
const (
	Writes       = "write"
	Reads        = "read"
	Transactions = "transaction"
)

// intervalsMax bounds the intervals in memory: a week of seconds of one operation.
const intervalsMax = 604_800

// An Interval holds the latencies of a benchmark's clients over a period of time.
type Interval struct {
	// End is its end, if the report has absolute times; otherwise EndS is, in seconds since the start
	// of the run.
	End     time.Time
	EndS    float64
	LengthS float64

	Operation string // "transactions", "UPDATE"
	Kind      string
	Count     float64 // operations that ended in it
	WaitedS   float64 // the sum of their latencies; NaN if unknown
	MaxS      float64 // the longest; 0 if unknown
	// QuantileS is the latency of the quantile Quantile; 0 if unknown.
	Quantile, QuantileS float64
	// Waiting is how many operations were in progress on average; NaN if unknown.
	Waiting float64
}

// A Parser reads the lines of one log.
type Parser interface {
	// Line parses a line. An error is damage of this line only. Lines that belong to something else
	// are not errors.
	Line(line []byte, add func(Interval)) error
	// End adds information that is available only at the end.
	End(add func(Interval))
}

// A LogFormat is the output of a benchmark with figures over time.
type LogFormat struct {
	Name string // of the benchmark, for display
	New  func(loc *time.Location) Parser
}

// NewLog prepares a log. It is read later.
func (f LogFormat) NewLog(from source.File) source.Source {
	return &log{source.OfFile(from, recording.Source{Kind: strings.ToLower(f.Name)}), f}
}

type log struct {
	*source.RecordedFile
	format LogFormat
}

// Read implements source.Source.
func (l *log) Read(ctx context.Context, writer recording.Writer, opt source.Options) error {
	lines, err := samples.Open(ctx, l.File, opt)
	if err != nil {
		return fmt.Errorf("%s: %w", l.format.Name, err)
	}

	defer lines.Close()
	collection := &collected{lines: lines, modified: l.Modified, runs: map[string]*run{}}
	p := l.format.New(cmp.Or(opt.Location, time.Local))
	for {
		line, ok := lines.Next()
		if !ok {
			break
		}
		if err := p.Line(line, collection.add); err != nil {
			// A damaged line is noted, and the lines after it are still read.
			lines.Damaged(err.Error())
		}
	}

	if err := lines.Err(); err != nil {
		return err
	}

	lines.Stamp = time.Time{} // the totals belong to the whole run
	p.End(collection.add)
	// Checked only now, because the output may have nothing but totals at its end.
	if len(collection.all) == 0 {
		return fmt.Errorf("%s of %s: no interval and no total with a latency: give its whole output",
			l.format.Name, l.Path)
	}

	out := samples.NewWriter(ctx, writer, opt, l.Path)
	if err := collection.write(out, l.format.Name); err != nil {
		return err
	}

	if err := out.End(&l.Recorded); err != nil {
		return err
	}
	for _, n := range lines.Notes() {
		writer.Note(n)
	}

	return nil
}

// collected are the intervals of a log.
type collected struct {
	lines    *samples.Lines
	modified time.Time
	all      []Interval
	absolute bool

	// A log may have several runs, each with times since its own start.
	runs map[string]*run // by operation
	full bool
}

// A run is the current run of an operation: when it started, and its latest time since then.
type run struct {
	shiftS, lastS float64
}

func (c *collected) add(x Interval) {
	if len(c.all) == intervalsMax {
		c.full = true
		return
	}

	if !(x.LengthS > 0) || math.IsInf(x.LengthS, 0) || math.IsNaN(x.Count) || x.Count < 0 {
		c.lines.Damaged("an interval without a length or a count")
		return
	}

	switch {
	case !x.End.IsZero():
		c.absolute = true
	case !c.lines.Stamp.IsZero():
		x.End, c.absolute = c.lines.Stamp, true
	default:
		r := c.runs[x.Operation]
		if r == nil {
			r = &run{}
			c.runs[x.Operation] = r
		}
		if x.EndS < r.lastS {
			r.shiftS += r.lastS
		}
		r.lastS = x.EndS
		x.EndS += r.shiftS
	}

	c.all = append(c.all, x)
}

// place gives every interval an absolute time.
func (c *collected) place() (assumed bool) {
	longest := 0.0
	for _, x := range c.all {
		longest = max(longest, x.EndS)
	}

	// A report without times of day ended when its file was written.
	base := c.modified.Add(-time.Duration(longest * float64(time.Second))).Truncate(time.Second)
	if c.modified.IsZero() || base.Unix() <= 0 {
		base = time.Unix(1e9, 0)
	}

	c.all = slices.DeleteFunc(c.all, func(x Interval) bool { return c.absolute && x.End.IsZero() })
	for i := range c.all {
		if x := &c.all[i]; x.End.IsZero() {
			x.End, assumed = base.Add(time.Duration(x.EndS*float64(time.Second))), true
		}
	}

	slices.SortStableFunc(c.all, func(a, b Interval) int { return a.End.Compare(b.End) })
	return assumed
}

// write passes the intervals on, with all operations of one time together.
func (c *collected) write(w *samples.Writer, name string) error {
	if c.place() {
		w.Note(recording.NoteClock,
			"the report has no times of day: its end was placed at the file's modification time; --offset moves it")
	}
	if c.full {
		w.Note(recording.NoteLimit, fmt.Sprintf("skipped intervals beyond the first %d", intervalsMax))
	}

	for i := 0; i < len(c.all); {
		end, length := c.all[i].End, seconds(c.all[i].LengthS)

		// The start of an interval is a sample, unless it is the end of the previous one.
		if start := end.Add(-length); w.Last().IsZero() || start.Sub(w.Last()) > length/2 {
			if err := w.Time(start); err != nil {
				return err
			}
			w.Keep()
		}

		if err := w.Time(end); err != nil {
			return err
		}

		for ; i < len(c.all) && c.all[i].End.Equal(end); i++ {
			addInterval(w, name, &c.all[i])
		}
	}

	return nil
}

func addInterval(w *samples.Writer, name string, x *Interval) {
	pairs := []string{"benchmark", name, "operation", x.Operation, "kind", x.Kind}
	w.AddOver(time.Second, x.Count, "bench_operations_total", pairs...)
	w.AddOver(time.Second, x.WaitedS, "bench_operation_seconds_total", pairs...)
	w.Add(x.Waiting, "bench_operations_waiting", pairs...)
	if x.MaxS > 0 {
		w.Add(x.MaxS, "bench_operation_max_seconds", pairs...)
	}
	if x.QuantileS > 0 {
		w.Add(x.QuantileS, "bench_operation_latency_seconds",
			append(pairs, "quantile", strconv.FormatFloat(x.Quantile, 'f', -1, 64))...)
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
