// Package pgbenchtext parses what pgbench (9.3 to 18) prints about its clients: the lines of -P, its
// final report, and its logs of -l, by transaction or by --aggregate-interval (PostgreSQL
// documentation: pgbench, "Per-Transaction Logging", "Aggregated Logging").
package pgbenchtext

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"

	"plimsoll/internal/record/benchmark"
)

const name = "pgbench"

// Report is what pgbench prints, Log the file of -l.
var (
	Report = benchmark.LogFormat{Name: name, New: func(*time.Location) benchmark.Parser { return &report{} }}
	Log    = benchmark.LogFormat{Name: name, New: func(*time.Location) benchmark.Parser {
		return &perTransaction{seconds: map[int64]*second{}}
	}}
	Aggregated = benchmark.LogFormat{Name: name,
		New: func(*time.Location) benchmark.Parser { return &aggregated{} }}
)

var (
	// progress: 5.0 s, 1234.5 tps, lat 3.210 ms stddev 0.987, 0 failed, lag 0.1 ms
	progress = regexp.MustCompile(`^progress: ([\d.]+) s, ([\d.]+) tps(?:, lat (\S+) ms)?`)
	lag      = regexp.MustCompile(`, lag [\d.]+ ms`)
	clients  = regexp.MustCompile(`^number of clients: (\d+)$`)
	duration = regexp.MustCompile(`^duration: (\d+) s$`)
	average  = regexp.MustCompile(`^latency average[=:]? ?=? ?([\d.]+) ms`)
	done     = regexp.MustCompile(`^number of transactions actually processed: (\d+)`)
	tps      = regexp.MustCompile(`^tps = ([\d.]+) \((?:without|excluding)`)
	limited  = regexp.MustCompile(`^rate limit schedule lag: `)
)

// SniffReport reports whether a text is pgbench's output.
func SniffReport(head []byte) bool {
	return bytes.Contains(head, []byte("progress: ")) && bytes.Contains(head, []byte(" tps, lat ")) ||
		bytes.Contains(head, []byte("number of transactions actually processed: "))
}

// report is the output of -P and the totals at its end.
type report struct {
	lines []line
	total map[string]float64
	paced bool // --rate: not all clients are always busy
}

type line struct{ endS, tps, latencyS float64 }

// linesMax bounds the lines of -P: a week of seconds.
const linesMax = 604_800

// Line implements benchmark.Parser.
func (p *report) Line(text []byte, _ func(benchmark.Interval)) error {
	text = bytes.TrimSpace(text)
	// A prefix such as "pgbench: " or a shell's prompt may come first.
	if i := bytes.Index(text, []byte("progress: ")); i > 0 {
		text = text[i:]
	}

	if m := progress.FindSubmatch(text); m != nil {
		if len(p.lines) == linesMax {
			return errors.New("too many progress lines")
		}
		var n [3]float64
		for i := range n {
			v, err := strconv.ParseFloat(string(m[i+1]), 64)
			if i == 2 && (len(m[3]) == 0 || math.IsNaN(v)) {
				v, err = 0, nil // no transaction ended
			}
			if err != nil {
				return fmt.Errorf("%q is not a number", m[i+1])
			}
			n[i] = v
		}
		p.paced = p.paced || lag.Match(text)
		p.lines = append(p.lines, line{n[0], n[1], n[2] / 1000})
		return nil
	}

	p.paced = p.paced || limited.Match(text)
	for key, re := range map[string]*regexp.Regexp{"clients": clients, "duration": duration, "average": average,
		"done": done, "tps": tps} {
		if m := re.FindSubmatch(text); m != nil {
			v, err := strconv.ParseFloat(string(m[1]), 64)
			if err != nil {
				return fmt.Errorf("%q is not a number", m[1])
			}
			if p.total == nil {
				p.total = map[string]float64{}
			}
			p.total[key] = v
		}
	}

	return nil
}

// epochFrom is the smallest number of seconds that is a time since 1970 (--progress-timestamp) and not a
// time since the start.
const epochFrom = 1e9

// busyShare is the share of the clients that must have a transaction in progress, by Little's law in
// the median line, to count all as always busy.
const busyShare = 0.8

// End implements benchmark.Parser.
func (p *report) End(add func(benchmark.Interval)) {
	n := p.clientsBusy()
	for i, l := range p.lines {
		x := benchmark.Interval{EndS: l.endS, Operation: "transactions", Kind: benchmark.Transactions,
			Waiting: math.NaN()}
		// An interval's length is the distance to the line before; a first line with the time of
		// day has none.
		switch {
		case i > 0 && l.endS > p.lines[i-1].endS:
			x.LengthS = l.endS - p.lines[i-1].endS
		case l.endS < epochFrom:
			x.LengthS = l.endS
		case len(p.lines) > 1:
			x.LengthS = p.lines[1].endS - l.endS
		}
		if l.endS >= epochFrom {
			x.End = time.UnixMilli(int64(l.endS * 1000)).UTC()
		}

		x.Count = l.tps * x.LengthS
		if x.WaitedS = l.latencyS * x.Count; n > 0 {
			x.Waiting = n
		}
		if x.LengthS > 0 {
			add(x)
		}
	}

	took := p.total["duration"]
	if took == 0 && p.total["tps"] > 0 {
		took = p.total["done"] / p.total["tps"] // -t: a number of transactions
	}
	// Without progress lines, the totals are the only interval.
	if len(p.lines) == 0 && took > 0 && p.total["average"] > 0 {
		add(benchmark.Interval{EndS: took, LengthS: took, Operation: "transactions",
			Kind: benchmark.Transactions, Count: p.total["done"],
			WaitedS: p.total["average"] / 1000 * p.total["done"], Waiting: math.NaN()})
	}
}

// clientsBusy returns the number of clients if all of them are always busy, otherwise 0: scripts may
// sleep, and --rate makes clients wait for their turn.
func (p *report) clientsBusy() float64 {
	if p.paced || len(p.lines) == 0 || !(p.total["clients"] > 0) {
		return 0
	}
	var busy []float64
	for _, l := range p.lines {
		busy = append(busy, l.tps*l.latencyS)
	}
	slices.Sort(busy)
	if busy[len(busy)/2] >= busyShare*p.total["clients"] {
		return p.total["clients"]
	}
	return 0
}

// sniffLines is how many lines must have the form of a log.
const sniffLines = 2

// fieldsOf splits a line of a log into numbers. Skipped and failed transactions have a word in place
// of their time; ok is then false.
func fieldsOf(text []byte) (n [6]int64, fields int, ok bool) {
	ok = true
	for f := range bytes.FieldsSeq(text) {
		if fields < len(n) {
			v, err := strconv.ParseInt(string(f), 10, 64)
			if err != nil || v < 0 {
				ok = false
			}
			n[fields] = v
		}
		fields++
	}
	return n, fields, ok
}

func isEpoch(s int64) bool { return s >= epochFrom && s < 1e10 }

// sniffLog reports whether the first lines are all of one form of log.
func sniffLog(head []byte, form func(n [6]int64, fields int) bool) bool {
	lines := 0
	for text := range bytes.Lines(head) {
		if text[len(text)-1] != '\n' {
			break // it may be cut short
		}
		n, fields, ok := fieldsOf(text)
		if !ok && fields >= 6 && isEpoch(n[4]) {
			continue // a transaction that was skipped or failed
		}
		if !ok || !form(n, fields) {
			return false
		}
		if lines++; lines == 20 {
			break
		}
	}

	return lines >= sniffLines
}

// SniffLog reports whether a text is the log of -l.
func SniffLog(head []byte) bool {
	return sniffLog(head, func(n [6]int64, fields int) bool {
		return fields >= 6 && fields <= 8 && isEpoch(n[4]) && n[5] < 1e6
	})
}

// SniffAggregated reports whether a text is the log of -l with --aggregate-interval, in which means
// are between the minimum and the maximum.
func SniffAggregated(head []byte) bool {
	return sniffLog(head, func(n [6]int64, fields int) bool {
		count, sum, least, most := float64(n[1]), float64(n[2]), float64(n[4]), float64(n[5])
		return fields >= 6 && isEpoch(n[0]) && least <= most && sum >= least*count && sum <= most*count
	})
}

// perTransaction is the log of -l. Each row has the time at which a transaction ended and how long it
// took, so its waiting is spread over the seconds that it took.
type perTransaction struct {
	seconds map[int64]*second
}

type second struct{ count, waitedS, maxS, inProgressS float64 }

const (
	secondsMax = 604_800 // of a log: a week
	// longestS bounds the seconds that one transaction is spread over.
	longestS = 3600
)

// Line implements benchmark.Parser.
func (p *perTransaction) Line(text []byte, _ func(benchmark.Interval)) error {
	n, fields, ok := fieldsOf(text)
	switch {
	case fields == 0 || !ok && fields >= 6:
		return nil // a transaction that was skipped or failed
	case !ok || fields < 6 || !isEpoch(n[4]) || n[5] >= 1e6:
		return errors.New("not a line of a log: want client, number, microseconds, script, seconds, microseconds")
	}

	end, took := float64(n[4])+float64(n[5])/1e6, float64(n[2])/1e6
	s := p.second(n[4])
	if s == nil {
		return nil
	}
	s.count++
	s.waitedS += took
	s.maxS = max(s.maxS, took)

	for at := int64(max(end-took, end-longestS)); at <= n[4]; at++ {
		if x := p.second(at); x != nil {
			x.inProgressS += min(end, float64(at+1)) - max(end-took, float64(at))
		}
	}

	return nil
}

func (p *perTransaction) second(at int64) *second {
	s := p.seconds[at]
	if s == nil && len(p.seconds) < secondsMax {
		s = &second{}
		p.seconds[at] = s
	}
	return s
}

// End implements benchmark.Parser. A second without a row is one in which no transaction ended.
func (p *perTransaction) End(add func(benchmark.Interval)) {
	var ats []int64
	for at := range p.seconds {
		ats = append(ats, at)
	}
	slices.Sort(ats)
	if len(ats) == 0 || ats[len(ats)-1]-ats[0] > secondsMax {
		return
	}

	// The last second is not over, so its rate is unknown, unless it is the only one.
	last := ats[len(ats)-1]
	if len(ats) > 2 {
		last--
	}
	for at := ats[0]; at <= last; at++ {
		s := p.seconds[at]
		if s == nil {
			s = &second{}
		}
		add(benchmark.Interval{End: time.Unix(at+1, 0).UTC(), LengthS: 1, Operation: "transactions",
			Kind: benchmark.Transactions, Count: s.count, WaitedS: s.waitedS, MaxS: s.maxS,
			Waiting: s.inProgressS})
	}
}

// aggregated is the log of -l with --aggregate-interval.
type aggregated struct {
	last  *[6]int64
	stepS int64
}

// Line implements benchmark.Parser. A row's length is its distance to the next one.
func (p *aggregated) Line(text []byte, add func(benchmark.Interval)) error {
	n, fields, ok := fieldsOf(text)
	if fields == 0 {
		return nil
	}
	if !ok || fields < 6 || !isEpoch(n[0]) {
		return errors.New("not a line of an aggregated log: want start, transactions, sum, sum of squares, minimum, maximum")
	}

	if p.last != nil && n[0] > p.last[0] {
		if step := n[0] - p.last[0]; p.stepS == 0 || step < p.stepS {
			p.stepS = step
		}
		p.give(add)
	}
	p.last = &n
	return nil
}

func (p *aggregated) give(add func(benchmark.Interval)) {
	n, step := *p.last, max(p.stepS, 1)
	add(benchmark.Interval{End: time.Unix(n[0]+step, 0).UTC(), LengthS: float64(step),
		Operation: "transactions", Kind: benchmark.Transactions, Count: float64(n[1]),
		WaitedS: float64(n[2]) / 1e6, MaxS: float64(n[5]) / 1e6, Waiting: math.NaN()})
}

// End implements benchmark.Parser. The last interval may have been cut short by the end of the run.
func (p *aggregated) End(add func(benchmark.Interval)) {
	if p.last != nil && p.stepS == 0 {
		p.give(add)
	}
}
