package workload

import (
	"math"
	"math/bits"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
)

// sizeBits is how finely quantiles of sizes are tabulated; between two entries, sizes rise evenly.
const sizeBits = 10

// documents provides the size of every document without storing any: it follows from the key by a
// hash. Only growth is stored, as a number of updates each.
type documents struct {
	size    units.Size   // of all, if table is nil
	table   []units.Size // at shares i/2^sizeBits
	salt    uint64
	change  units.Size
	growth  units.Size
	largest units.Size
	updates []uint16 // by key, if they grow
}

// newDocuments makes the documents of a checked specification, count of them.
func newDocuments(d *Document, count Count, seed random.Seed) *documents {
	out := &documents{
		size: d.Size, salt: seed.Stream("workload.documents").Uint64(),
		change: d.Change, growth: d.Growth, largest: d.Largest,
	}

	switch {
	case d.Uniform != nil:
		out.table = []units.Size{d.Uniform.From, d.Uniform.To}
	case len(d.Quantiles) > 0:
		out.table = make([]units.Size, 1<<sizeBits+1)
		for i := range out.table {
			out.table[i] = quantile(d.Quantiles, float64(i)/(1<<sizeBits))
		}
	}

	if d.Growth > 0 {
		out.updates = make([]uint16, count)
	}

	return out
}

// fixed returns the documents without updates and growth.
func (d *Document) fixed() *Document {
	return &Document{Size: d.Size, Uniform: d.Uniform, Quantiles: d.Quantiles}
}

// quantile returns the size at a share, geometrically between the quantiles around it: low x
// (high/low)^t, where the power is computed bit by bit of t with square roots, which IEEE 754
// defines to the bit.
func quantile(q []SizeQuantile, share float64) units.Size {
	i := 1
	for i < len(q)-1 && float64(q[i].Share) < share {
		i++
	}

	low, high := float64(q[i-1].Size), float64(q[i].Size)
	t := (share - float64(q[i-1].Share)) / float64(q[i].Share-q[i-1].Share)

	size, root := low, high/low
	for range 30 {
		root = math.Sqrt(root)
		if t += t; t >= 1 {
			t--
			size *= root
		}
	}

	return units.Size(math.Round(min(max(size, low), high)))
}

// original returns a document's size before any growth.
func (d *documents) original(key uint64) units.Size {
	if d.table == nil {
		return d.size
	}
	return d.at(random.Mix64(key ^ d.salt))
}

// at returns the size at a share in 2^-64.
func (d *documents) at(share uint64) units.Size {
	// Places 0 ... len-1 of the table, with a fraction of 32 bits.
	place, _ := bits.Mul64(share, uint64(len(d.table)-1)<<32)
	low, high := d.table[place>>32], d.table[place>>32+1]
	return low + units.Size((uint64(high-low)*(place&(1<<32-1))+1<<31)>>32)
}

// now returns a document's current size.
func (d *documents) now(key uint64) units.Size {
	size := d.original(key)
	if key < uint64(len(d.updates)) {
		size = min(size+d.growth*units.Size(d.updates[key]), max(size, d.largest))
	}
	return size
}

// update counts an update of a document and returns its payload and the size after it.
func (d *documents) update(key uint64) (carried, after units.Size) {
	if key < uint64(len(d.updates)) && d.updates[key] < math.MaxUint16 {
		d.updates[key]++
	}
	after = d.now(key)
	if d.change > 0 {
		return min(d.change, after), after
	}
	return after, after
}

// mean returns the mean size before any growth.
func (d *documents) mean() units.Size {
	if d.table == nil {
		return d.size
	}
	var sum units.Size // of at most 1,025 sizes
	for i := range len(d.table) - 1 {
		sum += d.table[i] + d.table[i+1]
	}
	return sum / units.Size(2*(len(d.table)-1))
}
