package live

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"go.mongodb.org/mongo-driver/v2/bson"

	"plimsoll/internal/record/recording"
)

// The statistics that a server collects contain latencies only as sums, which give only means.
// serverStatus({opLatencies: {histograms: true}}) also returns how many operations took how long,
// in classes.

// latencyMetric is a histogram in Prometheus' format: operations since the server's start that took
// up to le seconds. Their sum and number are mongodb_ss_opLatencies_latency and _ops.
const latencyMetric = "plimsoll_mongodb_latency_seconds_bucket"

// The server's classes begin at 0 and at the powers of two from 2 us on. From 2^11 to 2^21 us each
// is split in two, and the second half begins at one and a half times the first. A duration at a
// bound is in the class above (src/mongo/db/stats/operation_latency_histogram.cpp; the same from
// 3.4 to 8.x).
const (
	splitFrom = 1 << 11
	splitTo   = 1 << 21
	// classesTo is where our last class begins, 268 s. The server's classes continue to 2^40 us,
	// twelve days, which nobody needs.
	classesTo = 1 << 28
	// classBegins is where the server's last class begins.
	classBegins = 1 << 40
)

// classBounds are the beginnings of the classes after the first one, in microseconds: the upper
// bounds of the preceding classes.
var classBounds = func() (out []int64) {
	for b := int64(2); b <= classesTo; b *= 2 {
		out = append(out, b)
		if b >= splitFrom && b < splitTo {
			out = append(out, b/2*3)
		}
	}
	return out
}()

// histogramsOf are the operations whose classes are read. No rule uses commands and transactions.
var histogramsOf = [...]string{"reads", "writes"}

// A tail reads the histograms of one server.
type tail struct {
	labels [len(histogramsOf)][]labels.Labels // by class, ending with all operations
	ask    []bson.E                           // serverStatus without other sections; nil: not known yet
	never  string                             // why it is no longer read; "": it is
	values [len(histogramsOf)][]float64
}

func newTail(instance string) *tail {
	t := &tail{}
	for i, op := range histogramsOf {
		t.values[i] = make([]float64, len(classBounds)+1)
		for k := range t.values[i] {
			le := "+Inf"
			if k < len(classBounds) {
				le = strconv.FormatFloat(float64(classBounds[k])/1e6, 'g', -1, 64)
			}
			t.labels[i] = append(t.labels[i],
				labels.FromStrings(labels.MetricName, latencyMetric, "instance", instance, "le", le, "op_type", op))
		}
	}
	return t
}

// alone returns the options of serverStatus for the histograms and no other section. It excludes
// every section of an earlier answer, and so also those that other versions have.
func alone(answer bson.Raw) []bson.E {
	out := []bson.E{{Key: "opLatencies", Value: bson.D{{Key: "histograms", Value: true}}}}
	elements, _ := answer.Elements() // empty if it is not a document
	for _, e := range elements {
		section := e.Value().Type == bson.TypeEmbeddedDocument || e.Value().Type == bson.TypeArray
		if key := e.Key(); section && key != "opLatencies" && !strings.HasPrefix(key, "$") {
			out = append(out, bson.E{Key: key, Value: false})
		}
	}
	return out
}

// latencies adds the current histograms, if the server provides them. A failure here does not
// invalidate the sample, whose other numbers are complete.
func (s *sampler) latencies(ctx context.Context, at time.Time) {
	t := s.tail
	if t.never != "" || s.opt.Want != nil && !s.opt.Want(latencyMetric) {
		return
	}

	request := t.ask
	if request == nil {
		request = append([]bson.E{{Key: "opLatencies", Value: bson.D{{Key: "histograms", Value: true}}}},
			leftOut...)
	}

	answer, err := s.l.ask(ctx, "serverStatus", request...)
	if err != nil {
		if refused(err) {
			t.never = "this user may not ask for serverStatus: only mean latencies are told; the role clusterMonitor gives it"
			s.limit(t.never)
		}
		return
	}

	if t.ask == nil {
		t.ask = alone(answer)
	}

	if t.never = t.read(answer); t.never != "" {
		s.limit(t.never)
		return
	}

	b := recording.Batch{TimesMs: []int64{at.UnixMilli()}}
	for i := range histogramsOf {
		for k := range t.values[i] {
			b.Columns = append(b.Columns, recording.Column{Labels: t.labels[i][k], Values: t.values[i][k : k+1 : k+1]})
		}
	}

	s.batches = append(s.batches, b)
}

// read sums the classes of an answer, or says why it cannot.
func (t *tail) read(answer bson.Raw) (never string) {
	// One key at a time: with several, the driver's look-up panics if an inner length is wrong.
	all, _ := answer.Lookup("opLatencies").DocumentOK()
	for i, op := range histogramsOf {
		of, _ := all.Lookup(op).DocumentOK()
		list, ok := of.Lookup("histogram").ArrayOK()
		if !ok {
			return "the server tells no histograms of latencies (opLatencies): percentiles are not known, only means"
		}

		classes, err := list.Values()
		if err != nil {
			return unreadable
		}

		counts := t.values[i]
		clear(counts)

		for _, c := range classes {
			d, ok := c.DocumentOK()
			if !ok {
				return unreadable
			}
			begins, whole := d.Lookup("micros").AsInt64OK()
			n, counted := d.Lookup("count").AsInt64OK()
			k, known := classOf(begins)
			if !whole || !counted || n < 0 || !known {
				return unreadable
			}
			counts[k] += float64(n)
		}

		for k := 1; k < len(counts); k++ {
			counts[k] += counts[k-1]
		}
	}

	return ""
}

const unreadable = "the server's histograms of latencies (opLatencies) have other classes than those known from 3.4 to 8.x: percentiles are not known, only means"

// classOf returns the class that begins at this many microseconds; false if none does.
func classOf(begins int64) (class int, ok bool) {
	if begins == 0 {
		return 0, true
	}
	for i, b := range classBounds {
		if b == begins {
			return i + 1, true
		}
	}
	// Everything beyond our last bound is in one class.
	return len(classBounds), begins > classesTo && begins <= classBegins && begins&(begins-1) == 0
}
