package identity

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"plimsoll/internal/record/recording"
)

// A relation is what the samples of two nodes say about whether they are from the same server or
// host.
type relation int

const (
	unknown   relation = iota
	same               // they overlap in time, and their counters agree
	different          // they overlap in time, and their counters contradict each other
	follows            // one begins after the other ended, and its counters continue
	apart              // one begins after the other ended, and its counters do not continue
	elsewhere          // they have no metric in common
)

const (
	// comparedMax bounds the series to compare. decidingMost conclusive ones decide; many are
	// inconclusive.
	comparedMax  = 400
	decidingMost = 16
	// contradictions is the share of samples that must contradict, because clocks and rounding
	// differ.
	contradictions = 0.1
	// continued is the share of counters that must continue.
	continued = 0.9
	// readMost bounds the samples that are read to compare two nodes.
	readMost = 4_000_000
	// faster is how many times faster than before a counter may have grown between two recordings.
	faster = 10
	// alike is how much the growth of two counters of a device may differ if one of them was
	// integrated from rates.
	alike = 0.05
)

// compare compares the counters of two nodes.
func (s *splitter) compare(a, b *node) (relation, error) {
	pairs := s.pairs(a, b)
	if len(pairs) == 0 {
		return elsewhere, nil
	}

	// Logs are not compared: members log the same events at the same times, and logs with few events look
	// alike. Files of one log were joined earlier.
	if s.logged(a) && s.logged(b) {
		return different, nil
	}

	votes := map[relation]int{}
	integrated := s.integrated(a) || s.integrated(b)

	read := 0
	for _, p := range pairs[:min(len(pairs), comparedMax)] {
		x, err := s.points(a, p[0])
		if err != nil {
			return unknown, err
		}

		y, err := s.points(b, p[1])
		if err != nil {
			return unknown, err
		}

		votes[relate(x, y, integrated)]++
		read += len(x) + len(y)

		// Enough conclusive series: reading more would cost time and not change the result.
		if votes[same]+votes[different]+votes[follows]+votes[apart] >= decidingMost || read > readMost {
			break
		}
	}

	// Overlapping series are better evidence than consecutive ones.
	switch meet, part := votes[same]+votes[different], votes[follows]+votes[apart]; {
	case meet+part == 0:
		return unknown, nil
	case meet > 0 && float64(votes[same]) >= continued*float64(meet):
		return same, nil
	case meet > 0:
		return different, nil
	case float64(votes[follows]) >= continued*float64(part):
		return follows, nil
	}

	return apart, nil
}

// integrated reports whether the counters of a node were integrated from rates, so that they begin
// at zero.
func (s *splitter) integrated(n *node) bool {
	return slices.ContainsFunc(s.sources[n.reader], func(x recording.Source) bool { return x.Kind == "iostat" })
}

// logged reports whether a node is a server's log.
func (s *splitter) logged(n *node) bool {
	return slices.ContainsFunc(s.sources[n.reader],
		func(x recording.Source) bool { return strings.HasSuffix(x.Kind, "-log") })
}

// pairs returns the series that two nodes have in common, ignoring the labels that distinguish
// nodes.
func (s *splitter) pairs(a, b *node) [][2]labels.Labels {
	bare := func(l labels.Labels) string {
		return string(labels.NewBuilder(l).Del("instance", "server", "namespace", "pod", "cluster", "job", "node",
			"nodename", "host", "hostname").Labels().Bytes(nil))
	}

	of := map[string]labels.Labels{}
	for _, l := range b.series {
		of[bare(l)] = l
	}

	var out [][2]labels.Labels
	for _, l := range a.series {
		if o, ok := of[bare(l)]; ok {
			out = append(out, [2]labels.Labels{l, o})
		}
	}

	return out
}

// points returns all samples of one series.
func (s *splitter) points(n *node, l labels.Labels) ([]promql.FPoint, error) {
	var selector recording.Selector
	l.Range(func(x labels.Label) {
		selector = append(selector, labels.MustNewMatcher(labels.MatchEqual, x.Name, x.Value))
	})
	series, err := s.in[n.reader].Samples(s.ctx, selector, time.UnixMilli(0),
		time.UnixMilli(recording.TimeMaxMs))
	if err != nil {
		return nil, err
	}

	for _, x := range series {
		if labels.Equal(x.Labels, l) {
			return x.Points, nil
		}
	}

	return nil, nil
}

// relate compares a counter as recorded by two nodes. A series that decreases is not a counter, and
// one that is constant at the same value in both is inconclusive.
func relate(x, y []promql.FPoint, integrated bool) relation {
	if len(x) < 2 || len(y) < 2 || decreases(x) || decreases(y) {
		return unknown
	}
	if y[0].T < x[0].T {
		x, y = y, x
	}
	if x[len(x)-1].T < y[0].T {
		return succession(x, y, integrated)
	}
	if integrated {
		return growAlike(x, y)
	}
	return meeting(x, y)
}

func decreases(p []promql.FPoint) bool {
	for i := 1; i < len(p); i++ {
		if p[i].F < p[i-1].F {
			return true
		}
	}
	return false
}

// succession compares a counter whose first part ended before its second began.
func succession(x, y []promql.FPoint, integrated bool) relation {
	if integrated {
		return unknown
	}

	rate := func(p []promql.FPoint) float64 {
		return (p[len(p)-1].F - p[0].F) / math.Max(1, float64(p[len(p)-1].T-p[0].T))
	}
	last := x[len(x)-1]
	grown, passed := y[0].F-last.F, float64(y[0].T-last.T)

	most := math.Max(rate(x), rate(y))
	switch {
	case most == 0 && grown == 0:
		return unknown
	case grown < 0 || grown > faster*most*passed:
		return apart
	}

	return follows
}

// meeting compares a counter that two nodes recorded at the same time: each sample of one must be
// between the neighbouring samples of the other. Clocks may differ by one sample.
func meeting(x, y []promql.FPoint) relation {
	from, to := max(x[0].T, y[0].T), min(x[len(x)-1].T, y[len(y)-1].T)
	seen, bad := 0, 0

	k := 0
	for _, p := range y {
		if p.T < from || p.T > to {
			continue
		}

		for k < len(x)-1 && x[k+1].T <= p.T {
			k++
		}

		// One sample further on each side, for clocks that differ.
		low, high := x[max(0, k-1)].F, x[min(len(x)-1, k+2)].F
		seen++
		if p.F < low || p.F > high {
			bad++
		}
	}

	switch {
	case seen < 2:
		return unknown
	case float64(bad) > contradictions*float64(seen):
		return different
	case x[0].F == x[len(x)-1].F && y[0].F == y[len(y)-1].F:
		return unknown
	}

	return same
}

// growAlike compares how much a counter grew while both nodes recorded it.
func growAlike(x, y []promql.FPoint) relation {
	from, to := max(x[0].T, y[0].T), min(x[len(x)-1].T, y[len(y)-1].T)
	if to <= from {
		return unknown
	}
	a, b := at(x, to)-at(x, from), at(y, to)-at(y, from)
	const little = 50 // requests or kilobytes; less is too little to compare
	switch {
	case a < little && b < little:
		return unknown
	case math.Abs(a-b) > alike*math.Max(a, b):
		return different
	}
	return same
}

// at returns the value of a counter at a time within its samples, by linear interpolation.
func at(p []promql.FPoint, t int64) float64 {
	i, found := slices.BinarySearchFunc(p, t, func(p promql.FPoint, t int64) int { return cmp.Compare(p.T, t) })
	if found || i == 0 {
		return p[min(i, len(p)-1)].F
	}

	if i == len(p) {
		return p[len(p)-1].F
	}

	a, b := p[i-1], p[i]
	return a.F + (b.F-a.F)*float64(t-a.T)/float64(b.T-a.T)
}
