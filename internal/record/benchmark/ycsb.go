package benchmark

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// YCSB is the output of YCSB 0.1 to 0.17 and of its ports: the status lines of -s, the rows of
// measurementtype=timeseries, or only the summary (YCSB: core, StatusThread.java and the classes in
// measurements).
var YCSB = LogFormat{Name: "YCSB", New: func(loc *time.Location) Parser {
	return &ycsb{loc: loc, summary: map[string]map[string]float64{}, series: map[string][]point{}}
}}

var (
	// 2020-01-10 16:21:50:213 20 sec: 34012 operations; 1856.1 current ops/sec; est completion in 9
	// minutes [INSERT: Count=18560, Max=305663, Min=1230, Avg=2146.57, 90=2341, 99=5975, ...]
	ycsbStatus = regexp.MustCompile(
		`^(?:(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d):(\d{3}) )?(\d+) sec: (\d+) operations; `)
	ycsbGroup   = regexp.MustCompile(`\[([A-Z][A-Za-z-]*): Count=(\d+), ([^\]]*)\]`)
	ycsbOld     = regexp.MustCompile(`\[([A-Z][A-Za-z-]*) AverageLatency\(us\)=([\d.]+)\]`)
	ycsbFigure  = regexp.MustCompile(`([A-Z][a-z]+|[\d.]+)=(\d+(?:[.,]\d+)?)`)
	ycsbSummary = regexp.MustCompile(`^\[([A-Z][A-Za-z-]*)\], *([^,]+), *([\d.]+)$`)
)

// SniffYCSB reports whether a text is YCSB's output.
func SniffYCSB(head []byte) bool {
	return bytes.Contains(head, []byte(" sec: ")) && bytes.Contains(head, []byte(" operations; ")) ||
		bytes.Contains(head, []byte("[OVERALL], ")) || bytes.Contains(head, []byte("AverageLatency(us), "))
}

type ycsb struct {
	loc   *time.Location
	lastS float64
	lastN float64
	any   bool

	summary map[string]map[string]float64 // by operation and figure
	series  map[string][]point            // rows of a time series
}

// A point is a row of a time series.
type point struct{ ms, us float64 }

// ycsbSeriesMax bounds the rows of a time series.
const ycsbSeriesMax = 1 << 20

// Line implements Parser.
func (p *ycsb) Line(line []byte, add func(Interval)) error {
	line = bytes.TrimSpace(line)
	if m := ycsbSummary.FindSubmatch(line); m != nil {
		return p.row(string(m[1]), string(m[2]), string(m[3]))
		// Only the summary at the end begins with brackets, so this line cannot be a status line too.
	}
	if !bytes.Contains(line, []byte(" sec: ")) {
		return nil
	}

	m := ycsbStatus.FindSubmatch(line)
	if m == nil {
		return nil
	}
	at, err := p.time(string(m[1]), string(m[2]))
	if err != nil {
		return err
	}

	s, _ := strconv.ParseFloat(string(m[3]), 64) // digits only, both
	n, _ := strconv.ParseFloat(string(m[4]), 64)
	if s < p.lastS {
		// Outputs of several runs may be in one file, and each counts seconds from zero.
		p.lastS, p.lastN = 0, 0 // another run
	}

	length, done := s-p.lastS, n-p.lastN
	// A status line has cumulative figures; the difference to the last one is the interval's.
	p.lastS, p.lastN = s, n
	if length <= 0 {
		return nil
	}

	x := Interval{End: at, EndS: s, LengthS: length, WaitedS: math.NaN(), Waiting: math.NaN()}
	return p.groups(line, x, done, add)
}

// groups adds an interval for each operation of a status line.
func (p *ycsb) groups(line []byte, interval Interval, done float64, add func(Interval)) error {
	for _, m := range ycsbGroup.FindAllSubmatch(line, -1) {
		if !ofClients(string(m[1])) {
			continue
		}

		interval.Operation, interval.Kind = string(m[1]), kindOf(string(m[1]))
		count, err := strconv.ParseFloat(string(m[2]), 64)
		if err != nil {
			return fmt.Errorf("%q is not a number", m[2])
		}

		figures := map[string]float64{}
		for _, f := range ycsbFigure.FindAllSubmatch(m[3], -1) {
			v, err := strconv.ParseFloat(strings.Replace(string(f[2]), ",", ".", 1), 64)
			if err != nil {
				return fmt.Errorf("%q is not a number", f[2])
			}
			figures[string(f[1])] = v
		}

		// An operation that did not end in the interval has no mean (Avg=NaN).
		interval.Count, interval.WaitedS, interval.MaxS = count, figures["Avg"]/1e6*count, figures["Max"]/1e6
		interval.Quantile, interval.QuantileS = 0.99, figures["99"]/1e6
		add(interval)
		p.any = true
	}

	// Older versions have only means, without a count for each operation.
	old := ycsbOld.FindAllSubmatch(line, -1)
	if len(old) == 0 && !p.any {
		interval.Operation, interval.Kind, interval.Count = "operations", Transactions, done
		add(interval)
	}

	for _, m := range old {
		mean, err := strconv.ParseFloat(string(m[2]), 64)
		if err != nil {
			return fmt.Errorf("%q is not a number", m[2])
		}
		// The mix is unknown, so the operations count as evenly distributed.
		interval.Operation, interval.Kind = string(m[1]), kindOf(string(m[1]))
		interval.Count = done / float64(len(old))
		interval.WaitedS = mean / 1e6 * interval.Count
		add(interval)
		p.any = true
	}

	return nil
}

func (p *ycsb) time(text, ms string) (at time.Time, err error) {
	if text == "" {
		return at, nil
	}
	return time.ParseInLocation("2006-01-02 15:04:05.000", text+"."+ms, p.loc)
}

// row keeps a row of the summary or of a time series.
func (p *ycsb) row(operation, key, value string) error {
	v, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return fmt.Errorf("%q is not a number", value)
	}

	// A histogram's rows look the same, but have whole numbers.
	if ms, err := strconv.ParseFloat(key, 64); err == nil {
		if s := p.series[operation]; strings.Contains(value, ".") && len(s) < ycsbSeriesMax {
			p.series[operation] = append(s, point{ms, v})
		}
		return nil
	}

	if p.summary[operation] == nil {
		if len(p.summary) == seriesKept {
			return nil
		}
		p.summary[operation] = map[string]float64{}
	}
	if len(p.summary[operation]) < seriesKept {
		p.summary[operation][key] = v
	}

	return nil
}

// seriesKept bounds the operations of a summary, and the figures of each.
const seriesKept = 256

// End implements Parser: the time series if there is one, otherwise the summary, unless there were
// status lines.
func (p *ycsb) End(add func(Interval)) {
	took := p.summary["OVERALL"]["RunTime(ms)"] / 1000
	if p.any || !(took > 0) {
		return
	}

	for _, operation := range slices.Sorted(maps.Keys(p.summary)) {
		of := p.summary[operation]
		n := of["Operations"]
		if !(n > 0) || !ofClients(operation) {
			continue
		}

		x := Interval{EndS: took, LengthS: took, Operation: operation, Kind: kindOf(operation), Count: n,
			WaitedS: of["AverageLatency(us)"] / 1e6 * n, MaxS: of["MaxLatency(us)"] / 1e6, Waiting: math.NaN(),
			Quantile: 0.99, QuantileS: of["99thPercentileLatency(us)"] / 1e6}
		if x.QuantileS == 0 {
			x.QuantileS = of["99thPercentileLatency(ms)"] / 1e3
		}

		if s := p.series[operation]; len(s) > 1 {
			p.overTime(x, s, add)
		} else {
			add(x)
		}
	}
}

// overTime adds a time series. It has no counts, so the run's mean rate stands in for them.
func (p *ycsb) overTime(x Interval, s []point, add func(Interval)) {
	slices.SortFunc(s, func(a, b point) int { return int(a.ms - b.ms) })
	step := s[1].ms - s[0].ms
	if step <= 0 {
		return
	}

	rate := x.Count / x.LengthS
	for _, r := range s {
		y := x
		y.EndS, y.LengthS, y.MaxS, y.QuantileS = (r.ms+step)/1000, step/1000, 0, 0
		y.Count = rate * y.LengthS
		y.WaitedS = r.us / 1e6 * y.Count
		add(y)
	}
}

// ofClients reports whether an operation is one that a client waits for.
func ofClients(operation string) bool {
	return operation != "OVERALL" && operation != "CLEANUP" && !strings.HasPrefix(operation, "TOTAL") &&
		!strings.HasSuffix(operation, "-FAILED")
}

func kindOf(operation string) string {
	switch strings.TrimPrefix(operation, "Intended-") {
	case "READ", "SCAN":
		return Reads
	}
	return Writes
}
