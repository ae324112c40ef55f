//go:build linux

package server

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"plimsoll/internal/engine/mongodb/ftdc"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// answerWithin is how long to wait for an answer. It is long because a stalled server answers late,
// and that answer counts.
const answerWithin = 10 * time.Second

// statistics is a server's serverStatus as a source.Source.
type statistics struct {
	*source.Polled
	client *mongo.Client
}

func newStatistics(c *mongo.Client, version string) *statistics {
	d := recording.Source{Kind: "mongodb", Name: "serverStatus", Engine: "mongodb", Version: version}
	return &statistics{Polled: source.NewPolled(d), client: c}
}

// Read implements source.Source. A sample's time is that of its request.
func (s *statistics) Read(ctx context.Context, w recording.Writer, opt source.Options) error {
	return s.Poll(ctx, w, opt, &sampler{client: s.client, documents: ftdc.NewDocuments(opt.Want)})
}

// A sampler holds the state of one Read.
type sampler struct {
	client    *mongo.Client
	documents *ftdc.Documents
}

// Sample implements source.Sampler.
func (s *sampler) Sample(ctx context.Context, at time.Time) ([]recording.Batch, error) {
	d, err := serverStatus(ctx, s.client)
	if err != nil {
		return nil, fmt.Errorf("cannot read MongoDB's serverStatus: %w", err)
	}
	read, err := s.documents.Read(ftdc.Join(ftdc.Section{Name: "serverStatus", Answer: d}))
	if err != nil {
		return nil, fmt.Errorf("MongoDB's serverStatus: %w", err)
	}
	return []recording.Batch{{TimesMs: []int64{at.UnixMilli()}, Columns: read.Columns}}, nil
}

// AddFacts implements source.Sampler.
func (*sampler) AddFacts(*recording.Source) {}

func serverStatus(ctx context.Context, c *mongo.Client) (bson.Raw, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	return c.Database("admin").RunCommand(ctx, bson.D{{Key: "serverStatus", Value: 1}}).Raw()
}
