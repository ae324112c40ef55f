package volume

import (
	"fmt"

	"plimsoll/random"
	"plimsoll/units"
)

// A Latency is a distribution of times, given by quantiles; between two of them it is uniform.
// The zero Latency is always 0.
//
// A draw is a look into a table and an interpolation in whole numbers, so that it costs a few
// nanoseconds and gives the same on every machine. The table has 256 equal cells, and 256 finer
// ones in place of the last, because what matters about a latency is its tail.
type Latency struct {
	table *[tableLen]int64 // nanoseconds
}

const (
	cells    = 256
	tableLen = 2*cells + 1 // where cells 0 ... 254 begin, then where each of the tail does, and the end
	// latencyMax is where a latency is no longer one: the kernel's NVMe driver gives up after
	// 30 s, and on EBS after as long as one tells it (io_timeout).
	latencyMax = units.Duration(3600e9)
)

// A Quantile says that a share of the operations takes no longer than Takes.
type Quantile struct {
	Share units.Ratio
	Takes units.Duration
}

// NewLatency gives the distribution that goes through the quantiles, which ascend in both
// share and time. Below the first it is the first's time, above the last the last's: give shares 0
// and 1 to say otherwise. One quantile alone is a constant.
func NewLatency(quantiles ...Quantile) (Latency, error) {
	if len(quantiles) == 0 {
		return Latency{}, nil
	}
	for i, q := range quantiles {
		switch {
		case !(q.Share >= 0 && q.Share <= 1):
			return Latency{}, fmt.Errorf("latency: quantile %v: from 0 to 1", float64(q.Share))
		case q.Takes < 0 || q.Takes > latencyMax:
			return Latency{}, fmt.Errorf("latency: %v at quantile %v: from 0s to %v", q.Takes, float64(q.Share), latencyMax)
		case i > 0 && q.Share <= quantiles[i-1].Share:
			return Latency{}, fmt.Errorf("latency: quantile %v after %v: they ascend", float64(q.Share), float64(quantiles[i-1].Share))
		case i > 0 && q.Takes < quantiles[i-1].Takes:
			return Latency{}, fmt.Errorf("latency: %v at quantile %v, less than %v at %v: they ascend", q.Takes, float64(q.Share), quantiles[i-1].Takes, float64(quantiles[i-1].Share))
		}
	}
	l := Latency{new([tableLen]int64)}
	for i := range cells {
		l.table[i] = interpolate(quantiles, i*cells)
		l.table[cells+i] = interpolate(quantiles, (cells-1)*cells+i)
	}
	l.table[2*cells] = interpolate(quantiles, cells*cells)
	return l, nil
}

// interpolate is the quantile function at n/65536, in nanoseconds.
func interpolate(quantiles []Quantile, n int) int64 {
	u := float64(n) / (cells * cells) // exact: a power of two
	last := quantiles[0]
	for _, q := range quantiles {
		if u <= float64(q.Share) {
			if q.Share == last.Share {
				return int64(q.Takes)
			}
			part := (u - float64(last.Share)) / float64(q.Share-last.Share)
			return int64(last.Takes) + int64(float64(q.Takes-last.Takes)*part)
		}
		last = q
	}
	return int64(last.Takes)
}

// Constant is the latency that is always d.
func Constant(d units.Duration) Latency {
	l := Latency{new([tableLen]int64)}
	for i := range l.table {
		l.table[i] = int64(min(max(d, 0), latencyMax))
	}
	return l
}

// Scaled is the distribution with every time multiplied by k, which counts as 0 if it is negative.
func (l Latency) Scaled(k units.Ratio) Latency {
	if l.table == nil {
		return l
	}
	s := Latency{new([tableLen]int64)}
	for i, t := range l.table {
		s.table[i] = int64(min(max(float64(t)*float64(k), 0), float64(latencyMax)))
	}
	return s
}

// Draw takes a latency from the distribution.
func (l Latency) Draw(s *random.Stream) units.Duration {
	if l.table == nil {
		return 0
	}
	return l.at(s.Uint64())
}

// at is the quantile function at u/2^64.
func (l Latency) at(u uint64) units.Duration {
	i := u >> 56
	if i == cells-1 {
		u <<= 8
		i = cells + u>>56
	}
	i %= 2 * cells // says to the compiler what holds anyway: the table has that
	low, high := l.table[i], l.table[i+1]
	fraction := int64(u << 8 >> 44) // 20 bits: times an hour they fit
	return units.Duration(low + (high-low)*fraction>>20)
}

// Quantile is the time that a share of the draws does not exceed.
func (l Latency) Quantile(share units.Ratio) units.Duration {
	if l.table == nil {
		return 0
	}
	if !(share < 1) {
		return units.Duration(l.table[2*cells])
	}
	return l.at(uint64(max(float64(share), 0)*(1<<53)) << 11)
}

// Mean is the mean of the draws.
func (l Latency) Mean() units.Duration {
	if l.table == nil {
		return 0
	}
	var body, tail int64 // sums of both ends of each cell; an hour 512 times over fits
	for i := range cells - 1 {
		body += l.table[i] + l.table[i+1]
	}
	for i := cells; i < 2*cells; i++ {
		tail += l.table[i] + l.table[i+1]
	}
	return units.Duration((body + tail/cells) / (2 * cells))
}
