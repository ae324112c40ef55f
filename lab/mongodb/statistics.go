package mongodb

import (
	"context"
	"fmt"
	"strconv"
	"sync"
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
	client *mongo.Client

	mu   sync.Mutex
	desc recording.Source
}

func newStatistics(c *mongo.Client, name, version string) *statistics {
	return &statistics{client: c, desc: recording.Source{Kind: "mongodb", Name: name, Engine: "mongodb", Version: version}}
}

// Describe implements source.Source.
func (s *statistics) Describe() recording.Source {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.desc
}

// Live implements source.Source.
func (*statistics) Live() bool { return true }

// Read implements source.Source. A sample's time is when it was asked for. Where the server does not answer there is a gap; only the
// first question has to be answered.
func (s *statistics) Read(ctx context.Context, w recording.Writer, opt source.Options) error {
	period := opt.Period
	if period <= 0 {
		period = time.Second
	}
	begin, n := time.Now(), int64(0)
	known := map[string]labels.Labels{}
	for {
		at := time.Now()
		d, err := serverStatus(ctx, s.client)
		switch {
		case ctx.Err() != nil:
		case err != nil && n == 0:
			return fmt.Errorf("asking MongoDB for serverStatus: %w", err)
		case err == nil:
			b := recording.Batch{TimesMs: []int64{at.Add(opt.ClockOffset).UnixMilli()}, Columns: columns(d, opt.Want, known)}
			if err := w.Append(ctx, &b); err != nil && ctx.Err() == nil {
				return err
			}
			n++
			s.described(at.Add(opt.ClockOffset), n, period)
		}
		if opt.Progress != nil {
			opt.Progress(int64(time.Since(begin)), int64(opt.For))
		}
		next := time.Now().Truncate(period).Add(period)
		if opt.For > 0 && next.After(begin.Add(opt.For)) || !wait(ctx, time.Until(next)) {
			w.Source(s.Describe())
			return nil
		}
	}
}

func (s *statistics) described(at time.Time, n int64, period time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n == 1 {
		s.desc.From = at.UTC()
	}
	s.desc.To, s.desc.Samples, s.desc.Period = at.UTC(), n, period
}

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
