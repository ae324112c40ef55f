package prove

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/base/random"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
	"plimsoll/internal/testkit"
)

// comparison compares two synthetic recordings with few resamples.
func comparison(t *testing.T, a, b made, opt Options) (*Report, error) {
	t.Helper()
	if a.seed == 0 {
		a.seed, b.seed = 1, 2
	}
	opt.Confidence, opt.Resamples = confidenceDefault, few.Resamples
	return compare(context.Background(), a.side("before"), b.side("after"), opt)
}

// The same recordings and seed give the same bytes, regardless of the order of computation.
func TestSameSeedSameBytes(t *testing.T) {
	var first string
	for range 3 {
		r, err := comparison(t, made{cells: 620, every: 60}, made{cells: 620, every: 60}, Options{Seed: 3})
		if err != nil {
			t.Fatal(err)
		}

		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}

		if first == "" {
			first = string(b)
		} else if first != string(b) {
			t.Fatalf("another report:\n%s\n%s", first, b)
		}
	}
}

func TestRefusals(t *testing.T) {
	long := made{cells: 620, every: 60}
	for _, c := range []struct {
		name string
		a, b made
		want string
	}{
		{"too few cycles", made{cells: 300, every: 60}, long, "before is too short: its 5m contain 3 whole checkpoint cycles of 60.0 s, but 6 are needed"},
		{"no cycle", made{cells: 50, every: 60}, long, "before is too short: 50.0 s"},
		{"no checkpoints and short", made{cells: 40}, made{cells: 300}, "before is too short: 40 intervals of 1.00 s, but 60 are needed"},
		{"the same twice", made{seed: 5, cells: 620, every: 60}, made{seed: 5, cells: 620, every: 60}, "before and after are the same recording"},
		{"both too short", made{cells: 50, every: 60}, made{cells: 50, every: 60}, "before is too short"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := comparison(t, c.a, c.b, Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want %q", err, c.want)
			}
			if h, ok := err.(interface{ Hint() string }); !ok || h.Hint() == "" {
				t.Error("the error has no advice")
			}
			if !strings.Contains(c.want, "too short") {
				return
			}

			// A partial report has the values without a verdict.
			r, err := comparison(t, c.a, c.b, Options{Partial: true})
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict != CantTell || r.Short == nil || !strings.Contains(r.Sentence, "Not proved yet: "+c.want) || len(r.Figures) == 0 {
				t.Errorf("%s (%s), %d figures", r.Sentence, r.Verdict, len(r.Figures))
			}
			for _, f := range r.Figures {
				if f.P != nil || f.Before.Low != nil || f.Ratio.High != nil || f.Verdict != CantTell && f.Verdict != AsMeant {
					t.Errorf("%s has a verdict or an interval: %+v", f.Name, f)
				}
			}
		})
	}

	// Simulations all begin at the same time: equal times alone do not make them the same
	// recording.
	if _, err := comparison(t, made{seed: 5, cells: 620, every: 60}, made{seed: 6, cells: 620, every: 60}, Options{}); err != nil {
		t.Error(err)
	}

	if _, err := comparison(t, made{seed: 5, cells: 620, every: 60}, made{seed: 5, cells: 620, every: 60, slower: 1.01}, Options{}); err != nil {
		t.Error(err)
	}
}

// A different rate is a different workload: the report states it, and no requirement is met.
func TestAnotherWorkload(t *testing.T) {
	b, err := ParseBound(testkit.Pack(), "write_p99 < 10s")
	if err != nil {
		t.Fatal(err)
	}

	opt := Options{Require: []Bound{b}}
	r, err := comparison(t, made{cells: 620, every: 60}, made{cells: 620, every: 60, rate: 2000, from: time.Hour}, opt)
	if err != nil {
		t.Fatal(err)
	}

	if r.Workload.Comparable || !strings.Contains(strings.Join(r.Warnings, "\n"), "not comparable: rate: 1,499/s before, 3,008/s after (tolerance 10 %)") {
		t.Errorf("comparable %v, warnings %q", r.Workload.Comparable, r.Warnings)
	}

	if r.Requirements[0].Outcome != Incomparable {
		t.Errorf("the requirement is %s", r.Requirements[0].Outcome)
	}
}

// A side without checkpoints is cut into pieces as long as the other's cycles.
func TestOneSideWithoutCheckpoints(t *testing.T) {
	r, err := comparison(t, made{cells: 620, every: 60}, made{cells: 620}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Before.CyclesOfOwn || r.After.CyclesOfOwn || r.After.Units != 10 || r.After.UnitSeconds != 60 {
		t.Errorf("before %+v\nafter %+v", r.Before, r.After)
	}
	if f := figure(r, "write_p99"); f.Verdict != Better {
		t.Errorf("write p99 is %s: %+v", f.Verdict, f)
	}
	if len(r.OnlyBefore) != 1 || r.OnlyBefore[0] != "checkpoint" {
		t.Errorf("measured only before: %q", r.OnlyBefore)
	}
}

// For two recordings without a common figure, the error lists what each one has, and what to record.
func TestNothingInCommon(t *testing.T) {
	only := func(word string, seed random.Seed, has func(name string) bool) *side {
		s := made{seed: seed, cells: 300}.side(word)
		all := s.c.Tracks
		s.c.Tracks = func(of *rules.Signal) []timeline.Track {
			if has(strings.TrimPrefix(of.Name, rules.SignalPrefix)) {
				return all(of)
			}
			return nil
		}
		s.c.Stall = rules.Stall{}
		return s
	}

	device := func(name string) bool { return strings.HasPrefix(name, "disk_") }
	a, b := only("before", 1, device), only("after", 2, func(name string) bool { return !device(name) })
	_, err := compare(context.Background(), a, b, few)
	if err == nil || !strings.Contains(err.Error(), "reports iops, throughput, utilisation, await") || !strings.Contains(err.Error(), "reports write_p50, write_p99") {
		t.Fatal(err)
	}

	if h, ok := err.(interface{ Hint() string }); !ok || !strings.Contains(h.Hint(), "mongodb_exporter") {
		t.Error("it does not say what to record")
	}
}
