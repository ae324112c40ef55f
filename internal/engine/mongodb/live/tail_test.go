package live

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"plimsoll/internal/engine/mongodb/mongotest"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// stalling is a server with 200 writes of 700 us per second since begin. From the 30th to the 35th
// second, ten of them per second take two seconds. The mean, 100 ms, is a latency that no write
// had.
func stalling(begin time.Time) func(name string, command bson.Raw) any {
	return func(name string, command bson.Raw) any {
		if name != "serverStatus" {
			return nil
		}

		s := int64(time.Since(begin) / time.Second)
		slow := min(max(0, s-30), 5) * 10
		quick := 200*s - slow
		writes := bson.D{{Key: "latency", Value: quick*700 + slow*2_000_000}, {Key: "ops", Value: quick + slow}}
		none := bson.D{{Key: "latency", Value: int64(0)}, {Key: "ops", Value: int64(0)}}

		if yes, _ := command.Lookup("opLatencies", "histograms").BooleanOK(); yes {
			classes := map[int64]int64{512: quick}
			if slow > 0 {
				classes[1572864] = slow
			}
			writes = append(bson.D{{Key: "histogram", Value: mongotest.Histogram(classes)}}, writes...)
			none = append(bson.D{{Key: "histogram", Value: bson.A{}}}, none...)
		}

		out := bson.D{{Key: "host", Value: "db"}, {Key: "uptimeMillis", Value: s*1000 + 1000}}
		for _, section := range []bson.E{
			{Key: "mem", Value: bson.D{{Key: "resident", Value: int64(1)}}},
			{Key: "opLatencies", Value: bson.D{{Key: "reads", Value: none}, {Key: "writes", Value: writes}, {Key: "commands", Value: none}}},
		} {
			if wanted, ok := command.Lookup(section.Key).BooleanOK(); !ok || wanted {
				out = append(out, section)
			}
		}

		return append(out, bson.E{Key: "$clusterTime", Value: bson.D{}}, bson.E{Key: "ok", Value: 1.0})
	}
}

// For a running MongoDB, the class of each write's latency is known, so percentiles are those of
// individual writes. Sums give only means.
func TestPercentiles(t *testing.T) {
	m := recording.NewMemory(recording.MemoryOptions{})
	requests := map[string]int{}
	synctest.Test(t, func(t *testing.T) {
		var w mongotest.Wire
		defer w.Start("db:27017", &mongotest.Server{Version: "8.0.0", Reply: stalling(time.Now()), Refuse: map[string]bool{"getDiagnosticData": true},
			Saw: func(name string, command bson.Raw) {
				if _, ok := command.Lookup("opLatencies").DocumentOK(); name == "serverStatus" && ok {
					declined, _ := command.Lookup("mem").BooleanOK()
					_, requested := command.Lookup("mem").BooleanOK()
					_, generic := command.Lookup("$clusterTime").BooleanOK()
					switch {
					case generic:
						requests["with a key that is not a section"]++
					case requested && !declined:
						requests["alone"]++
					default:
						requests["with other sections"]++
					}
				}
			}})()

		src := open(t, &w, "mongodb://db")
		if err := src.Read(t.Context(), m, source.Options{Want: diagnose.Wants(pack), For: time.Minute}); err != nil {
			t.Fatal(err)
		}
	})

	if requests["with other sections"] != 1 || requests["alone"] != 60 || len(requests) != 2 {
		t.Errorf("the histograms were requested %v", requests)
	}

	rep, err := diagnose.Run(t.Context(), []recording.Reader{m}, diagnose.Options{Pack: pack, Slots: 600})
	if err != nil {
		t.Fatal(err)
	}

	var drawn *diagnose.Plot
	for i, p := range rep.Detail.Plots {
		if p.Percentiles {
			drawn = &rep.Detail.Plots[i]
		}
	}

	if drawn == nil || drawn.Title != "MongoDB writes on db, latency" || drawn.Signal != "plimsoll:mongodb_write_classes:rate" || drawn.Tracks[1].Name != "p99" {
		t.Fatalf("percentiles are drawn as %+v", drawn)
	}

	// 1,024 us is the end of the class that contains 700 us. The class that contains two seconds spans
	// 1.57 to 2.10 s; ten of 200 writes are the slowest 5 %.
	slow := 0
	for k, v := range drawn.Tracks[1].Values {
		switch {
		case v == nil && k == 0: // no interval ends with the first sample
		case v == nil:
			t.Errorf("second %d, with 200 writes, has no p99", k)
		case *v > 1.572864 && *v <= 2.097152:
			slow++
		case !(*v > 512e-6 && *v <= 1024e-6):
			t.Errorf("a p99 of %v s is in a class without writes", *v)
		}
	}

	if slow != 5 {
		t.Errorf("%d seconds have a p99 of two seconds, want 5", slow)
	}

	if s := rep.Detail.Latencies[0]; len(rep.Detail.Latencies) != 1 || s.Signal != drawn.Signal || s.Stalled == nil || s.Unseen != 0 {
		t.Errorf("the heat map is of %+v", rep.Detail.Latencies)
	}
}

// If the server provides no histograms, or unknown classes, that is noted once and they are not
// read again.
func TestNoPercentiles(t *testing.T) {
	class := func(e ...bson.E) bson.D {
		h := bson.A{bson.D(e)}
		return bson.D{{Key: "reads", Value: bson.D{{Key: "histogram", Value: bson.A{}}}}, {Key: "writes", Value: bson.D{{Key: "histogram", Value: h}}}}
	}
	for name, c := range map[string]struct {
		latencies any
		want      string
	}{
		"none":           {bson.D{{Key: "reads", Value: bson.D{{Key: "ops", Value: int64(1)}}}}, "provides no latency histograms"},
		"other bounds":   {class(bson.E{Key: "micros", Value: int64(1000)}, bson.E{Key: "count", Value: int64(1)}), "other classes"},
		"no count":       {class(bson.E{Key: "micros", Value: int64(512)}), "other classes"},
		"negative count": {class(bson.E{Key: "micros", Value: int64(512)}, bson.E{Key: "count", Value: int64(-1)}), "other classes"},
		"not a number":   {class(bson.E{Key: "micros", Value: "512"}, bson.E{Key: "count", Value: int64(1)}), "other classes"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				var w mongotest.Wire
				defer w.Start("db:27017", &mongotest.Server{Version: "8.0.0", Refuse: map[string]bool{"getDiagnosticData": true}, Reply: func(name string, command bson.Raw) any {
					if name != "serverStatus" {
						return nil
					}
					if _, ok := command.Lookup("opLatencies").DocumentOK(); ok {
						asked++
					}
					return bson.D{{Key: "uptimeMillis", Value: int64(1)}, {Key: "opLatencies", Value: c.latencies}, {Key: "ok", Value: 1.0}}
				}})()

				begin := time.Now()
				m := read(t, open(t, &w, "mongodb://db"), source.Options{For: 3 * time.Second})
				if n := notes(m); !strings.Contains(n, c.want) || !strings.Contains(n, "only means") || asked != 1 {
					t.Errorf("asked %d times, notes:\n%s", asked, n)
				}

				if got := times(t, m, latencyMetric, begin); got != "" {
					t.Errorf("histograms at %s", got)
				}
			})
		})
	}
}

// The class that begins where the server says contains the duration, and no other class does.
func TestClassOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		micros := rapid.OneOf(rapid.Int64Range(0, 1<<12), rapid.Int64Range(0, 1<<30), rapid.Int64Range(0, 1<<41-1)).Draw(t, "micros")
		k, ok := classOf(mongotest.ClassOf(micros))
		if !ok {
			t.Fatalf("no class begins at %d us", micros)
		}
		if k > 0 && micros < classBounds[k-1] || k < len(classBounds) && micros >= classBounds[k] {
			t.Fatalf("%d us are in class %d of %d", micros, k, classBounds)
		}
	})
	for _, begins := range []int64{-1, 1, 3, 1536, 3 << 20, 3 << 30, 1 << 41, math.MaxInt64} {
		if k, ok := classOf(begins); ok {
			t.Errorf("class %d begins at %d us, which is not a bound", k, begins)
		}
	}
}

// Whatever the response, either the class counts increase or there are none.
func FuzzTail(f *testing.F) {
	good, err := bson.Marshal(stalling(time.Now().Add(-time.Minute))("serverStatus", bson.Raw("\x05\x00\x00\x00\x00")))
	if err != nil {
		f.Fatal(err)
	}

	f.Add(good)
	asked, err := bson.Marshal(bson.D{{Key: "opLatencies", Value: bson.D{{Key: "histograms", Value: true}}}})
	if err != nil {
		f.Fatal(err)
	}

	if good, err = bson.Marshal(stalling(time.Now().Add(-time.Minute))("serverStatus", asked)); err != nil {
		f.Fatal(err)
	}

	f.Add(good)
	f.Add([]byte("0000\x03opLatencies\x00\x00\x00\x00\x00"))
	f.Add([]byte("\x26\x00\x00\x00\x03opLatencies\x00\x14\x00\x00\x00\x03reads\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		alone(answer)
		counts, never := classCounts(answer)
		if never != "" {
			return
		}

		for _, of := range counts {
			for k, n := range of {
				if n < 0 || k > 0 && n < of[k-1] {
					t.Fatalf("counts %v", of)
				}
			}
		}
	})
}
