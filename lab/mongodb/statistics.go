package mongodb

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"plimsoll/observe/ftdc"
	"plimsoll/observe/source"
	"plimsoll/recording"
)

const (
	// answerWithin is how long an answer is waited for: a server that stalls answers late, and that answer counts.
	answerWithin = 10 * time.Second
	// depthMax and metricsMax bound what is read of an answer: FTDC's own bounds.
	depthMax   = ftdc.MaxDepth
	metricsMax = ftdc.MaxMetrics
)

// statistics are a server's serverStatus. It implements source.Source.
type statistics struct {
	*source.Polled
	client *mongo.Client
}

func newStatistics(c *mongo.Client, name, version string) *statistics {
	d := recording.Source{Kind: "mongodb", Name: name, Engine: "mongodb", Version: version}
	return &statistics{Polled: source.NewPolled(d), client: c}
}

// Read implements source.Source. A sample's time is when it was asked for.
func (s *statistics) Read(ctx context.Context, w recording.Writer, opt source.Options) error {
	return s.Poll(ctx, w, opt, &sampler{client: s.client, want: opt.Want, known: map[string]labels.Labels{}})
}

// A sampler is one Read.
type sampler struct {
	client *mongo.Client
	want   func(string) bool
	known  map[string]labels.Labels
}

// Sample implements source.Sampler.
func (s *sampler) Sample(ctx context.Context, at time.Time) ([]recording.Batch, error) {
	d, err := serverStatus(ctx, s.client)
	if err != nil {
		return nil, fmt.Errorf("asking MongoDB for serverStatus: %w", err)
	}
	return []recording.Batch{{TimesMs: []int64{at.UnixMilli()}, Columns: columns(d, s.want, s.known)}}, nil
}

// Tell implements source.Sampler.
func (*sampler) Tell(*recording.Source) {}

func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func serverStatus(ctx context.Context, c *mongo.Client) (bson.Raw, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	return c.Database("admin").RunCommand(ctx, bson.D{{Key: "serverStatus", Value: 1}}).Raw()
}

// columns are the numbers of an answer, under the names they have in diagnostic.data.
func columns(d bson.Raw, want func(string) bool, known map[string]labels.Labels) []recording.Column {
	var out []recording.Column
	seen := map[uint64]bool{}
	flatten(d, []string{"serverStatus"}, "serverStatus", func(path []string, joined string, value float64) {
		l, ok := known[joined]
		if !ok {
			if named, has := ftdc.MetricName(path); has && (want == nil || want(named.Get(labels.MetricName))) {
				l = named
			}
			if len(known) < metricsMax {
				known[joined] = l
			}
		}
		if hash := l.Hash(); !l.IsEmpty() && !seen[hash] { // two paths may come to one name: the first counts
			seen[hash] = true
			out = append(out, recording.Column{Labels: l, Values: []float64{value}})
		}
	})
	return out
}

// flatten gives each number of a document with its path. What FTDC takes for a number is one here: truths and times too.
func flatten(d bson.Raw, path []string, joined string, give func(path []string, joined string, value float64)) {
	elements, err := d.Elements()
	if err != nil || len(path) > depthMax {
		return
	}
	for _, e := range elements {
		at, v := append(path[:len(path):len(path)], e.Key()), e.Value()
		name := joined + "\x00" + e.Key()
		switch v.Type {
		case bson.TypeEmbeddedDocument:
			flatten(v.Document(), at, name, give)
		case bson.TypeArray:
			flatten(bson.Raw(v.Array()), at, name, give)
		case bson.TypeBoolean:
			x := 0.0
			if v.Boolean() {
				x = 1
			}
			give(at, name, x)
		case bson.TypeDateTime:
			give(at, name, float64(v.DateTime()))
		case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble:
			give(at, name, number(v))
		case bson.TypeDecimal128:
			if x, err := strconv.ParseFloat(v.Decimal128().String(), 64); err == nil {
				give(at, name, x)
			}
		}
	}
}

// number is a value that is one, 0 of others.
func number(v bson.RawValue) float64 {
	switch v.Type {
	case bson.TypeInt32:
		return float64(v.Int32())
	case bson.TypeInt64:
		return float64(v.Int64())
	case bson.TypeDouble:
		return v.Double()
	}
	return 0
}
