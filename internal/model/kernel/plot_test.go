package kernel

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// A second of a plotted run.
type second struct {
	worst   time.Duration // of the syncs that ended in it
	dirty   units.Size    // at its end
	written units.Size
}

// TestPlots plots the page cache's effect on a journal: 12 MB/s of pages, all over a file of 10 GB, and
// a journal's append and fdatasync 10 ms after the last one ended, on volumes of 48 MB/s and 3,000
// IOPS.
func TestPlots(t *testing.T) {
	datadriven.RunTest(t, "testdata/writeback", func(t *testing.T, d *datadriven.TestData) string {
		var background string
		var from, to, slots int
		d.ScanArgs(t, "from", &from)
		d.ScanArgs(t, "to", &to)
		d.MaybeScanArgs(t, "slots", &slots)
		cfg := Defaults()
		d.MaybeScanArgs(t, "depth", &cfg.WritebackDepth)
		cfg.Memory = 24 * units.GiB

		if d.MaybeScanArgs(t, "background", &background) {
			var err error
			if cfg.DirtyBackground, err = units.ParseSize(background); err != nil {
				t.Fatal(err)
			}
		}

		return draw(stall(t, cfg, slots, d.HasArg("apart"), to), from)
	})
}

// stall runs the case for a number of seconds.
func stall(t *testing.T, cfg Config, slots int, apart bool, seconds int) []second {
	t.Helper()
	var clock vtime.Clock
	h := NewHost(cfg, &clock, 1)
	d := h.Attach("data", slow(t, slots))
	at := d

	if apart {
		at = h.Attach("journal", slow(t, slots))
	}

	file, journal := h.Create("data", d, 10*units.GiB), h.Create("journal", at, 4*units.MiB)
	journal.SetPrewritten(true)
	out := make([]second, seconds)
	chance := random.Seed(1).Stream("pages")
	var dirty, commit, look, ended vtime.HandlerFunc
	dirty = func(vtime.Instant, uint64) {
		for range 4 {
			file.Write(units.Size(chance.Below(10<<30>>15))<<15, 32*units.KiB)
		}
		clock.After(10923*time.Microsecond, dirty, 0)
	}

	commit = func(_ vtime.Instant, n uint64) {
		journal.Write(units.Size(n%1000)*PageSize, 2*units.KiB)
		journal.Sync(ended, n+1)
	}

	ended = func(now vtime.Instant, n uint64) {
		if i := int(now / 1e9); i < seconds {
			s := journal.LastSync()
			out[i].worst = max(out[i].worst, s.Done.Sub(s.Submitted))
		}
		clock.After(10*time.Millisecond, commit, n)
	}

	values := make([]float64, len(h.Metrics()))
	var before units.Size
	look = func(_ vtime.Instant, i uint64) {
		h.Sample(values)
		var written units.Size
		for k, m := range h.Metrics() {
			if m.Name == "node_disk_written_bytes_total" && m.Labels[1] == "data" {
				written = units.Size(values[k])
			}
		}

		out[i].dirty, out[i].written = h.DirtyBytes(), written-before
		before = written
		if int(i)+1 < seconds {
			clock.After(time.Second, look, i+1)
		}
	}

	clock.After(time.Second, look, 0)
	dirty(0, 0)
	commit(0, 0)
	clock.Run(vtime.At(time.Duration(seconds) * time.Second))

	return out
}

// draw prints one line per second, with the longest sync as a bar on a scale of three characters per
// doubling from 0.5 ms.
func draw(run []second, from int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  s  longest fdatasync                                   dirty MB  written MB/s\n")
	for i, s := range run {
		if i < from {
			continue
		}
		bar, text := 0, "-"
		if s.worst > 0 {
			bar = max(0, int(math.Round(3*math.Log2(float64(s.worst)/5e5))))
			text = units.Duration(s.worst).String()
		}
		fmt.Fprintf(&b, "%3d  %8s %-42s %8.0f  %8.0f\n", i+1, text, strings.Repeat("#", bar), float64(s.dirty)/1e6, float64(s.written)/1e6)
	}
	return b.String()
}
