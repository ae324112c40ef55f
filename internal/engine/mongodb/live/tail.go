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

// The statistics that a server collects contain only sums of latencies, and so only means.
// serverStatus({opLatencies: {histograms: true}}) also returns how many operations fell into each
// latency class.

// latencyMetric is a histogram in Prometheus' format: operations since the server's start that took
// up to le seconds. Their sum and count are mongodb_ss_opLatencies_latency and _ops.
const latencyMetric = "plimsoll_mongodb_latency_seconds_bucket"

// The server's classes begin at 0 and at the powers of two from 2 us on. From 2^11 to 2^21 us each
// class is split in two, and the second half begins at one and a half times the first. A duration
// equal to a bound belongs to the class above (src/mongo/db/stats/operation_latency_histogram.cpp,
// unchanged from 3.4 to 8.x).
const (
	splitFrom = 1 << 11
	splitTo   = 1 << 21
	// classesTo is where our last class begins, 268 s. The server's classes continue to 2^40 us,
	// twelve days, which no diagnosis needs.
	classesTo = 1 << 28
	// classBegins is where the server's last class begins.
	classBegins = 1 << 40
)

// classBounds are the lower bounds of the classes after the first, in microseconds. Each is the
// upper bound of the class before it.
var classBounds = func() (out []int64) {
	for b := int64(2); b <= classesTo; b *= 2 {
		out = append(out, b)
		if b >= splitFrom && b < splitTo {
			out = append(out, b/2*3)
		}
	}
	return out
}()

// histogramsOf are the operations whose histograms are read. No rule uses those of commands and
// transactions.
var histogramsOf = [...]string{"reads", "writes"}

// A tail reads the histograms of one server.
type tail struct {
	request []bson.E // serverStatus without other sections; nil: not yet known
	never   string   // why it is no longer read; "" while it is read
}

// latencyLabels are the labels of a class; the last includes all operations.
func latencyLabels(instance, op string, class int) labels.Labels {
	le := "+Inf"
	if class < len(classBounds) {
		le = strconv.FormatFloat(float64(classBounds[class])/1e6, 'g', -1, 64)
	}
	return labels.FromStrings(labels.MetricName, latencyMetric, "instance", instance, "le", le, "op_type", op)
}

// alone returns the options of serverStatus for the histograms and no other section. It excludes
// every section of an earlier answer, which also covers sections that only some versions have.
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

// latencies adds the current histograms if the server provides them. A failure here does not
// invalidate the sample, whose other numbers are complete.
func (s *sampler) latencies(ctx context.Context, at time.Time) {
	histograms := &s.tail
	if histograms.never != "" || s.opt.Want != nil && !s.opt.Want(latencyMetric) {
		return
	}

	request := histograms.request

	// The first request excludes only the known sections; its answer shows the others.
	if request == nil {
		request = append([]bson.E{{Key: "opLatencies", Value: bson.D{{Key: "histograms", Value: true}}}},
			leftOut...)
	}

	answer, err := s.l.command(ctx, "serverStatus", request...)
	if err != nil {
		if refused(err) {
			histograms.never = "this user may not run serverStatus: only mean latencies are known; the role clusterMonitor grants it"
			s.limit(histograms.never)
		}
		return
	}

	if histograms.request == nil {
		histograms.request = alone(answer)
	}

	counts, never := classCounts(answer)
	if never != "" {
		histograms.never = never
		s.limit(never)
		return
	}

	b := recording.Batch{TimesMs: []int64{at.UnixMilli()}}
	for i, op := range histogramsOf {
		for k, n := range counts[i] {
			b.Columns = append(b.Columns, recording.Column{Labels: latencyLabels(*s.instance.Load(), op, k),
				Values: []float64{n}})
		}
	}

	s.batches = append(s.batches, b)
}

// classCounts sums the classes of an answer for each of histogramsOf, or says why it cannot.
func classCounts(answer bson.Raw) (all [len(histogramsOf)][]float64, never string) {
	// One key at a time: with several, the driver's lookup panics if an inner length is wrong.
	latencies, _ := answer.Lookup("opLatencies").DocumentOK()
	for i, op := range histogramsOf {
		of, _ := latencies.Lookup(op).DocumentOK()
		list, ok := of.Lookup("histogram").ArrayOK()
		if !ok {
			return all, "the server provides no latency histograms (opLatencies): percentiles are unknown, only means are available"
		}

		classes, err := list.Values()
		if err != nil {
			return all, unreadable
		}

		counts := make([]float64, len(classBounds)+1)
		for _, c := range classes {
			d, ok := c.DocumentOK()
			if !ok {
				return all, unreadable
			}
			begins, whole := d.Lookup("micros").AsInt64OK()
			n, counted := d.Lookup("count").AsInt64OK()
			k, known := classOf(begins)
			if !whole || !counted || n < 0 || !known {
				return all, unreadable
			}
			counts[k] += float64(n)
		}

		// Prometheus' histograms are cumulative.
		for k := 1; k < len(counts); k++ {
			counts[k] += counts[k-1]
		}

		all[i] = counts
	}

	return all, ""
}

const unreadable = "the server's latency histograms (opLatencies) have other classes than those of 3.4 to 8.x: percentiles are unknown, only means are available"

// classOf returns the class that begins at the given number of microseconds, and false if none
// does.
func classOf(begins int64) (class int, ok bool) {
	if begins == 0 {
		return 0, true
	}
	for i, b := range classBounds {
		if b == begins {
			return i + 1, true
		}
	}
	// Everything beyond our last bound falls into one class.
	return len(classBounds), begins > classesTo && begins <= classBegins && begins&(begins-1) == 0
}
