package model

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/kernel"
	"plimsoll/internal/model/volume"
)

// An impaired is a volume that answers late for a while.
type impaired struct {
	volume.Volume
	from, to vtime.Instant
	by       time.Duration
}

func (v impaired) Submit(now vtime.Instant, r volume.Request) volume.Completion {
	c := v.Volume.Submit(now, r)
	if r.Op == volume.Write && now >= v.from && now < v.to {
		c.Done = c.Done.Add(v.by)
	}
	return c
}

// TestPlot plots what clients and members see while some members' volumes answer 30 ms late, from the
// fourth second to the eighth.
func TestPlot(t *testing.T) {
	datadriven.RunTest(t, "testdata/slow-member", func(t *testing.T, d *datadriven.TestData) string {
		var clients int
		var slow []int
		d.ScanArgs(t, "clients", &clients)

		if d.HasArg("slow") {
			for _, arg := range d.CmdArgs {
				if arg.Key != "slow" {
					continue
				}
				for i := range arg.Vals {
					var k int
					arg.Scan(t, i, &k)
					slow = append(slow, k)
				}
			}
		}

		cfg := Defaults()
		cfg.Members = 5
		b := &harness{t: t, clock: new(vtime.Clock), payload: 256, chance: harnessConfig{seed: 1}.seed.Stream("test"), closed: true}

		var members []Member
		for k := 1; k <= cfg.Members; k++ {
			vc := gp3(t, 3000)
			vc.Name = fmt.Sprint("m", k)
			vc.Latency[volume.Write] = always(t, 600*time.Microsecond) // a plot of waiting, without randomness
			v := impaired{Volume: volume.MustNew(vc, 1, nil), from: 4e9, to: 8e9}
			if slices.Contains(slow, k) {
				v.by = 30 * time.Millisecond
			}
			host := kernel.NewHost(kernel.Defaults(), b.clock, 1)
			dev := host.Attach(vc.Name, v)
			members = append(members, Member{Host: host, WAL: dev, Data: dev})
		}

		c, err := New(cfg, b.env(), members)
		if err != nil {
			t.Fatal(err)
		}

		b.cluster = c
		for range clients {
			b.put()
		}

		return b.plot(11)
	})
}

// plot runs for some seconds and returns a line for each from the second one on.
func (b *harness) plot(seconds int) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%2s %7s  %-26s %s\n", "s", "put/s", "1 ms    10 ms   100 ms p99", "mean fdatasync of m1 ... m5, ms")

	last := make([]histogram, len(b.cluster.members))
	for s := range seconds {
		b.latency = b.latency[:0]
		b.clock.Run(vtime.At(time.Duration(s+1) * time.Second))
		p99 := b.quantile(0.99)

		decades := 0
		for x := 1e6; x < float64(p99) && decades < 26; x *= 1.3335 { // eight per decade
			decades++
		}

		var syncs []string
		for k := range b.cluster.members {
			h := &b.cluster.members[k].wal.fsync
			n, sum := int64(0), h.sum-last[k].sum
			for i := range h.counts {
				n += h.counts[i] - last[k].counts[i]
			}
			last[k] = *h
			syncs = append(syncs, fmt.Sprintf("%5.1f", (sum/time.Duration(max(n, 1))).Seconds()*1000))
		}

		if s > 0 {
			// Two significant figures: a plot, not a measurement.
			unit := math.Pow(10, math.Floor(math.Log10(float64(max(len(b.latency), 10))))-1)
			puts := math.Round(float64(len(b.latency))/unit) * unit
			fmt.Fprintf(&out, "%2d %7.0f  %-26s %s\n", s, puts, strings.Repeat("#", decades), strings.Join(syncs, "  "))
		}
	}

	return out.String()
}
