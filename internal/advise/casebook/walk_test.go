package casebook

import (
	"context"
	"testing"

	"plimsoll/internal/engine"

	"plimsoll/internal/testkit"
)

// underRace reports that the race detector is on.
var underRace bool

// The lessons of the cases hold, whatever the figures are.
func TestLessons(t *testing.T) {
	if underRace {
		t.Skip("hours of virtual time; walked without the race detector")
	}

	for _, c := range []struct {
		name, less, more string // expressions
		by               float64
	}{
		{"checkpoint-gp3", "journal-apart:writes.all.p99_seconds", "gp3-3000:writes.all.p99_seconds", 20},
		{"checkpoint-gp3", "throughput-alone:writes.all.p99_seconds", "iops-alone:writes.all.p99_seconds", 2},
		{"checkpoint-gp3", "io2:checkpoints.median_seconds", "gp3-3000:checkpoints.median_seconds", 2},
		{"cache-pressure", "journal-apart:writes.during_checkpoint.p99_seconds", "both:writes.during_checkpoint.p99_seconds", 10},
		{"cache-pressure", "cache-24:reads.all.p99_seconds", "before:reads.all.p99_seconds", 1.3},
		{"etcd-latency", "io2:writes.all.mean_seconds", "gp3-6000:writes.all.mean_seconds", 1.3},
		{"etcd-latency", "gp3-3000:writes.all.mean_seconds", "gp2:writes.all.mean_seconds", 1.5},
		{"bucket-granularity", "5min:writes.all.p99_seconds", "hourly:writes.all.p99_seconds", 1.3},
		{"iris-stripe", "B-write-daemon:reads.all.p99_seconds", "A-write-daemon:reads.all.p99_seconds", 1.5},
	} {
		less, more := lesson(t, c.name, c.less), lesson(t, c.name, c.more)
		if less*c.by > more {
			t.Errorf("%s: %s is %v, %s is %v: not %v times as much", c.name, c.less, less, c.more, more, c.by)
		}
	}

	if x := lesson(t, "etcd-latency", "gp3-6000:done_per_second / gp3-3000:done_per_second"); x < 0.98 || x > 1.05 {
		t.Errorf("twice the IOPS buy %v times the appends", x)
	}
}

// planned are the cases that these tests walk to the end: those whose plans take seconds, not a minute.
var planned = map[string]bool{"checkpoint-gp3": true, "etcd-latency": true}

// walks caches the walks, because each simulates minutes or hours of virtual time.
var walks = map[string]*Walk{}

func walk(t *testing.T, name string) *Walk {
	t.Helper()
	if walks[name] == nil {
		c, err := Open(name, profilers)
		if err != nil {
			t.Fatal(err)
		}
		if walks[name], err = Run(context.Background(), c, Options{Pack: testkit.Pack(), Engines: engine.All().Deployments(), NoPlan: !planned[name]}); err != nil {
			t.Fatal(err)
		}
	}
	return walks[name]
}

func lesson(t *testing.T, name, text string) float64 {
	t.Helper()
	w := walk(t, name)

	results := map[string]any{}
	for i, v := range w.Case.Variants {
		doc, err := decoded(w.Results[i])
		if err != nil {
			t.Fatal(err)
		}
		results[v.Name] = doc
	}

	e, err := parsePlace(text)
	if err != nil {
		t.Fatal(err)
	}

	x, err := e.eval("", results)
	if err != nil {
		t.Fatal(err)
	}

	return x
}
