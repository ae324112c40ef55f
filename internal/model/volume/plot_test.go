package volume_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/volume"
)

// TestPlots submits loads and draws the results over time, so that a change of behaviour is visible. Each
// file begins with
//
//	volume [iops=3000] [throughput=125MiB/s] [burst=3000/s] [capacity=N] [initial=N] [operation=256KiB] [slots=N]
//	       [episodes] [latency=gp3] [stripe=4] [unit=64KiB]
//	instance iops=... [max-iops=...] [throughput=...] [max-throughput=...]
//
// (the instance, if there is one, first), and then
//
//	load size=256KiB for=60s bucket=1s [depth=32|every=1ms] [sequential] [plot=iops|throughput|latency|held]
//
// submits requests at a depth, or at a rate, and prints one line per bucket.
func TestPlots(t *testing.T) {
	datadriven.Walk(t, "testdata/plots", func(t *testing.T, path string) {
		s := &stage{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			arguments := map[string]string{}
			for _, a := range d.CmdArgs {
				arguments[a.Key] = strings.Join(a.Vals, ",")
			}

			a := args{t, arguments}
			switch d.Cmd {
			case "instance":
				s.on = instance(t, volume.InstanceConfig{
					Baseline: volume.Rate{IOPS: a.frequency("iops"), Throughput: a.throughput("throughput")},
					Maximum:  volume.Rate{IOPS: a.frequency("max-iops"), Throughput: a.throughput("max-throughput")},
				})
				return "ok\n"
			case "volume":
				s.make(a)
				return "ok\n"
			case "load":
				return s.load(a)
			}

			t.Fatalf("%s: no command %q", d.Pos, d.Cmd)
			return ""
		})
	})
}

// args are the arguments of a command.
type args struct {
	t   *testing.T
	all map[string]string
}

func parsed[T any](a args, key string, parse func(string) (T, error)) (v T) {
	a.t.Helper()
	if s, ok := a.all[key]; ok {
		var err error
		if v, err = parse(s); err != nil {
			a.t.Fatalf("%s: %v", key, err)
		}
	}
	return v
}

func (a args) has(key string) bool        { _, ok := a.all[key]; return ok }
func (a args) int(key string) int         { return parsed(a, key, strconv.Atoi) }
func (a args) size(key string) units.Size { return parsed(a, key, units.ParseSize) }
func (a args) time(key string) vtime.Instant {
	return vtime.Instant(parsed(a, key, units.ParseDuration))
}
func (a args) throughput(key string) units.Throughput {
	return parsed(a, key, units.ParseThroughput)
}

func (a args) frequency(key string) units.Frequency {
	return units.Frequency(parsed(a, key, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) }))
}

// A stage holds what a file has produced so far.
type stage struct {
	on     *volume.Instance
	volume volume.Volume
	now    vtime.Instant
	offset units.Size
}

func (s *stage) make(a args) {
	cfg := volume.Config{
		Name:      "v",
		Sustained: volume.Rate{IOPS: a.frequency("iops"), Throughput: a.throughput("throughput")},
		Operation: a.size("operation"),
		Slots:     a.int("slots"),
	}

	cfg.Merge = cfg.Operation > 0
	if a.has("capacity") {
		cfg.Burst = &volume.Burst{
			At:       volume.Rate{IOPS: a.frequency("burst"), Throughput: a.throughput("burst-throughput")},
			Capacity: volume.Credits(a.frequency("capacity")), Initial: volume.Credits(a.frequency("initial")),
			Bytes: a.has("bytes"),
		}
	}

	if a.has("latency") {
		cfg.Latency[volume.Write] = volume.GP3.Latency()
	}

	if a.has("episodes") {
		e := volume.PlanetScaleEpisodes
		e.Every = units.Duration(a.time("episodes"))
		cfg.Episodes = &e
	}

	s.now = 0
	if a.has("stripe") {
		stripe, err := volume.StripeOf(a.int("stripe"), a.size("unit"), cfg, 1, s.on)
		if err != nil {
			a.t.Fatal(err)
		}
		s.volume = stripe
		return
	}

	v, err := volume.New(cfg, 1, s.on)
	if err != nil {
		a.t.Fatal(err)
	}

	s.volume = v
}

// A bucket is what happened in a stretch of time.
type bucket struct {
	issued, bytes, requests float64
	slowest                 time.Duration
	state                   volume.State
	held                    [volume.Limits]int
}

// load submits requests and plots.
func (s *stage) load(a args) string {
	from, length, wide := s.now, a.time("for"), a.time("bucket")
	buckets := make([]bucket, length/wide)
	size, every := a.size("size"), a.time("every")

	inFlight := make([]vtime.Instant, max(a.int("depth"), 1))
	for i := range inFlight {
		inFlight[i] = from
	}

	seen := -1
	for n := 0; ; n++ {
		now := s.now
		if every == 0 {
			now = max(now, inFlight[n%len(inFlight)]) // they finish nearly in order: close enough
		}

		if now-from >= length {
			break
		}

		r := volume.Request{Op: volume.Write, Offset: s.offset, Length: size}
		s.offset += size
		if !a.has("sequential") {
			s.offset += units.GiB
		}

		c := s.volume.Submit(now, r)
		inFlight[n%len(inFlight)] = c.Done
		s.now = max(now, c.Admitted)

		if every > 0 {
			s.now = max(now+every, c.Admitted)
		}

		if i := int((c.Issued - from) / wide); i < len(buckets) {
			b := &buckets[i]
			b.issued += float64(c.Operations)
			b.bytes += float64(size)
			b.requests++
			b.held[c.Held]++
			b.slowest = max(b.slowest, c.Done.Sub(now))
		}

		if i := int((now - from) / wide); i > seen && i < len(buckets) {
			seen = i
			buckets[i].state = s.volume.State(now)
		}
	}

	s.now = from + length
	return plot(a.all["plot"], buckets, wide)
}

// plot draws one line per bucket: its start, a bar, the figure.
func plot(what string, buckets []bucket, wide vtime.Instant) string {
	value := func(b *bucket) float64 {
		switch what {
		case "throughput":
			return b.bytes / wide.Seconds() / (1 << 20)
		case "latency":
			return float64(b.slowest) / 1e6
		}
		return b.issued / wide.Seconds()
	}

	unit := map[string]string{"throughput": "MiB/s", "latency": "ms at most"}[what]
	if unit == "" {
		unit = "IOPS"
	}

	var top float64
	for i := range buckets {
		top = max(top, value(&buckets[i]))
	}

	var out strings.Builder
	for i := range buckets {
		b := &buckets[i]
		v := value(b)
		bar := strings.Repeat("#", int(v/max(top, 1e-9)*40+.5))
		fmt.Fprintf(&out, "%8.6g s |%-40s| %.5g %s", (vtime.Instant(i) * wide).Seconds(), bar, v, unit)

		if b.state.HasCredits {
			fmt.Fprintf(&out, ", credits %.1f %%", 100*float64(b.state.Credits))
		}

		if b.state.Degraded {
			out.WriteString(", degraded")
		}

		most := volume.Limit(0)
		for l := range b.held {
			if b.held[l] > b.held[most] {
				most = volume.Limit(l)
			}
		}

		if most != volume.Unlimited {
			fmt.Fprintf(&out, ", held by %v", most)
		}

		out.WriteString("\n")
	}

	return out.String()
}
