package mongotest

import (
	"maps"
	"math/bits"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// mongod's serverStatus({opLatencies: {histograms: true}}) adds an array of {micros, count} to
// latency and ops: operations since its start by class, with micros as the beginning of a class,
// and without empty classes (src/mongo/db/stats/operation_latency_histogram.cpp). mongod's own
// captures contain only the sums, so a [Replay] counts each second's operations in the class of
// that second's mean.

// latencyKinds are the sections of opLatencies for which a replay has classes.
var latencyKinds = []string{"reads", "writes", "commands"}

// ClassOf returns the beginning of a duration's class, both in microseconds.
func ClassOf(micros int64) int64 {
	if micros < 2 {
		return 0
	}
	b := int64(1) << (bits.Len64(uint64(micros)) - 1)
	if half := b / 2 * 3; b >= 1<<11 && b < 1<<21 && micros >= half {
		return half
	}
	return b
}

// Histogram returns a server's array for operations by the beginning of their class.
func Histogram(counts map[int64]int64) bson.A {
	out := bson.A{}
	for _, begins := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, bson.D{{Key: "micros", Value: begins}, {Key: "count", Value: counts[begins]}})
	}
	return out
}

// classes returns the histograms of opLatencies by sample, and then in the order of latencyKinds.
func (r *Replay) classes() [][]bson.A {
	r.once.Do(func() {
		type sums struct{ ops, latency int64 }
		last, counts := make([]sums, len(latencyKinds)), make([]map[int64]int64, len(latencyKinds))
		for _, doc := range r.Documents {
			all := doc.Lookup("serverStatus", "opLatencies")
			row := make([]bson.A, len(latencyKinds))
			for k, kind := range latencyKinds {
				d, ok := all.DocumentOK()
				if !ok {
					continue
				}

				var now sums
				now.ops, _ = d.Lookup(kind, "ops").AsInt64OK()
				now.latency, _ = d.Lookup(kind, "latency").AsInt64OK()

				if counts[k] == nil {
					counts[k] = map[int64]int64{}
				}

				if n := now.ops - last[k].ops; n > 0 {
					counts[k][ClassOf((now.latency-last[k].latency)/n)] += n
				}

				last[k], row[k] = now, Histogram(counts[k])
			}

			r.histograms = append(r.histograms, row)
		}
	})
	return r.histograms
}

// status answers serverStatus: without the declined sections, and with classes if they are
// requested.
func (r *Replay) status(i int, command bson.Raw) any {
	all, ok := r.Documents[i].Lookup("serverStatus").DocumentOK()
	if !ok {
		return refused(76, "not running with --replSet")
	}

	elements, err := all.Elements()
	if err != nil {
		return refused(1, "%v", err)
	}

	out := bson.D{}
	for _, e := range elements {
		asked := command.Lookup(e.Key())
		if wanted, ok := asked.BooleanOK(); ok && !wanted {
			continue
		}
		value := any(e.Value())
		if d, ok := asked.DocumentOK(); ok && e.Key() == "opLatencies" {
			if yes, _ := d.Lookup("histograms").BooleanOK(); yes {
				value = r.withClasses(i, bson.Raw(e.Value().Value))
			}
		}
		out = append(out, bson.E{Key: e.Key(), Value: value})
	}

	return out
}

// withClasses returns opLatencies with histograms.
func (r *Replay) withClasses(i int, sums bson.Raw) any {
	out := bson.D{}
	for k, kind := range latencyKinds {
		d := bson.D{{Key: "histogram", Value: r.classes()[i][k]}}
		for _, field := range []string{"latency", "ops"} {
			if v := sums.Lookup(kind, field); v.Type != 0 {
				d = append(d, bson.E{Key: field, Value: v})
			}
		}
		out = append(out, bson.E{Key: kind, Value: d})
	}
	return out
}
