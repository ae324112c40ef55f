package model

import (
	"testing"

	"plimsoll/internal/base/units"
)

// If every second leaf has half as many entries, a key is on the leaf that counts it.
func TestHalvedLeaves(t *testing.T) {
	tr := &tree{perPage: 6}
	tr.halve()
	const keys = 9 * 1000

	on := map[int]uint64{}
	for key := range uint64(keys) {
		on[tr.key(key)]++
	}

	if n := tr.leaves(keys); n != 2000 || len(on) != n {
		t.Fatalf("%d leaves, of which %d have keys, not 2,000", n, len(on))
	}

	for i, n := range on {
		if want := []uint64{6, 3}[i%2]; n != want || tr.on(i) != want {
			t.Fatalf("leaf %d has %d keys and says %d, not %d", i, n, tr.on(i), want)
		}
	}

	for _, key := range []uint64{8999, 0, 6, 5, 9, 8} { // not in order
		if got, want := tr.key(key), int(key/9*2+key%9/6); got != want {
			t.Errorf("key %d is on leaf %d, not %d", key, got, want)
		}
	}
}

// Without a compressor, a server's leaf is split at 90 % of leaf_page. With one, it holds what
// takes leaf_page on disk, but at most four times leaf_page.
func TestLeafOfServer(t *testing.T) {
	no := false
	for _, c := range []struct {
		compressor  *bool
		compression units.Ratio
		want        units.Size
	}{
		{&no, 1, 28 * units.KiB},
		{nil, 1, 32 * units.KiB * 118 / 100},
		{nil, 0.5, 32 * units.KiB * 190 / 100},
		{nil, 0.1, 128 * units.KiB},
	} {
		cfg := Defaults()
		cfg.Compressor, cfg.Compression = c.compressor, c.compression
		if got := cfg.leaf(); got != c.want {
			t.Errorf("compressor %v, compression %s: %s, not %s", c.compressor == nil, c.compression, got.Exact(), c.want.Exact())
		}
	}
}
