package units

// sizeMost bounds products of sizes; it is low enough that the sum of a few of them cannot overflow.
const sizeMost = Size(1 << 60)

// Times returns n times the size, at most 1 EiB, or 0 if the size is negative.
func (q Size) Times(n uint64) Size {
	if q <= 0 {
		return 0
	}
	if n > uint64(sizeMost/q) {
		return sizeMost
	}
	return Size(n) * q
}
