package benchmark

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"
)

// Sysbench is the output of sysbench 0.4 to 1.1: the lines of --report-interval, or only the totals
// at its end (sysbench: src/sb_logger.c, src/sysbench.c, src/db_driver.c).
var Sysbench = LogFormat{Name: "sysbench", New: func(*time.Location) Parser { return newSysbench() }}

var (
	// [ 10s ] thds: 64 tps: 4403.30 qps: 88136.92 (r/w/o: ...) lat (ms,95%): 20.74 err/s: 0.00
	sysbenchOne = regexp.MustCompile(
		`^\[ *(\d+)s *\] thds: (\d+) (?:tps|eps): +([\d.]+)(?:.*?lat \(ms,(\d+)%\): +([\d.]+))?`)
	// [  10s] threads: 64, tps: 439.94, reads: 8.1, writes: 2.3, response time: 226.63ms (95%)
	sysbenchOther = regexp.MustCompile(
		`^\[ *(\d+)s *\] threads: (\d+),? tps: +([\d.]+)(?:.*?(?:response time|latency): +([\d.]+)ms \((\d+)%\))?`)
	sysbenchEvery = regexp.MustCompile(`^Report intermediate results every (\d+) second`)
	sysbenchRate  = regexp.MustCompile(`^Target transaction rate: `)
	sysbenchTotal = regexp.MustCompile(`^(total time|total number of events|avg|max): +([\d.]+)(?:m?s)?$`)
	sysbenchTail  = regexp.MustCompile(`^(?:approx\. +)?(\d+)(?:th)? percentile: +([\d.]+)(?:ms)?$`)
)

// SniffSysbench reports whether a text is sysbench's output, with or without other text around it.
func SniffSysbench(head []byte) bool {
	// The plain searches come first, because most files are something else.
	if !bytes.Contains(head, []byte("tps: ")) && !bytes.Contains(head, []byte("eps: ")) &&
		!bytes.Contains(head, []byte("total number of events:")) {
		return false
	}

	for line := range bytes.Lines(head) {
		line = bytes.TrimRight(line, "\r\n")
		if i := bytes.IndexByte(line, '['); i >= 0 &&
			(sysbenchOne.Match(line[i:]) || sysbenchOther.Match(line[i:])) {
			return true
		}
		if bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("total number of events:")) {
			return true
		}
	}

	return false
}

// A sysbenchLine is a line of --report-interval.
type sysbenchLine struct {
	endS, threads, tps, quantile, quantileS float64
}

type sysbench struct {
	rate   bool // threads pause between transactions, so that not all of them are busy
	everyS float64
	last   *sysbenchLine // held back until the distance between lines is known
	any    bool
	totals map[string]float64
}

func newSysbench() *sysbench { return &sysbench{totals: map[string]float64{}} }

// Line implements Parser.
func (p *sysbench) Line(line []byte, add func(Interval)) error {
	line = bytes.TrimSpace(line)
	if len(line) > 0 && line[0] == '[' {
		return p.interval(line, add)
	}

	if m := sysbenchEvery.FindSubmatch(line); m != nil {
		p.everyS, _ = strconv.ParseFloat(string(m[1]), 64) // digits only
	}
	if sysbenchRate.Match(line) {
		p.rate = true
	}

	m, tail := sysbenchTotal.FindSubmatch(line), sysbenchTail.FindSubmatch(line)
	switch {
	case m != nil:
		v, err := strconv.ParseFloat(string(m[2]), 64)
		if err != nil {
			return fmt.Errorf("%q is not a number", m[2])
		}
		p.totals[string(m[1])] = v
	case tail != nil:
		q, _ := strconv.ParseFloat(string(tail[1]), 64) // digits only
		v, err := strconv.ParseFloat(string(tail[2]), 64)
		if err != nil {
			return fmt.Errorf("%q is not a number", tail[2])
		}
		p.totals["quantile"], p.totals["at quantile"] = q/100, v
	}

	return nil
}

func (p *sysbench) interval(line []byte, add func(Interval)) error {
	m := sysbenchOne.FindSubmatch(line)
	quantile, at := 4, 5
	if m == nil {
		m = sysbenchOther.FindSubmatch(line)
		quantile, at = 5, 4
	}
	if m == nil {
		return nil
	}

	var n [6]float64
	for i := 1; i < len(n); i++ {
		if len(m[i]) == 0 {
			continue
		}
		v, err := strconv.ParseFloat(string(m[i]), 64)
		if err != nil {
			return fmt.Errorf("%q is not a number", m[i])
		}
		n[i] = v
	}

	// Without the header, the first distance between two lines applies to all. Lines may be missing from
	// an excerpt, so a longer distance proves nothing.
	now := sysbenchLine{endS: n[1], threads: n[2], tps: n[3], quantile: n[quantile] / 100,
		quantileS: n[at] / 1000}
	if p.last != nil {
		if p.everyS == 0 && now.endS > p.last.endS {
			p.everyS = now.endS - p.last.endS
		}
		p.give(add)
	}

	if p.last, p.any = &now, true; p.everyS > 0 {
		p.give(add)
	}

	return nil
}

// give passes on the line that was held back.
func (p *sysbench) give(add func(Interval)) {
	l := p.last
	if p.last = nil; l == nil {
		return
	}

	every := p.everyS
	if every == 0 || every > l.endS {
		every = l.endS
	}

	x := Interval{EndS: l.endS, LengthS: every, Operation: "transactions", Kind: Transactions,
		Count: l.tps * every, WaitedS: math.NaN(), Waiting: math.NaN(), Quantile: l.quantile,
		QuantileS: l.quantileS}

	// Without a target rate, each thread always has a transaction in progress. So the mean latency
	// follows from Little's law; the line itself has only a percentile, which bounds the mean.
	switch {
	case !p.rate:
		x.Waiting, x.WaitedS = l.threads, l.threads*every
	case x.QuantileS > 0:
		x.WaitedS = x.QuantileS * x.Count
	}
	add(x)
}

// End implements Parser. The totals count only if there are no intervals.
func (p *sysbench) End(add func(Interval)) {
	p.give(add)
	t := p.totals
	if p.any || !(t["total time"] > 0) || !(t["total number of events"] > 0) || !(t["avg"] > 0) {
		return
	}
	add(Interval{EndS: t["total time"], LengthS: t["total time"], Operation: "transactions",
		Kind: Transactions, Count: t["total number of events"],
		WaitedS: t["avg"] / 1000 * t["total number of events"], MaxS: t["max"] / 1000, Waiting: math.NaN(),
		Quantile: t["quantile"], QuantileS: t["at quantile"] / 1000})
}
