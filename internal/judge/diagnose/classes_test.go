package diagnose_test

import (
	"context"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"pgregory.net/rapid"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// fsyncEdges are the bounds of the classes of etcd's histograms, in seconds, a factor of two apart.
var fsyncEdges = []float64{0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192}

// A member is an etcd member with the given fdatasync latencies in each second.
type member struct {
	name    string
	seconds [][]float64
}

// noon is when the members' recordings begin.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// recorded returns what scraping members once a second gives.
func recorded(t testing.TB, members ...member) recording.Reader {
	t.Helper()
	mem := recording.NewMemory(recording.MemoryOptions{})

	b := &recording.Batch{}
	for _, m := range members {
		const name = "etcd_disk_wal_fsync_duration_seconds"
		column := func(name, le string) int {
			ls := []string{"__name__", name}
			if le != "" {
				ls = append(ls, "le", le)
			}
			if m.name != "" {
				ls = append(ls, "instance", m.name)
			}
			b.Columns = append(b.Columns, recording.Column{Labels: labels.FromStrings(ls...), Values: []float64{0}})
			return len(b.Columns) - 1
		}

		sum, count := column(name+"_sum", ""), column(name+"_count", "")
		first := len(b.Columns)

		for _, e := range append(slices.Clone(fsyncEdges), math.Inf(1)) {
			column(name+"_bucket", strconv.FormatFloat(e, 'g', -1, 64))
		}

		for _, durations := range m.seconds {
			for i := sum; i < len(b.Columns); i++ {
				b.Columns[i].Values = append(b.Columns[i].Values, b.Columns[i].Values[len(b.Columns[i].Values)-1])
			}

			last := len(b.Columns[sum].Values) - 1
			for _, d := range durations {
				b.Columns[sum].Values[last] += d
				b.Columns[count].Values[last]++
				for i := range fsyncEdges {
					if d <= fsyncEdges[i] {
						b.Columns[first+i].Values[last]++
					}
				}
				b.Columns[first+len(fsyncEdges)].Values[last]++
			}
		}
	}

	for s := range b.Columns[0].Values {
		b.TimesMs = append(b.TimesMs, noon.Add(time.Duration(s)*time.Second).UnixMilli())
	}

	if err := mem.Append(context.Background(), b); err != nil {
		t.Fatal(err)
	}

	return mem
}

func detailed(t testing.TB, in recording.Reader) *diagnose.Report {
	t.Helper()
	r, err := diagnose.Run(context.Background(), []recording.Reader{in}, diagnose.Options{Pack: testkit.Pack(), Slots: diagnose.SlotsMax})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// percentilesOf returns the only plot of percentiles.
func percentilesOf(t testing.TB, r *diagnose.Report) *diagnose.Plot {
	t.Helper()
	for i := range r.Detail.Plots {
		if p := &r.Detail.Plots[i]; p.Percentiles {
			return p
		}
	}
	return nil
}

// A percentile over time is in the class of the true percentile of its stretch's durations. It is based
// on the reported durations, and is missing if they are too few.
func TestPercentilesOverTime(t *testing.T) {
	least := map[string]float64{"p50": 10, "p99": 100, "p99.9": 1000}
	share := map[string]float64{"p50": 0.5, "p99": 0.99, "p99.9": 0.999}
	rapid.Check(t, func(rt *rapid.T) {
		rate := rapid.SampledFrom([]int{3, 40, 130, 1100}).Draw(rt, "a second")
		var m member
		for range 61 {
			n := rapid.IntRange(0, rate).Draw(rt, "n")
			second := make([]float64, n)
			slow := rapid.Float64Range(0.0005, 0.3).Draw(rt, "slow")
			for i := range second {
				if second[i] = 0.0015; i%7 == 3 {
					second[i] = slow
				}
			}
			m.seconds = append(m.seconds, second)
		}

		m.seconds[60] = make([]float64, 3) // something is always reported
		p := percentilesOf(t, detailed(t, recorded(t, m)))
		if p == nil {
			if rate > 3 {
				rt.Fatal("no percentiles are drawn")
			}
			return
		}

		for _, track := range p.Tracks {
			per, before := int(track.StepS), int(noon.Sub(track.From).Seconds())
			for i, v := range track.Values {
				from, to := max(i*per-before, 0), min((i+1)*per-before, len(m.seconds))
				durations := slices.Concat(m.seconds[from:max(from, to)]...)
				slices.Sort(durations)

				n := float64(len(durations))
				if (v != nil) != (n >= least[track.Name]) {
					rt.Fatalf("%s of %v durations: %v", track.Name, n, v)
				}

				if v == nil {
					continue
				}

				if on := p.Operations.Values[i]; math.Abs(*on-n) > 1e-6 {
					rt.Fatalf("%s is based on %v operations, and the report says %v", track.Name, n, *on)
				}

				exact := durations[int(math.Ceil(share[track.Name]*n-1e-9))-1]
				class, _ := slices.BinarySearch(fsyncEdges, exact)
				lower := fsyncEdges[max(class-1, 0)]
				if *v < lower-1e-12 || *v > fsyncEdges[class]+1e-12 {
					rt.Fatalf("%s of %d durations is %v, reported as %v", track.Name, len(durations), exact, *v)
				}
			}
		}
	})
}

// A server with few operations has percentiles over longer stretches, instead of none.
func TestPercentilesOfFew(t *testing.T) {
	var m member
	for range 600 {
		m.seconds = append(m.seconds, slices.Repeat([]float64{0.003}, 25))
	}
	p := percentilesOf(t, detailed(t, recorded(t, m)))
	if len(p.Tracks) != 2 || p.Tracks[1].Name != "p99" || p.Tracks[1].StepS != 5 {
		t.Fatalf("of 25 a second: %d series, steps of %v s", len(p.Tracks), p.Tracks[0].StepS)
	}
}

// stallingMember is a member with 200 fdatasyncs per second that take 1.5 ms, and 90 ms in seconds 100
// to 109.
func stallingMember(name string) member {
	m := member{name: name}
	for s := range 300 {
		second := slices.Repeat([]float64{0.0015}, 200)
		if s >= 100 && s < 110 {
			second = slices.Repeat([]float64{0.09}, 40)
		}
		m.seconds = append(m.seconds, second)
	}
	return m
}

// Operations in stalled time are distinguished from the others, and the classes of a histogram take
// precedence over the means computed from it.
func TestStalledApart(t *testing.T) {
	r := detailed(t, recorded(t, stallingMember("")))
	if len(r.Detail.Latencies) != 1 {
		t.Fatalf("%d distributions", len(r.Detail.Latencies))
	}

	x := r.Detail.Latencies[0]
	if x.Signal == "" || !slices.Equal(x.BoundsS, fsyncEdges) {
		t.Errorf("read from %q in classes %v", x.Signal, x.BoundsS)
	}

	class, _ := slices.BinarySearch(fsyncEdges, 0.09)
	if got := x.Stalled[class]; math.Abs(got-400) > 1e-6 || r.Stalls.Seconds != 10 {
		t.Errorf("in %v stalled seconds %v of 90 ms: %v", r.Stalls.Seconds, got, x.Stalled)
	}

	all := 0.0
	for _, column := range x.Operations {
		for _, n := range column {
			all += n
		}
	}

	if math.Abs(all-(290*200+400)) > 1e-6 {
		t.Errorf("%v operations", all)
	}

	i := slices.IndexFunc(r.Timeline, func(x diagnose.Track) bool { return x.Name == "p99 of etcd WAL fdatasync" })
	if i < 0 {
		t.Fatalf("no p99 in the text's series: %v", r.Timeline)
	}
}

// For a cluster, each member's p99 is drawn, and the distribution is the slowest member's.
func TestMembersBesideEachOther(t *testing.T) {
	quick := member{name: "m1"}
	for range 300 {
		quick.seconds = append(quick.seconds, slices.Repeat([]float64{0.0015}, 200))
	}

	r := detailed(t, recorded(t, quick, stallingMember("m2")))
	p := percentilesOf(t, r)
	if len(p.Tracks) != 2 || p.Tracks[0].Name != "m1" || p.Tracks[1].Name != "m2" {
		t.Fatalf("series %v", p.Tracks)
	}

	// In the stall, only 40 operations per second end, too few for a p99. There too, slots are long
	// enough to have enough of them.
	stall := int(noon.Add(105*time.Second).Sub(p.Tracks[1].From).Seconds() / p.Tracks[1].StepS)
	if step, n, p99 := p.Tracks[1].StepS, *p.Operations.Values[stall], p.Tracks[1].Values[stall]; step != 5 || n < 200-1e-6 || p99 == nil || *p99 < 0.064 || *p99 > 0.128 {
		t.Errorf("of %v s and %v operations the p99 of 90 ms is %v", step, n, p99)
	}

	if got := r.Detail.Latencies[0].Subject; got != "etcd WAL fdatasync on m2" {
		t.Errorf("the distribution is of %s", got)
	}
}
