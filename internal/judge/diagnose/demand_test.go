package diagnose_test

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plimsoll/internal/engine"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
	"plimsoll/internal/testkit"
)

// A demand is a rate of operations over time that clients may have for any reason.
func demand(t *rapid.T, lengthS float64) func(s float64) float64 {
	usual := rapid.SampledFrom([]float64{20, 400, 5000}).Draw(t, "usual rate")
	low := usual * rapid.SampledFrom([]float64{0, 0.02, 0.3, 0.7}).Draw(t, "low share")
	every := rapid.SampledFrom([]float64{7, 20, 60, 150}).Draw(t, "every")
	lasts := math.Max(1, every*rapid.SampledFrom([]float64{0.05, 0.2, 0.5, 0.8}).Draw(t, "lasts"))
	kind := rapid.SampledFrom([]string{"even", "sine", "on/off", "dips", "bursts", "batches", "diurnal", "stops", "random"}).Draw(t, "kind")

	return func(s float64) float64 {
		in := math.Mod(s, every) < lasts
		switch kind {
		case "sine":
			return usual*0.55 + usual*0.45*math.Sin(2*math.Pi*s/every)
		case "on/off", "dips":
			if in {
				return low
			}
		case "bursts":
			if in {
				return 8 * usual
			}
		case "batches": // nothing, and then what came meanwhile
			if !in {
				return 0
			}
			return usual * every / lasts
		case "diurnal":
			return low + (usual-low)*(0.5+0.5*math.Sin(2*math.Pi*s/lengthS))
		case "stops":
			if s > 0.7*lengthS {
				return 0
			}
		case "random":
			return usual * (0.05 + 0.95*jitter(math.Floor(s), kind, 1)/2)
		}

		return usual
	}
}

// operations are classes of operations of each engine, and of devices: each says how to write a rate
// over time with a constant latency in seconds.
var operations = map[string]func(w *written, rate func(s float64) float64, latencyS float64){
	"MongoDB writes":   mongodbOperations("writes"),
	"MongoDB reads":    mongodbOperations("reads"),
	"MongoDB commands": mongodbOperations("commands"),
	"etcd syncs":       etcdDurations("etcd_disk_wal_fsync_duration_seconds"),
	"etcd commits":     etcdDurations("etcd_disk_backend_commit_duration_seconds"),
	"PostgreSQL commits": func(w *written, rate func(s float64) float64, latencyS float64) {
		w.counter(rate, "pg_stat_database_xact_commit", "datname", "shop").
			counter(func(float64) float64 { return 0 }, "pg_stat_database_xact_rollback", "datname", "shop").
			gauge(func(s float64) float64 { return 1 + math.Round(rate(s)*latencyS) }, "pg_stat_activity_count", "datname", "shop", "state", "active").
			gauge(func(float64) float64 { return 40 }, "pg_stat_activity_count", "datname", "shop", "state", "idle").
			gauge(func(float64) float64 { return latencyS }, "pg_stat_activity_max_tx_duration", "datname", "shop", "state", "active")
	},
	"PostgreSQL commits, no sessions by state": func(w *written, rate func(s float64) float64, _ float64) {
		w.counter(rate, "pg_stat_database_xact_commit", "datname", "shop").
			counter(func(float64) float64 { return 0 }, "pg_stat_database_xact_rollback", "datname", "shop").
			gauge(func(float64) float64 { return 40 }, "pg_stat_database_numbackends", "datname", "shop")
	},
	"device": func(w *written, rate func(s float64) float64, latencyS float64) {
		w.node("sdb", func(s float64) did {
			return did{writes: rate(s), writeKiB: 8, writeS: latencyS, busy: math.Min(0.8, rate(s)*latencyS/8)}
		})
	},
}

func mongodbOperations(class string) func(w *written, rate func(s float64) float64, latencyS float64) {
	return func(w *written, rate func(s float64) float64, latencyS float64) {
		w.counter(rate, "mongodb_ss_opLatencies_ops", "op_type", class).
			counter(func(s float64) float64 { return rate(s) * latencyS * 1e6 }, "mongodb_ss_opLatencies_latency", "op_type", class)
	}
}

func etcdDurations(metric string) func(w *written, rate func(s float64) float64, latencyS float64) {
	return func(w *written, rate func(s float64) float64, latencyS float64) {
		w.counter(rate, metric+"_count").counter(func(s float64) float64 { return rate(s) * latencyS }, metric+"_sum")
	}
}

// A varying demand alone is not a stall: while operations take as long as usual, nothing stalls, and no
// finding is above info.
func TestDemandIsNoStall(t *testing.T) {
	names := slices.Sorted(maps.Keys(operations))
	rapid.Check(t, func(r *rapid.T) {
		step := rapid.SampledFrom([]time.Duration{time.Second, 5 * time.Second, 15 * time.Second, time.Minute}).Draw(r, "step")
		length := max(5*time.Minute, 40*step)
		w := forms(t, step, length)
		operations[rapid.SampledFrom(names).Draw(r, "operations")](w, demand(r, length.Seconds()), rapid.SampledFrom([]float64{0.0005, 0.004, 0.008}).Draw(r, "latency"))

		got := w.diagnose(diagnose.Options{})
		if got.Stalls.Seconds > 0 {
			r.Fatalf("%s", got.Verdict)
		}

		for _, f := range got.Findings {
			if f.Severity != rules.Info {
				r.Fatalf("%s, %s: %s\n%s", f.Severity, f.Rule, f.Summary, got.Verdict)
			}
		}
	})
}

// Nothing completes any more until the recording ends. Whether that is a stall depends on whether
// anything waits.
func TestSilenceAtTheEnd(t *testing.T) {
	const lengthS, froze = 600.0, 300.0
	rate := func(s float64) float64 {
		if s > froze {
			return 0
		}
		return 500
	}

	for _, c := range []struct {
		name    string
		waiting float64 // operations counted as queued in the silence; below 0 if nothing counts them
		want    string
		stalled float64
	}{
		{"64 writers are queued", 64, "MongoDB writes stalled for 5m", 300},
		{"no writer is queued: the demand ended", 0, "No stall in ", 0},
		{"nothing counts who waits", -1, "cannot be determined", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := forms(t, time.Second, lengthS*time.Second)
			mongodbOperations("writes")(w, rate, 0.004)
			if c.waiting >= 0 {
				w.gauge(func(s float64) float64 {
					if s > froze {
						return c.waiting
					}
					return 0
				}, "mongodb_ss_globalLock_currentQueue", "count_type", "writers")
			}

			got := w.diagnose(diagnose.Options{})
			if !strings.Contains(got.Verdict, c.want) || got.Stalls.Seconds != c.stalled {
				t.Errorf("stalled for %g s, want %g; the verdict is\n%s", got.Stalls.Seconds, c.stalled, got.Verdict)
			}

			if c.stalled > 0 && (len(got.Incidents) == 0 || !got.Incidents[0].Ongoing) {
				t.Error("the stall is not ongoing")
			}
		})
	}
}

// A freeze is found whether or not it has ended, and a busy device that completes nothing counts as one
// too.
func TestFrozenDevice(t *testing.T) {
	for _, thaws := range []float64{1e9, 420} {
		t.Run(fmt.Sprint(thaws), func(t *testing.T) {
			w := forms(t, time.Second, 10*time.Minute)
			w.node("sdb", func(s float64) did {
				if s > 300 && s <= thaws {
					return did{busy: 1}
				}
				return did{writes: 400, writeKiB: 8, writeS: 0.001, busy: 0.1}
			})

			got := w.diagnose(diagnose.Options{})
			want := math.Min(thaws, 600) - 300
			if math.Abs(got.Stalls.Seconds-want) > 2 {
				t.Errorf("stalled for %g s, want %g: %s", got.Stalls.Seconds, want, got.Verdict)
			}
		})
	}
}

// Dips seen in the field: healthy recordings that were reported as stalled.
func TestFieldDips(t *testing.T) {
	for _, name := range []string{"smallest.prom", "mongo.prom", "b.log"} {
		path := "../../../../shared/data/field/dip/" + name
		if _, err := os.Stat(path); err != nil {
			t.Skip("the field's inputs are not next to the checkout (../shared/data from its root)")
		}
		if got := fieldReport(t, path); got.Stalls.Seconds > 0 {
			t.Errorf("%s: %s", name, got.Verdict)
		}
	}
}

// fieldReport diagnoses a file.
func fieldReport(t *testing.T, path string) *diagnose.Report {
	t.Helper()
	input, err := recognise.For(engine.All().Sources()).Open(t.Context(), path, recognise.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	mem := recording.NewMemory(recording.MemoryOptions{})
	if err := input.Source.Read(t.Context(), mem, source.Options{Want: diagnose.Wants(testkit.Pack())}); err != nil {
		t.Fatal(err)
	}
	r, err := diagnose.Run(t.Context(), []recording.Reader{mem}, diagnose.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
