package volume

import (
	"fmt"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
)

// A Latency is a distribution of times, given by quantiles; between two of them it is uniform. The
// zero Latency is always 0.
//
// A draw is a table lookup and an interpolation in whole numbers. It costs a few nanoseconds and
// gives the same result on every machine. The tail matters most, so the table has cells of 1/256 up
// to 15/16, of 1/4,096 from there, and of 1/1,048,576 in the last of those.
type Latency struct {
	table *[tableLen]int64 // nanoseconds at the start of each cell, and at the end of all
}

const (
	body     = 240
	tail     = 255
	farTail  = 256
	tableLen = body + tail + farTail + 1
	finest   = 1 << 20 // cells of the far tail's size in the whole
	// latencyMax is the longest latency: by default, a kernel gives up on an NVMe request after 30
	// s (nvme_core.io_timeout).
	latencyMax = units.Duration(3600e9)
)

// cellBegins returns the start of a cell, in units of the finest cells.
func cellBegins(i int) int {
	switch {
	case i < body:
		return i * (finest / 256)
	case i < body+tail:
		return body*(finest/256) + (i-body)*(finest/4096)
	}
	return finest - farTail + i - body - tail
}

// A Quantile states that a share of the operations takes at most Takes.
type Quantile struct {
	Share units.Ratio
	Takes units.Duration
}

// NewLatency returns the distribution that goes through the quantiles, which ascend in both share and
// time. Below the first quantile it has the first's time, above the last the last's; specify shares 0
// and 1 to change that. A single quantile is a constant.
func NewLatency(quantiles ...Quantile) (Latency, error) {
	if len(quantiles) == 0 {
		return Latency{}, nil
	}

	for i, q := range quantiles {
		switch {
		case !(q.Share >= 0 && q.Share <= 1):
			return Latency{}, fmt.Errorf("latency: quantile %v out of range: want 0 to 1", float64(q.Share))
		case q.Takes < 0 || q.Takes > latencyMax:
			return Latency{}, fmt.Errorf("latency: %v at quantile %v out of range: want 0s to %v", q.Takes,
				float64(q.Share), latencyMax)
		case i > 0 && q.Share <= quantiles[i-1].Share:
			return Latency{}, fmt.Errorf("latency: quantile %v after %v: want ascending quantiles", float64(q.Share),
				float64(quantiles[i-1].Share))
		case i > 0 && q.Takes < quantiles[i-1].Takes:
			return Latency{}, fmt.Errorf("latency: %v at quantile %v is less than %v at %v: want ascending latencies", q.Takes,
				float64(q.Share), quantiles[i-1].Takes, float64(quantiles[i-1].Share))
		}
	}

	l := Latency{new([tableLen]int64)}
	for i := range l.table {
		l.table[i] = interpolate(quantiles, cellBegins(i))
	}

	return l, nil
}

// interpolate evaluates the quantile function at n of the finest cells, in nanoseconds.
func interpolate(quantiles []Quantile, n int) int64 {
	u := float64(float64(n) / finest) // exact: a power of two
	last := quantiles[0]
	for _, q := range quantiles {
		if u <= float64(q.Share) {
			// u is at or below the first quantile.
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

// Constant returns the latency that is always d.
func Constant(d units.Duration) Latency {
	l := Latency{new([tableLen]int64)}
	for i := range l.table {
		l.table[i] = int64(min(max(d, 0), latencyMax))
	}
	return l
}

// Scaled returns the distribution with every time multiplied by k; a negative k counts as 0.
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

// Draw draws a latency from the distribution.
func (l Latency) Draw(s *random.Stream) units.Duration {
	if l.table == nil {
		return 0
	}
	return l.at(s.Uint64())
}

// at evaluates the quantile function at u/2^64.
func (l Latency) at(u uint64) units.Duration {
	// The top 8 bits select a cell. In the last 1/16 and the last 1/4,096, the next bits select a
	// finer one.
	i := u >> 56
	if i >= body {
		u <<= 4
		i = u >> 56
		if i < tail {
			i += body
		} else {
			u <<= 8
			i = body + tail + u>>56
		}
	}

	low, high := l.table[i], l.table[i+1]
	fraction := int64(u << 8 >> 44) // 20 bits: multiplied by up to an hour, they fit
	return units.Duration(low + (high-low)*fraction>>20)
}

// Quantile returns the time that a share of the draws does not exceed.
func (l Latency) Quantile(share units.Ratio) units.Duration {
	if l.table == nil {
		return 0
	}
	if !(share < 1) {
		return units.Duration(l.table[tableLen-1])
	}
	return l.at(uint64(max(float64(share), 0)*(1<<53)) << 11)
}

// Mean returns the mean of the draws.
func (l Latency) Mean() units.Duration {
	if l.table == nil {
		return 0
	}
	var sum float64
	for i := range tableLen - 1 {
		// The distribution is uniform within a cell, so the cell's mean is the middle of its ends.
		// The division by 2 follows after the loop. The conversion keeps the compiler from fusing
		// the multiplication and addition, which would differ between machines.
		sum += float64(float64(cellBegins(i+1)-cellBegins(i)) * float64(l.table[i]+l.table[i+1]))
	}
	return units.Duration(sum / (2 * finest))
}
