//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"golang.org/x/sync/errgroup"

	"plimsoll/internal/base/units"
	wiredtiger "plimsoll/internal/engine/mongodb/model"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/workload"
)

const (
	collection = "documents"
	// loaders is how many batches of about loadBytes each are in flight while the first documents
	// are inserted.
	loaders   = 4
	loadBytes = 4 << 20
	loadMost  = 10_000
	// selectWithin is how long to wait for a server.
	selectWithin = 10 * time.Second
	// documentMost is MongoDB's own limit for a document.
	documentMost = 16 * units.MiB
)

var errNotRunning = errors.New("MongoDB is not connected")

// A store is the workload's collection; nil: not connected.
type store struct {
	client *mongo.Client
	of     *mongo.Collection
	make   *maker
	mean   units.Size

	mu      sync.Mutex
	cycles  cycles
	watcher context.CancelFunc
	watched sync.WaitGroup
}

// concern returns the write concern of a scenario.
func concern(cfg *wiredtiger.Config) (*writeconcern.WriteConcern, string) {
	if !wiredtiger.Enabled(cfg.JournalEach) {
		return &writeconcern.WriteConcern{W: 1, Journal: new(false)}, "{w: 1, j: false}"
	}
	return &writeconcern.WriteConcern{W: writeconcern.WCMajority, Journal: new(true)}, `{w: "majority", j: true}`
}

// connect prepares a client. The driver connects when necessary.
func connect(uri string, connections int, more func(*options.ClientOptions)) (*mongo.Client, error) {
	opt := options.Client().ApplyURI(uri).SetAppName("plimsoll").SetServerSelectionTimeout(selectWithin)
	opt.SetMaxPoolSize(uint64(connections + 3)) // plus those for loading, reading and watching
	if more != nil {
		more(opt)
	}
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	return mongo.Connect(opt)
}

// newStore returns a scenario's collection in a database.
func newStore(c *mongo.Client, database string, cfg *wiredtiger.Config, sc *scenario.Scenario) *store {
	w := sc.Workloads()
	wc, _ := concern(cfg)
	change := units.Size(0)
	// A change of the whole document is a replacement.
	if d := w.Spec().Document; d != nil && d.Change < w.DocumentSize() {
		change = d.Change
	}
	return &store{
		client: c, of: c.Database(database).Collection(collection, options.Collection().SetWriteConcern(wc)),
		make: newMaker(cfg.Compression, change), mean: w.DocumentSize(),
	}
}

// load inserts the documents that exist before the run.
func (s *store) load(ctx context.Context, sc *scenario.Scenario, progress lab.Progress) error {
	w := sc.Workloads()
	documents, size := uint64(w.Documents()), w.Sizes(sc.Seed)
	if s.mean > documentMost {
		return fmt.Errorf("documents of %s: MongoDB accepts at most %s", s.mean.Exact(), documentMost.Exact())
	}

	each := uint64(min(max(loadBytes/max(s.mean, 1), 1), loadMost))
	var at atomic.Uint64
	var mu sync.Mutex
	var done int64

	group, ctx := errgroup.WithContext(ctx)
	for range loaders {
		group.Go(func() error {
			for {
				// Each loader takes the next batch when it is free.
				from := at.Add(each) - each
				if from >= documents {
					return nil
				}

				batch := make([]any, 0, each)
				for key := from; key < min(from+each, documents); key++ {
					batch = append(batch, s.make.document(key, 0, size(key)))
				}

				// Unordered, so that the server need not stop at the first error and can insert
				// in parallel.
				if _, err := s.of.InsertMany(ctx, batch, options.InsertMany().SetOrdered(false)); err != nil {
					return fmt.Errorf("cannot insert documents from %d on: %w", from, err)
				}

				mu.Lock()
				done += int64(len(batch))
				if progress != nil {
					progress("inserting documents", done, int64(documents))
				}

				mu.Unlock()
			}
		})
	}

	return group.Wait()
}

// do performs an operation.
func (s *store) do(ctx context.Context, op *lab.Op) error {
	if s == nil {
		return errNotRunning
	}

	id := bson.D{{Key: "_id", Value: int64(op.Key)}}
	switch op.Kind {
	case workload.Insert:
		_, err := s.of.InsertOne(ctx, s.make.document(op.Key, op.Seq, max(op.Document, op.Size)))
		if mongo.IsDuplicateKeyError(err) { // an earlier update inserted it
			again := *op
			again.Kind = workload.Update
			return s.do(ctx, &again)
		}
		return err
	case workload.Update, workload.Push:
		_, err := s.of.UpdateOne(ctx, id, s.make.update(op), options.UpdateOne().SetUpsert(true))
		return err
	case workload.Scan:
		many := max(1, int64(op.Document/max(s.mean, 1)))
		from := bson.D{{Key: "_id", Value: bson.D{{Key: "$gte", Value: int64(op.Key)}}}}
		found, err := s.of.Find(ctx, from, options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}).SetLimit(many))
		if err != nil {
			return err
		}
		for found.Next(ctx) { // only the transfer matters
		}
		return errors.Join(found.Err(), found.Close(ctx))
	default:
		_, err := s.of.FindOne(ctx, id).Raw()
		if errors.Is(err, mongo.ErrNoDocuments) {
			return nil // the preceding insert failed or is still in progress
		}
		return err
	}
}

// read returns the number of the write that produced a document.
func (s *store) read(ctx context.Context, key uint64) (seq uint64, found bool, err error) {
	if s == nil {
		return 0, false, errNotRunning
	}

	raw, err := s.of.FindOne(ctx, bson.D{{Key: "_id", Value: int64(key)}}).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	n, ok := raw.Lookup("seq").Int64OK()
	if !ok {
		return 0, false, fmt.Errorf("document %d has no seq: it was not written by plimsoll", key)
	}
	return uint64(n), true, nil
}

// close disconnects.
func (s *store) close(ctx context.Context) error {
	if s.watcher != nil {
		s.watcher()
		s.watched.Wait()
	}
	return s.client.Disconnect(ctx)
}
