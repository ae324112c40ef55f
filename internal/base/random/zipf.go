package random

import (
	"fmt"
	"math"
	"math/bits"
)

// Bounds of a Zipf distribution.
const (
	// ZipfItemsMax bounds the items: 2^40 of the smallest blocks are more than any volume has.
	ZipfItemsMax = 1 << 40
	// ZipfThetaMax bounds the exponent: at 5, 96 % of the draws are the first item.
	ZipfThetaMax = 5
)

const (
	zipfHead  = 1024 // ranks with a cell each
	zipfBlock = 64   // a block of further ranks has a width of its first rank divided by this
)

// A Zipf draws ranks 0 ... n-1; the probability of rank r is proportional to (r+1)^-theta, so a few
// ranks are drawn very often and most hardly ever. (Zipf's law as in Knuth, The Art of Computer
// Programming 3, 6.1; YCSB uses theta 0.99, Cooper et al., SoCC 2010.)
//
// It draws from the exact distribution, for any number of items, in constant time and about 40 KB.
// The first 1,024 ranks are cells of an alias table (Walker 1977, Vose 1991), and the ranks after
// them share cells in blocks. Within a block the probabilities differ by a few hundredths at most,
// and rejection picks the rank. The usual approximation in load generators (Gray et al., SIGMOD
// 1994) needs theta below 1 and is off by a few percent for the first ranks.
type Zipf struct {
	items  uint64
	theta  float64
	head   uint64
	cells  []zipfCell
	blocks []zipfRange
}

// A zipfCell is a cell of an alias table: of its 2^64 equal parts, the first keep parts belong to
// the cell itself and the rest to alias.
type zipfCell struct {
	keep  uint64
	alias uint32
}

// A zipfRange is a block of neighbouring ranks, counted from 1.
type zipfRange struct {
	first, width uint64
	lnFirst      float64
	least        float64 // probability of the last rank divided by that of the first
}

// NewZipf returns the distribution over items ranks. theta must be in (0, ZipfThetaMax]. (For the
// uniform distribution, theta 0, use [Stream.Below].)
func NewZipf(items uint64, theta float64) (*Zipf, error) {
	switch {
	case items == 0 || items > ZipfItemsMax:
		return nil, fmt.Errorf("zipf over %d items: want 1 to %d", items, uint64(ZipfItemsMax))
	case !(theta > 0 && theta <= ZipfThetaMax):
		return nil, fmt.Errorf("zipf theta %g out of range: want (0, %d]", theta, ZipfThetaMax)
	}

	z := &Zipf{items: items, theta: theta, head: min(items, zipfHead)}
	var weights []float64
	for k := uint64(1); k <= z.head; k++ {
		weights = append(weights, z.weight(float64(k)))
	}

	// Blocks grow with their first rank, so their number grows only with the logarithm of the
	// items.
	for first := z.head + 1; first <= items; {
		width := min(first/zipfBlock, items-first+1)
		last := float64(first + width - 1)
		z.blocks = append(z.blocks, zipfRange{
			first: first, width: width, lnFirst: ln(float64(first)),
			least: z.weight(last) / z.weight(float64(first)),
		})
		weights = append(weights, z.sum(float64(first), last))
		first += width
	}

	z.cells = aliasTable(weights)
	return z, nil
}

// Items returns the number of ranks.
func (z *Zipf) Items() uint64 { return z.items }

// Draw draws a rank from the distribution, 0 being the most frequent.
func (z *Zipf) Draw(s *Stream) uint64 {
	// One random number selects the cell (upper half) and the part of the cell (lower half).
	cell, part := bits.Mul64(s.pcg.Uint64(), uint64(len(z.cells)))
	if c := &z.cells[cell]; part >= c.keep {
		cell = uint64(c.alias)
	}

	if cell < z.head {
		return cell
	}

	b := &z.blocks[cell-z.head]
	for {
		k := b.first + s.Below(b.width)
		// Most draws are below the probability of even the last rank in the block, so they need no
		// logarithm.
		if u := s.Float(); u < b.least || u < Exp(float64(-z.theta*(ln(float64(k))-b.lnFirst))) {
			return k - 1
		}
	}
}

// weight returns k^-theta.
func (z *Zipf) weight(k float64) float64 { return Exp(float64(-z.theta * ln(k))) }

// gauss holds the nodes and weights of five-point Gauss-Legendre quadrature over -1 ... 1
// (Abramowitz and Stegun 1964, table 25.4).
var gauss = [5][2]float64{
	{-0.906179845938664, 0.236926885056189},
	{-0.538469310105683, 0.478628670499366},
	{0, 0.568888888888889},
	{0.538469310105683, 0.478628670499366},
	{0.906179845938664, 0.236926885056189},
}

// sum returns the sum of the weights of ranks a ... b, where a is over zipfHead and b at most a few
// percent larger. It is the integral, by quadrature, plus the first two terms of the
// Euler-Maclaurin formula. The relative remainder is below 1e-13.
func (z *Zipf) sum(a, b float64) float64 {
	middle, half := float64((a+b)/2), float64((b-a)/2)
	var integral float64
	for _, g := range gauss {
		x := middle + float64(half*g[0])
		integral += float64(g[1] * z.weight(x))
	}
	wa, wb := z.weight(a), z.weight(b)
	slopes := float64(z.theta * (wa/a - wb/b)) // f'(b) - f'(a) of f(x) = x^-theta
	return float64(integral*half) + float64((wa+wb)/2) + slopes/12
}

// aliasTable returns cells that draw index i in proportion to weights[i]. The weights are rounded
// to 2^-50 of their sum; after that, all arithmetic is in integers.
func aliasTable(weights []float64) []zipfCell {
	var sum float64
	for i := len(weights) - 1; i >= 0; i-- { // smallest first, so that rounding does not lose them
		sum += weights[i]
	}

	n := uint64(len(weights))
	cells := make([]zipfCell, n)
	mass := make([]uint64, n) // n times the share, in units of a share of 1/total

	var total uint64
	for i, w := range weights {
		mass[i] = uint64(math.Round(w / sum * (1 << 50)))
		total += mass[i]
	}

	var poor, rich []uint32
	for i := range mass {
		mass[i] *= n // below 2^62: n is below 2^12
		if mass[i] < total {
			poor = append(poor, uint32(i))
		} else {
			rich = append(rich, uint32(i))
		}
	}

	// Vose's step: a poor cell keeps its own mass and gets the rest from a rich one.
	for len(poor) > 0 && len(rich) > 0 {
		p, r := poor[len(poor)-1], rich[len(rich)-1]
		poor = poor[:len(poor)-1]
		keep, _ := bits.Div64(mass[p], 0, total)
		cells[p] = zipfCell{keep: keep, alias: r}
		if mass[r] -= total - mass[p]; mass[r] < total {
			rich = rich[:len(rich)-1]
			poor = append(poor, r)
		}
	}

	// With integers, the cells left over are exactly full.
	for _, r := range rich {
		cells[r] = zipfCell{keep: math.MaxUint64, alias: r}
	}

	return cells
}
