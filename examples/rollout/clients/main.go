// Command clients writes to the mongod of a rollout, and looks for each acknowledged write afterwards:
//
//	clients make URI           # a replica set of one, with the documents
//	clients write URI LEDGER   # until it is interrupted
//	clients check URI LEDGER   # counts acknowledged writes, and documents that lost one
//
// Writes have {w: majority, j: true}, arrive 100 times a second whatever the server does, and continue as
// soon as the server is back. The ledger has a line for each acknowledged one: document and number.
package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/url"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"golang.org/x/sync/errgroup"
)

// The load: the volume's IOPS, the cache and the rate are in mongodb.sh and mongodb.yaml.
const (
	documents   = 150_000
	size        = 4096 // bytes a document, random ones: they do not compress
	rate        = 100  // updates a second
	connections = 32
	batch       = 1000 // documents of an insert
)

func main() {
	if len(os.Args) < 3 || len(os.Args) < 4 && os.Args[1] != "make" {
		fmt.Fprintln(os.Stderr, "usage: clients make URI | write URI LEDGER | check URI LEDGER")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, args []string) error {
	// A retry by the driver would hide how long a write took.
	o := options.Client().ApplyURI(args[1]).SetRetryWrites(false).SetMaxPoolSize(
		connections + 2).SetServerSelectionTimeout(time.Second)
	c, err := mongo.Connect(o)
	if err != nil {
		return err
	}

	defer func() { _ = c.Disconnect(context.WithoutCancel(ctx)) }()
	journaled := true

	of := c.Database("rollout").Collection("documents", options.Collection().
		SetWriteConcern(&writeconcern.WriteConcern{W: writeconcern.WCMajority, Journal: &journaled}))
	switch args[0] {
	case "make":
		return fill(ctx, c, of, args[1])
	case "write":
		return write(ctx, of, args[2])
	case "check":
		return check(ctx, out, of, args[2])
	default:
		return fmt.Errorf("%s: unknown", args[0])
	}
}

// fill makes the replica set and the documents, and has a checkpoint written.
func fill(ctx context.Context, client *mongo.Client, of *mongo.Collection, uri string) error {
	at, err := url.Parse(uri)
	if err != nil {
		return err
	}

	set := bson.D{{Key: "_id", Value: "rollout"},
		{Key: "members", Value: bson.A{bson.D{{Key: "_id", Value: 0}, {Key: "host", Value: at.Host}}}}}
	if err := client.Database("admin").RunCommand(ctx,
		bson.D{{Key: "replSetInitiate", Value: set}}).Err(); err != nil {
		return err
	}

	// A new set elects its first primary within seconds, and refuses writes until then.
	for {
		var who struct {
			Primary bool `bson:"isWritablePrimary"`
		}
		if err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&who); err != nil {
			return err
		}
		if who.Primary {
			break
		}
		if !until(ctx, time.Now().Add(100*time.Millisecond)) {
			return ctx.Err()
		}
	}

	group, inside := errgroup.WithContext(ctx)
	group.SetLimit(4)

	for from := 0; from < documents; from += batch {
		group.Go(func() error {
			many := make([]any, batch)
			for i := range many {
				many[i] = bson.D{{Key: "_id", Value: from + i}, {Key: "n", Value: int64(0)},
					{Key: "text", Value: noise()}}
			}
			_, err := of.InsertMany(inside, many)
			return err
		})
	}

	if err := group.Wait(); err != nil {
		return err
	}

	return client.Database("admin").RunCommand(ctx, bson.D{{Key: "fsync", Value: 1}}).Err()
}

func noise() []byte {
	b := make([]byte, size)
	_, _ = rand.Read(b) // never fails
	return b
}

// write updates documents until the context ends. A document belongs to one connection, and its number
// only grows, so a document with a smaller number than an acknowledged one has lost it.
func write(ctx context.Context, of *mongo.Collection, ledger string) error {
	f, err := os.OpenFile(ledger, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}

	var mu sync.Mutex
	var all sync.WaitGroup

	var failed error
	for conn := range connections {
		all.Go(func() {
			draw := mathrand.New(mathrand.NewPCG(uint64(conn), uint64(documents)))
			due := time.Now()
			for n := time.Now().UnixNano(); ; n++ {
				due = due.Add(time.Duration(draw.ExpFloat64() / rate * connections * float64(time.Second)))
				if !until(ctx, due) {
					return
				}

				key := draw.IntN(documents/connections)*connections + conn
				if err := update(of, key, n); err != nil {
					// The server is stopped: drop the writes that were due meanwhile.
					due = time.Now().Add(100 * time.Millisecond)
					continue
				}

				mu.Lock()
				if _, err := fmt.Fprintln(f, key, n); err != nil {
					failed = err
				}

				mu.Unlock()
			}
		})
	}

	all.Wait()
	return errors.Join(failed, f.Close())
}

// until waits; false if the context ends first.
func until(ctx context.Context, due time.Time) bool {
	t := time.NewTimer(time.Until(due))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// update is not given up when the writers are stopped: what the server answers counts.
func update(of *mongo.Collection, key int, n int64) error {
	change := bson.D{{Key: "$max", Value: bson.D{{Key: "n", Value: n}}},
		{Key: "$set", Value: bson.D{{Key: "text", Value: noise()}}}}
	r, err := of.UpdateByID(context.Background(), key, change)
	if err == nil && r.MatchedCount != 1 {
		return fmt.Errorf("document %d is gone", key)
	}
	return err
}

// check reads every document that the ledger names.
func check(ctx context.Context, out io.Writer, of *mongo.Collection, ledger string) error {
	f, err := os.Open(ledger)
	if err != nil {
		return err
	}

	defer f.Close()
	newest, writes := map[int]int64{}, 0
	for in := bufio.NewReader(f); ; writes++ {
		var key int
		var n int64
		if _, err := fmt.Fscanln(in, &key, &n); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("%s, line %d: %w", ledger, writes+1, err)
		}
		// A document is written many times; only the newest acknowledged number must be there.
		newest[key] = max(newest[key], n)
	}

	found, err := of.Find(ctx, bson.D{}, options.Find().SetProjection(bson.D{{Key: "n", Value: 1}}))
	if err != nil {
		return err
	}

	there := map[int]int64{}
	for found.Next(ctx) {
		var d struct {
			ID int   `bson:"_id"`
			N  int64 `bson:"n"`
		}
		if err := found.Decode(&d); err != nil {
			return err
		}
		there[d.ID] = d.N
	}

	lost := 0
	for key, n := range newest {
		// A greater number is fine: the last write may have arrived without its acknowledgement.
		if there[key] < n {
			lost++
		}
	}

	fmt.Fprintf(out, "%d acknowledged writes to %d documents, %d lost\n", writes, len(newest), lost)
	if lost > 0 {
		return errors.New("acknowledged writes are lost")
	}

	return found.Err()
}
