package kernel

import (
	"fmt"
	"hash/fnv"
	"testing"
	"time"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/volume"
)

// free is a volume that costs nothing, to measure this package alone.
type free struct{}

func (free) Submit(now vtime.Instant, _ volume.Request) volume.Completion {
	return volume.Completion{Admitted: now, Issued: now + 1000, Done: now + 600_000}
}
func (free) State(vtime.Instant) volume.State { return volume.State{} }

func BenchmarkPageWrite(b *testing.B) {
	var clock vtime.Clock
	h := NewHost(Defaults(), &clock, 1)
	f := h.Create("f", h.Attach("data", free{}), 10*units.GiB)
	chance := random.Seed(1).Stream("pages")
	at := make([]units.Size, 1<<14)
	for i := range at {
		at[i] = units.Size(chance.Below(1<<18)) * PageSize
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		f.Write(at[i%len(at)], PageSize)
	}
}

func BenchmarkDo(b *testing.B) {
	for _, v := range []struct {
		name   string
		volume volume.Volume
	}{{"free", free{}}, {"gp3", slow(b, 128)}} {
		b.Run(v.name, func(b *testing.B) {
			var clock vtime.Clock
			h := NewHost(Defaults(), &clock, 1)
			d := h.Attach("data", v.volume)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				clock.Run(vtime.Instant(i) * 340_000)
				d.Do(volume.Request{Op: volume.Write, Offset: units.Size(i%1000) * 8192, Length: PageSize})
			}
		})
	}
}

// BenchmarkSync appends and syncs, with as many dirty pages of another file as its name says.
func BenchmarkSync(b *testing.B) {
	for _, size := range []units.Size{units.MiB, units.GiB, 100 * units.GiB} {
		b.Run(fmt.Sprintf("log=%s", size.Exact()), func(b *testing.B) {
			var clock vtime.Clock
			h := NewHost(Defaults(), &clock, 1)
			f := h.Create("f", h.Attach("data", free{}), size)
			f.SetPrewritten(true)
			f.Rewind(size)
			ended := vtime.HandlerFunc(func(vtime.Instant, uint64) {})
			b.ReportAllocs()

			for i := 0; b.Loop(); i++ {
				f.Append(2300)
				f.Sync(ended, 0)
				clock.Run(clock.Now() + 1_000_000)
			}
		})
	}
}

// BenchmarkWriteback dirties single pages all over a file and syncs them. The cost per page must not
// depend on their number.
func BenchmarkWriteback(b *testing.B) {
	for _, pages := range []uint64{1 << 10, 1 << 14, 1 << 18} {
		b.Run(fmt.Sprint(pages), func(b *testing.B) {
			var clock vtime.Clock
			cfg := Defaults()
			cfg.Memory = 64 * units.GiB
			h := NewHost(cfg, &clock, 1)
			f := h.Create("f", h.Attach("data", free{}), 10*units.GiB)
			ended := vtime.HandlerFunc(func(vtime.Instant, uint64) {})

			n := 0
			for b.Loop() {
				for i := range pages {
					f.Write(units.Size(2*i)*PageSize, PageSize)
				}
				f.Sync(ended, 0)
				clock.Run(clock.Now() + 1_000_000_000)
				n += int(pages)
			}

			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/page")
		})
	}
}

// Once buffers have grown, written pages, requests and syncs allocate nothing.
func TestNothingIsAllocated(t *testing.T) {
	var clock vtime.Clock
	h := NewHost(Defaults(), &clock, 1)
	d := h.Attach("data", slow(t, 128))
	f := h.Create("f", d, units.GiB)
	ended := vtime.HandlerFunc(func(vtime.Instant, uint64) {})
	values := make([]float64, len(h.Metrics()))
	i := 0
	work := func() {
		i++
		f.Write(units.Size(i%5000)*3*PageSize, 2*PageSize)
		d.Do(volume.Request{Op: volume.Read, Offset: 0, Length: 8192})
		f.Sync(ended, 0)
		f.WriteRange(0, units.GiB)
		clock.Run(clock.Now() + 1_000_000)
		h.Sample(values)
	}

	for range 10_000 {
		work()
	}

	if n := testing.AllocsPerRun(10_000, work); n != 0 {
		t.Errorf("%v allocations a turn", n)
	}
}

// The same run gives the same counters, second by second, to the last bit.
func TestSameRunSameBytes(t *testing.T) {
	run := func(seed random.Seed) uint64 {
		sum := fnv.New64a()
		var clock vtime.Clock
		cfg := Defaults()
		cfg.DirtyBackground = 4 * units.MB
		h := NewHost(cfg, &clock, seed)
		d := h.Attach("data", slow(t, 64))
		f, g := h.Create("f", d, units.GiB), h.Create("g", d, units.GiB)
		chance := seed.Stream("what")
		ended := vtime.HandlerFunc(func(now vtime.Instant, arg uint64) { fmt.Fprint(sum, now, arg, g.LastSync()) })

		values := make([]float64, len(h.Metrics()))
		for i := range uint64(3000) {
			f.Write(units.Size(chance.Below(1<<30)), units.Size(chance.Below(1<<16)))
			g.Append(units.Size(chance.Below(9000)))
			g.Sync(ended, i)
			h.CPU(clock.Now(), time.Duration(chance.Below(1e6)))
			clock.Run(clock.Now().Add(time.Duration(chance.Below(2e7))))
			h.Sample(values)
			fmt.Fprint(sum, values)
		}

		return sum.Sum64()
	}
	if a, b, c := run(1), run(1), run(2); a != b || a == c {
		t.Errorf("seed 1 gives %x and %x, seed 2 %x", a, b, c)
	}
}
