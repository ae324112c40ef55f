package units

// sizeMost bounds products of sizes, far below where sums of some of them overflow.
const sizeMost = Size(1 << 60)

// Times is n things of this size, at most 1 EiB; 0 where the size is negative.
func (q Size) Times(n uint64) Size {
	if q <= 0 {
		return 0
	}
	if n > uint64(sizeMost/q) {
		return sizeMost
	}
	return Size(n) * q
}
