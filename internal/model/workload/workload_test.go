package workload

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// resolved prepares a specification that must be valid.
func resolved(t testing.TB, s Spec) *Workload {
	t.Helper()
	w, problems := s.Resolve(nil)
	if len(problems) > 0 {
		t.Fatalf("%+v\n%v", s, problems)
	}
	return w
}

// run takes the operations of an open loop until an instant.
func run(w *Workload, seed random.Seed, until vtime.Instant, each func(*Op)) {
	var op Op
	for src := w.Open(seed); src.Next(&op) && op.At < until; {
		each(&op)
	}
}

func TestPresets(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Presets() {
		if seen[p.Name] || p.About == "" || p.Source == "" {
			t.Errorf("%s: twice, or without a word about it", p.Name)
		}

		seen[p.Name] = true
		w := resolved(t, Spec{Preset: p.Name})
		if (w.Open(1) == nil) == (w.Closed(1) == nil) {
			t.Errorf("%s: neither an open nor a closed loop, or both", p.Name)
		}

		if w.DocumentSize() <= 0 || w.Connections() <= 0 {
			t.Errorf("%s: documents of %v, %d connections", p.Name, w.DocumentSize(), w.Connections())
		}

		var op Op
		if c := w.Closed(1); c != nil {
			for client := range c.Clients() {
				c.Begin(client, 0, &op)
				checkOp(t, w, &op)
			}
			continue
		}

		n := 0
		run(w, 1, vtime.At(time.Second), func(op *Op) { n++; checkOp(t, w, op) })

		// A second of a Poisson process: within five standard deviations of its rate.
		if rate := float64(w.Rate()); math.Abs(float64(n)-rate) > 5*math.Sqrt(rate)+1 {
			t.Errorf("%s: %d operations in a second, want about %.0f", p.Name, n, rate)
		}
	}
}

// checkOp checks what holds for all operations.
func checkOp(t interface{ Errorf(string, ...any) }, w *Workload, op *Op) {
	if op.Size <= 0 || op.Document <= 0 || int(op.Class) >= len(w.Classes()) || op.Kind >= Kinds {
		t.Errorf("a bad operation: %+v", *op)
	}
	if op.Kind == Insert && (op.Key < uint64(w.Documents()) || op.Size != op.Document) {
		t.Errorf("an insert of a document that was there, or of a part of one: %+v", *op)
	}
	if op.Kind == Update && op.Size > op.Document {
		t.Errorf("an update that carries more than the document: %+v", *op)
	}
}

// A preset matches its source.
func TestPresetFigures(t *testing.T) {
	for _, tt := range []struct {
		preset, want string
	}{
		{"telemetry", "6M documents of 3.00 kB, 2,000/s, [insert], 100 connections, 0 s"},
		{"telemetry-buckets", "0 documents of 2.40 kB, 2,000/s, [push], 100 connections, 0 s"},
		{"wiredtiger-lab", "150k documents of 4.10 kB, 800/s, [update], 64 connections, 0 s"},
		{"pgbench", "10M documents of 97.0 B, 600/s, [update], 64 connections, 0 s"},
		{"etcd-check-perf-s", "0 documents of 1.28 kB, 150/s, [insert], 50 connections, 60.0 s"},
		{"etcd-check-perf-xl", "0 documents of 1.28 kB, 15,000/s, [insert], 1000 connections, 60.0 s"},
		{"ranread", "13107200 documents of 8.19 kB, 0/s, [read], 50 connections, 10m"},
		{"ycsb-e", "10M documents of 1.00 kB, 1,000/s, [insert scan], 100 connections, 0 s"},
	} {
		w := resolved(t, Spec{Preset: tt.preset})
		got := fmt.Sprintf("%s documents of %s, %s, %v, %d connections, %s",
			w.Documents(), w.DocumentSize(), w.Rate(), w.Classes(), w.Connections(), w.Duration())
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.preset, got, tt.want)
		}
	}
}

// Changing these numbers changes every published result.
func TestOperationsAreForever(t *testing.T) {
	h := fnv.New64a()
	for _, p := range Presets() {
		w := resolved(t, Spec{Preset: p.Name})
		if w.IsClosed() {
			drive(w.Closed(1), func(int, vtime.Instant) time.Duration { return 700 * time.Microsecond }, 5000, func(_ int, op *Op) {
				fmt.Fprintln(h, *op)
			})
			continue
		}
		run(w, 1, vtime.At(5*time.Second), func(op *Op) { fmt.Fprintln(h, *op) })
	}

	for _, s := range varied() {
		run(resolved(t, s), 1, vtime.At(5*time.Second), func(op *Op) { fmt.Fprintln(h, *op) })
	}

	if got, want := fmt.Sprintf("%x", h.Sum64()), "9d6d8e83cbe6c835"; got != want {
		t.Errorf("the operations of seed 1 are others than ever before: %s, want %s", got, want)
	}
}

// varied are specifications that use features that no preset uses.
func varied() []Spec {
	mix := &Mix{Read: 0.3, Insert: 0.2, Update: 0.5}
	return []Spec{
		{
			Arrivals: &Arrivals{Daily: &Daily{Low: 10, High: 3000, Period: minute}}, Mix: mix,
			Keys:     &Keys{Distribution: "hotset", Count: 100_000},
			Document: &Document{Quantiles: []SizeQuantile{{0, 100}, {0.5, 1000}, {0.99, 20_000}, {1, 200_000}}, Growth: 50},
		},
		{
			Arrivals: &Arrivals{Ramp: &Ramp{To: 2000, Over: 4 * second}, Spacing: "constant"}, Mix: mix,
			Keys: &Keys{Distribution: "latest", Count: 1000}, Document: &Document{Uniform: &SizeRange{10, 99}},
		},
		{
			Arrivals: &Arrivals{Steps: []Step{{Rate: rate(0), For: second}, {Rate: rate(333), For: second}, {Rate: rate(777), For: second}}},
			Mix:      mix, Keys: &Keys{Distribution: "sequential", Count: 77}, Document: &Document{Size: 5},
		},
		{
			Arrivals: &Arrivals{Constant: rate(1234.5)}, Mix: &Mix{Push: 0.9, Read: 0.1}, Keys: &Keys{Distribution: "latest"},
			Buckets: &Buckets{Span: second, Sensors: 100, Interval: second / 10, Base: 60, FilledFor: second / 2},
		},
	}
}

// Two workloads that differ in one part agree in the others: the same arrivals and the same keys
// whatever the documents, and the same documents whatever the arrivals.
func TestPartsAreIndependent(t *testing.T) {
	base := Spec{Arrivals: &Arrivals{Poisson: rate(1000)}, Mix: &Mix{Read: 0.5, Update: 0.5}, Keys: &Keys{Count: 1000, Distribution: "zipf"}, Document: &Document{Size: 100}}
	larger, faster := base, base
	larger.Document = &Document{Uniform: &SizeRange{1, 1000}}
	faster.Arrivals = &Arrivals{Poisson: rate(5000)}

	a, b, c := resolved(t, base).Open(9), resolved(t, larger).Open(9), resolved(t, faster).Open(9)
	for range 1000 {
		var x, y, z Op
		a.Next(&x)
		b.Next(&y)
		c.Next(&z)
		if x.At != y.At || x.Key != y.Key || x.Kind != y.Kind {
			t.Fatalf("larger documents changed more than sizes: %+v, %+v", x, y)
		}
		if z.Key != x.Key || z.Kind != x.Kind || z.Size != x.Size {
			t.Fatalf("another rate changed more than instants: %+v, %+v", x, z)
		}
	}
}

func rate(f units.Frequency) *units.Frequency { return &f }

// drawMix draws shares of some kinds in hundredths.
func drawMix(t *rapid.T) *Mix {
	a := rapid.IntRange(0, 100).Draw(t, "read")
	b := rapid.IntRange(0, 100-a).Draw(t, "insert")
	c := rapid.IntRange(0, 100-a-b).Draw(t, "update")
	hundredth := func(n int) units.Ratio { return units.Ratio(n) / 100 }
	return &Mix{Read: hundredth(a), Insert: hundredth(b), Update: hundredth(c), Scan: hundredth(100 - a - b - c)}
}

func TestShares(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := resolved(t, Spec{
			Arrivals: &Arrivals{Constant: rate(1000)}, Mix: drawMix(rt), Keys: &Keys{Count: 500}, Document: &Document{Size: 100},
		})
		got := map[Kind]float64{}
		const n = 10_000
		run(w, random.Seed(rapid.Uint64().Draw(rt, "seed")), vtime.At(n*time.Millisecond), func(op *Op) {
			checkOp(rt, w, op)
			if w.Classes()[op.Class] != op.Kind.String() {
				rt.Fatalf("class %d of %v is a %s", op.Class, w.Classes(), op.Kind)
			}
			got[op.Kind]++
		})

		// Six standard deviations of a binomial distribution: once in a billion shares.
		for k, share := range w.Spec().Mix.shares() {
			p := float64(share)
			if d := math.Abs(got[Kind(k)] - n*p); d > 6*math.Sqrt(n*p*(1-p))+1e-9 {
				rt.Errorf("%s: %.0f of %d, want %.0f", Kind(k), got[Kind(k)], n, n*p)
			}
		}
	})
}

func TestKeyDistributions(t *testing.T) {
	const count, n = 10_000, 200_000
	share := func(k *Keys, mix *Mix, in func(i int, key uint64) bool) float64 {
		k.Count = count
		hits, i := 0, 0
		run(resolved(t, Spec{Arrivals: &Arrivals{Constant: rate(n)}, Mix: mix, Keys: k, Document: &Document{Size: 1}}), 4, vtime.At(time.Second), func(op *Op) {
			if in(i, op.Key) {
				hits++
			}
			i++
		})
		return float64(hits) / n
	}

	reads := &Mix{Read: 1}
	near := func(name string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 6*math.Sqrt(want*(1-want)/n)+1e-9 {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}

	near("uniform: a tenth of the keys", share(&Keys{}, reads, func(_ int, k uint64) bool { return k < count/10 }), 0.1)
	near("sequential: its turn", share(&Keys{Distribution: "sequential"}, reads, func(i int, k uint64) bool { return k == uint64(i%count) }), 1)

	// Zipf's most frequent key gets 1 / (sum of k^-0.99) of the draws.
	var sum float64
	for k := 1; k <= count; k++ {
		sum += math.Pow(float64(k), -0.99)
	}

	near("latest: the newest key", share(&Keys{Distribution: "latest"}, reads, func(_ int, k uint64) bool { return k == count-1 }), 1/sum)
	counts := make([]int, count)
	share(&Keys{Distribution: "zipf"}, reads, func(_ int, k uint64) bool { counts[k]++; return true })
	top := slices.Index(counts, slices.Max(counts))
	near("zipf: the most popular key", float64(counts[top])/n, 1/sum)

	if top == 0 {
		t.Error("zipf: the most popular key is the first: not scrambled")
	}

	// The hot fifth is found by counting: no cold key comes close to a hot one.
	clear(counts)
	share(&Keys{Distribution: "hotset"}, reads, func(_ int, k uint64) bool { counts[k]++; return true })
	slices.Sort(counts)

	hot := 0
	for _, c := range counts[count*8/10:] {
		hot += c
	}

	near("hotset: the hottest fifth", float64(hot)/n, 0.8)

	// With inserts, the newest key changes.
	newest := uint64(count)
	share(&Keys{Distribution: "latest"}, &Mix{Insert: 0.5, Read: 0.5}, func(_ int, k uint64) bool {
		if k == newest {
			newest++
		} else if k > newest {
			t.Fatalf("key %d is read before it is inserted: %d is the next", k, newest)
		}
		return true
	})
}

func TestDocumentSizes(t *testing.T) {
	d := newDocuments(&Document{Quantiles: []SizeQuantile{{0, 100}, {0.5, 1000}, {1, 4000}}}, 0, 3)
	const n = 100_000
	var sizes []units.Size

	var sum units.Size
	for k := range uint64(n) {
		s := d.now(k)
		if s != d.now(k) {
			t.Fatal("a document has two sizes")
		}
		sizes = append(sizes, s)
		sum += s
	}

	slices.Sort(sizes)
	for _, tt := range []struct {
		share float64
		want  float64
	}{{0, 100}, {0.25, math.Sqrt(100 * 1000)}, {0.5, 1000}, {0.75, 2000}, {1, 4000}} {
		got := float64(sizes[int(tt.share*(n-1))])
		if math.Abs(got/tt.want-1) > 0.03 {
			t.Errorf("quantile %v: %v, want %v", tt.share, got, tt.want)
		}
	}

	if got := float64(sum) / n; math.Abs(got/float64(d.mean())-1) > 0.01 {
		t.Errorf("mean %v, said to be %v", got, d.mean())
	}
}

// The documents are created with the sizes that the operations then find.
func TestSizes(t *testing.T) {
	const seed = 5
	w := resolved(t, Spec{
		Arrivals: &Arrivals{Constant: rate(1000)}, Mix: &Mix{Read: 1}, Keys: &Keys{Count: 50},
		Document: &Document{Uniform: &SizeRange{From: 100, To: 9000}},
	})

	sizes, seen := w.Sizes(seed), map[units.Size]bool{}
	run(w, seed, vtime.At(time.Second), func(op *Op) {
		if op.Document != sizes(op.Key) {
			t.Fatalf("document %d is read with %d bytes, made with %d", op.Key, op.Document, sizes(op.Key))
		}
		seen[op.Document] = true
	})

	if len(seen) < 25 {
		t.Errorf("%d sizes", len(seen))
	}

	b := Buckets{Sensors: 20, Interval: second, Span: minute, Entry: 40, Base: 60, FilledFor: 10 * second}
	w = resolved(t, Spec{Mix: &Mix{Push: 1}, Buckets: &b, Keys: &Keys{Count: 100}})
	sizes = w.Sizes(seed)
	if sizes(79) != 60+60*40 || sizes(80) != 60+10*40 {
		t.Errorf("a full bucket of %d, a new one of %d", sizes(79), sizes(80))
	}

	run(w, seed, vtime.At(time.Second), func(op *Op) {
		if op.Kind != Push || op.Document != sizes(op.Key)+40 {
			t.Fatalf("%+v after %d", *op, sizes(op.Key))
		}
	})
}

// An update grows its document by the given amount, up to the maximum, and later operations read it at
// that size.
func TestGrowth(t *testing.T) {
	w := resolved(t, Spec{
		Arrivals: &Arrivals{Constant: rate(1000)}, Mix: &Mix{Read: 0.5, Update: 0.5}, Keys: &Keys{Count: 20},
		Document: &Document{Size: 100, Growth: 7, Largest: 200, Change: 30},
	})

	updates := map[uint64]units.Size{}
	largest := units.Size(0)
	run(w, 1, vtime.At(2*time.Second), func(op *Op) {
		want := units.Size(30)
		if op.Kind == Update {
			updates[op.Key]++
		} else {
			want = op.Document
		}
		if now := min(200, 100+7*updates[op.Key]); op.Document != now || op.Size != want {
			t.Fatalf("%+v after %d updates, want a document of %d", *op, updates[op.Key], now)
		}
		largest = max(largest, op.Document)
	})

	if largest != 200 {
		t.Errorf("largest %v: nothing grew up", largest)
	}
}

func TestCount(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Count
	}{{"150000", 150_000}, {"150k", 150_000}, {"10M", 10_000_000}, {"1.5G", 1_500_000_000}, {"1_000", 1000}, {"0", 0}} {
		got, err := ParseCount(tt.text)
		if err != nil || got != tt.want {
			t.Errorf("%s: %v, %v", tt.text, got, err)
		}
		if again, err := ParseCount(got.String()); err != nil || again != got {
			t.Errorf("%v is printed as %s and read as %v, %v", tt.want, got, again, err)
		}
	}
	for _, bad := range []string{"", "k", "many", "-1", "1.5", "10m", "1e300", "NaN", "10MB", "1.0001k"} {
		if got, err := ParseCount(bad); err == nil {
			t.Errorf("%q is read as %v", bad, got)
		} else if !strings.Contains(err.Error(), bad) {
			t.Errorf("%q: the error does not show it: %v", bad, err)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for _, name := range []string{"telemetry", "telemetry-buckets", "wiredtiger-lab", "ycsb-a"} {
		b.Run(name, func(b *testing.B) {
			src := resolved(b, Spec{Preset: name}).Open(1)
			b.ReportAllocs()
			var op Op
			for b.Loop() {
				src.Next(&op)
			}
		})
	}
}
