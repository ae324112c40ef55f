//go:build linux

package server

import (
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"plimsoll/internal/lab"
)

// Checkpoints are detected by their number and length, under the names of either version.
func TestCycles(t *testing.T) {
	start := time.Date(2026, 7, 1, 3, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	old := func(n, ms, running int) bson.D {
		return bson.D{{Key: "transaction", Value: bson.D{{Key: "transaction checkpoints", Value: n},
			{Key: "transaction checkpoint most recent time (msecs)", Value: ms}, {Key: "transaction checkpoint currently running", Value: running}}}}
	}

	recent := func(n, ms, running int) bson.D {
		return bson.D{{Key: "checkpoint", Value: bson.D{{Key: "total succeed number of checkpoints", Value: n},
			{Key: "most recent time (msecs)", Value: ms}, {Key: "progress state", Value: running}}}}
	}

	for name, version := range map[string]func(n, ms, running int) bson.D{"3.6": old, "8.2": recent} {
		t.Run(name, func(t *testing.T) {
			var c cycles
			look := func(ms, n, lasted, running int) {
				d, err := bson.Marshal(bson.D{{Key: "wiredTiger", Value: version(n, lasted, running)}})
				if err != nil {
					t.Fatal(err)
				}
				c.observe(at(ms), d)
			}

			look(0, 7, 999, 0) // checkpoints before the first response do not count
			look(500, 7, 999, 0)
			look(1000, 8, 120, 0) // began and ended between two polls
			look(1500, 8, 120, 1)
			look(2000, 8, 120, 1)
			look(3000, 9, 1400, 0) // its beginning was observed
			look(3500, 9, 1400, 1)

			want := []lab.Cycle{{From: at(880), To: at(1000)}, {From: at(1500), To: at(2900)}, {From: at(3500)}}
			if !slices.EqualFunc(c.all, want, func(a, b lab.Cycle) bool { return a.From.Equal(b.From) && a.To.Equal(b.To) }) {
				t.Errorf("%v, not %v", c.all, want)
			}
		})
	}
}

// mongod 5.0.7 counts a checkpoint when it begins; the figures are those of a capture.
func TestCyclesCountedAsTheyBegin(t *testing.T) {
	start := time.Date(2026, 11, 22, 13, 14, 0, 0, time.UTC)
	at := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }

	var c cycles
	for _, x := range []struct {
		s                  float64
		n, lasted, running int
	}{
		{1, 6, 46800, 1}, {8, 6, 46800, 1}, {12, 6, 11100, 0}, {72, 7, 11100, 1}, {90, 7, 11100, 1},
		{103.5, 7, 31100, 0}, {110, 7, 31100, 0},
	} {
		d, err := bson.Marshal(bson.D{{Key: "wiredTiger", Value: bson.D{{Key: "transaction", Value: bson.D{
			{Key: "transaction checkpoints", Value: x.n}, {Key: "transaction checkpoint most recent time (msecs)", Value: x.lasted},
			{Key: "transaction checkpoint currently running", Value: x.running},
		}}}}})
		if err != nil {
			t.Fatal(err)
		}
		c.observe(at(x.s), d)
	}

	want := []lab.Cycle{{From: at(1), To: at(12)}, {From: at(72), To: at(103.1)}}
	if !slices.EqualFunc(c.all, want, func(a, b lab.Cycle) bool { return a.From.Equal(b.From) && a.To.Equal(b.To) }) {
		t.Errorf("%v, not %v", c.all, want)
	}
}

// Responses of real mongods are parsed correctly.
func TestCyclesOfRealServers(t *testing.T) {
	for file, want := range map[string]float64{"v3.6.3/metrics.interim.0c2fdde": 74, "v8.2.1/metrics.interim": 20} {
		answers := captures(t, file)
		if n, ok := first(answers[0], countOf); !ok || n != want {
			t.Errorf("%s: %v checkpoints, %v", file, n, ok)
		}
		if _, ok := first(answers[0], lastedOf); !ok {
			t.Errorf("%s: no duration of the last checkpoint", file)
		}
		if running, ok := first(answers[0], runningOf); !ok || running != 0 {
			t.Errorf("%s: running is %v, %v", file, running, ok)
		}
	}
}
