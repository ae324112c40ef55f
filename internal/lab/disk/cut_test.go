//go:build linux

package disk

import (
	"bytes"
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
)

// The size and number of blocks in the property test.
const (
	block  = 1024
	blocks = 8
)

// After a power loss, each sector holds either its durable content or something written later:
// nothing durable is lost, and nothing appears that was never written.
func TestCutKeepsDurableWrites(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cached := rapid.Bool().Draw(rt, "volatile cache")
		d, _ := newDisk(rt, Config{Size: block * blocks, PowerLoss: true, VolatileCache: cached})
		defer d.close()
		const sectors = int(4096 * 2 / sectorBytes)
		var durable [sectors]byte
		var may [sectors][]byte // written after that

		n := byte(0)
		for range rapid.IntRange(0, 30).Draw(rt, "operations") {
			if rapid.IntRange(0, 4).Draw(rt, "flush in") == 0 {
				if err := d.Flush(); err != nil {
					rt.Fatal(err)
				}
				for i, m := range may {
					if len(m) > 0 {
						durable[i], may[i] = m[len(m)-1], nil
					}
				}
				continue
			}

			n++
			from := rapid.IntRange(0, sectors-1).Draw(rt, "sector")
			count := rapid.IntRange(1, min(4, sectors-from)).Draw(rt, "sectors")

			if _, err := d.WriteAt(bytes.Repeat([]byte{n}, count*sectorBytes), int64(from*sectorBytes)); err != nil {
				rt.Fatal(err)
			}

			for i := from; i < from+count; i++ {
				if cached {
					may[i] = append(may[i], n)
				} else {
					durable[i] = n
				}
			}
		}

		share := rapid.SampledFrom([]units.Ratio{0, .5, 1})
		r, err := d.Cut(Cut{Seed: random.Seed(rapid.Uint64().Draw(rt, "seed")), Lose: share.Draw(rt, "lost"), Torn: share.Draw(rt, "torn"),
			Sector: rapid.SampledFrom([]units.Size{0, 512, 1024}).Draw(rt, "sector of the device")})
		if err != nil {
			rt.Fatal(err)
		}

		if !cached && r.Kept+r.Torn+r.Lost > 0 {
			rt.Errorf("without a cache nothing can be lost: %+v", r)
		}

		if _, err := d.ReadAt(make([]byte, 512), 0); !errors.Is(err, syscall.EIO) {
			rt.Errorf("read without power: %v", err)
		}

		d.Revive()
		got := make([]byte, d.Size())
		if _, err := d.ReadAt(got, 0); err != nil {
			rt.Fatal(err)
		}

		for i := range sectors {
			s := got[i*sectorBytes : (i+1)*sectorBytes]
			if !bytes.Equal(s, bytes.Repeat(s[:1], sectorBytes)) {
				rt.Errorf("sector %d is torn within", i)
			}
			if s[0] != durable[i] && !slices.Contains(may[i], s[0]) {
				rt.Errorf("sector %d holds %d; durable was %d, written later %v", i, s[0], durable[i], may[i])
			}
		}
	})
}

// With probability 1, everything that is not durable is lost, and a write in flight fails.
func TestCutWhileWriting(t *testing.T) {
	h, err := NewHost(Options{})
	if err != nil {
		t.Fatal(err)
	}

	defer h.Close()
	d, err := h.Add(Config{Name: "data", Size: units.MiB, Volume: steady(0, 300*time.Millisecond), PowerLoss: true})
	if err != nil {
		t.Fatal(err)
	}

	failed := make(chan error, 1)
	go func() {
		_, err := d.WriteAt([]byte("lost"), 0)
		failed <- err
	}()

	for d.pending() == 0 {
		time.Sleep(time.Millisecond)
	}

	r, err := d.Cut(Cut{Lose: 1})
	if err != nil || r.Lost != 1 || r.Unanswered != 1 || r.LostBytes != 4 {
		t.Errorf("%+v, %v", r, err)
	}

	d.Revive()
	if err := <-failed; !errors.Is(err, syscall.EIO) {
		t.Errorf("the write in flight: %v", err)
	}

	got := make([]byte, 4)
	if _, err := d.ReadAt(got, 0); err != nil || got[0] != 0 {
		t.Errorf("read %q: %v", got, err)
	}
}

func (d *Disk) pending() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return len(d.volatile.writes)
}
