package live

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"go.mongodb.org/mongo-driver/v2/bson"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

const (
	// weighEvery is the time between two reads of the sizes. dbStats visits each collection of a
	// database.
	weighEvery = 10 * time.Minute
	// databasesMax is how many databases are read, largest first.
	databasesMax = 16
	// weighWithin limits the server's time for one database before it aborts.
	weighWithin = 2 * time.Second
)

// sizes are the fields of dbStats that are kept. All but the first three are in bytes.
var sizes = []string{"collections", "indexes", "objects", "dataSize", "indexSize", "storageSize", "totalSize",
	"fsUsedSize", "fsTotalSize"}

// pollSizes reads the sizes of databases every weighEvery, concurrently with the samples, until the
// context ends.
func (s *sampler) pollSizes(ctx context.Context) {
	if s.m.router || s.opt.Want != nil && !s.opt.Want(sizeName(sizes[0])) && !s.opt.Want(sizeName("dataSize")) {
		return
	}

	for source.Pause(ctx, time.Second) { // let the first sample go first
		for _, name := range s.largest(ctx) {
			answer, err := s.l.run(ctx, name,
				bson.D{{Key: "dbStats", Value: 1}, {Key: "maxTimeMS", Value: weighWithin.Milliseconds()}})
			if err != nil {
				continue // it was dropped, takes too long, or is denied
			}
			if err := s.w.Append(ctx, sizesOf(answer, *s.instance.Load(), name,
				time.Now().Add(s.opt.ClockOffset))); err != nil {
				return // the sampler gets the same error
			}
		}
		if !source.Pause(ctx, weighEvery) {
			return
		}
	}
}

func sizeName(field string) string { return "mongodb_dbstats_" + field }

// largest returns the names of the largest databases.
func (s *sampler) largest(ctx context.Context) []string {
	answer, err := s.l.command(ctx, "listDatabases")
	if err != nil {
		return nil
	}

	type database struct {
		Name string `bson:"name"`
		Size int64  `bson:"sizeOnDisk"`
	}

	var list struct {
		Databases []database `bson:"databases"`
	}
	if bson.Unmarshal(answer, &list) != nil {
		return nil
	}

	slices.SortFunc(list.Databases,
		func(a, b database) int { return cmp.Or(cmp.Compare(b.Size, a.Size), cmp.Compare(a.Name, b.Name)) })
	var out []string
	for _, d := range list.Databases[:min(databasesMax, len(list.Databases))] {
		out = append(out, d.Name)
	}

	return out
}

// sizesOf converts dbStats' answer to a sample.
func sizesOf(answer bson.Raw, instance, name string, at time.Time) *recording.Batch {
	b := &recording.Batch{TimesMs: []int64{at.UnixMilli()}}
	for _, field := range sizes {
		if x, ok := answer.Lookup(field).AsFloat64OK(); ok {
			b.Columns = append(b.Columns, recording.Column{Values: []float64{x},
				Labels: labels.FromStrings(labels.MetricName, sizeName(field), "database", name, "instance", instance)})
		}
	}
	return b
}
