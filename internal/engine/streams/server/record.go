//go:build linux

package server

import (
	"encoding/binary"
	"hash/crc32"

	"plimsoll/internal/base/random"
)

// A record's header; see the package's documentation.
const (
	recordMagic = 0x53504c4d
	headerBytes = 32
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A record is an operation's write.
type record struct {
	lap      uint32
	key, seq uint64
}

// put fills b with a record. Its payload depends on key and seq and differs from any other
// record's, so that a torn record is detected.
func (r record) put(b []byte) {
	x := random.Mix64(r.key) ^ random.Mix64(r.seq+1)
	for i := headerBytes; i < len(b); i++ {
		if i%8 == 0 {
			x = x*6364136223846793005 + 1442695040888963407 // Knuth's linear congruential generator, MMIX
		}
		b[i] = byte(x >> (8 * (i % 8)))
	}
	binary.LittleEndian.PutUint32(b, recordMagic)
	binary.LittleEndian.PutUint32(b[8:], uint32(len(b)))
	binary.LittleEndian.PutUint32(b[12:], r.lap)
	binary.LittleEndian.PutUint64(b[16:], r.key)
	binary.LittleEndian.PutUint64(b[24:], r.seq)
	binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(b[8:], castagnoli))
}

// take reads the record at the beginning of b; ok is false if it is incomplete.
func take(b []byte) (r record, length int, ok bool) {
	if len(b) < headerBytes || binary.LittleEndian.Uint32(b) != recordMagic {
		return record{}, 0, false
	}
	n := binary.LittleEndian.Uint32(b[8:])
	if n < headerBytes || uint64(n) > uint64(len(b)) ||
		crc32.Checksum(b[8:n], castagnoli) != binary.LittleEndian.Uint32(b[4:]) {
		return record{}, 0, false
	}
	return record{binary.LittleEndian.Uint32(b[12:]), binary.LittleEndian.Uint64(b[16:]),
		binary.LittleEndian.Uint64(b[24:])}, int(n), true
}
