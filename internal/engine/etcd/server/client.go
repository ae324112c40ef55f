//go:build linux

package server

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"plimsoll/internal/base/units"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/workload"
)

const (
	// Links is how many HTTP/2 connections the workload's connections share, if there are more.
	Links = 8
	// SeqBytes is the least size of a value: it contains the number of its write.
	SeqBytes = 8
	// answerBytesMax bounds an answer: the documents of a scan.
	answerBytesMax = 256 << 20
	// requestBytes is etcd's default bound for a request (--max-request-bytes).
	requestBytes = 1536 * units.KiB
	// operationsMost is etcd's default bound for a transaction (--max-txn-ops).
	operationsMost = 128
)

// dial connects to a member, and keeps trying while it is down.
func dial(p *place) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+address(p.client),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1.6,
				MaxDelay: 200 * time.Millisecond},
			MinConnectTimeout: 5 * time.Second,
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(answerBytesMax)))
}

// links are connections to the leader, and one to each member for status requests.
type links struct {
	leader  []*grpc.ClientConn
	members []*grpc.ClientConn
}

func connect(places []place, leader, n int) (*links, error) {
	l := &links{}
	for k := range places {
		c, err := dial(&places[k])
		if err != nil {
			return nil, errors.Join(err, l.close())
		}
		l.members = append(l.members, c)
	}

	for range n {
		c, err := dial(&places[leader])
		if err != nil {
			return nil, errors.Join(err, l.close())
		}
		l.leader = append(l.leader, c)
	}

	return l, nil
}

func (l *links) close() error {
	var errs []error
	for _, c := range append(l.members, l.leader...) {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// kv returns the service for a connection of the workload.
func (l *links) kv(conn int) etcdserverpb.KVClient {
	return etcdserverpb.NewKVClient(l.leader[conn%len(l.leader)])
}

// A writer belongs to a connection of the workload and holds the bytes of its values.
type writer struct{ text []byte }

// value returns a value that is valid until the next call. After the number of the write come
// incompressible bytes (the generator is splitmix64), although nothing between here and the volume
// compresses.
func (w *writer) value(size units.Size, seq uint64) []byte {
	n := int(max(size, SeqBytes))
	for x := uint64(len(w.text)); len(w.text) < n; {
		x += 0x9e3779b97f4a7c15
		z := (x ^ x>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		w.text = binary.BigEndian.AppendUint64(w.text, z^z>>31)
	}
	binary.BigEndian.PutUint64(w.text, seq)
	return w.text[:n]
}

// seqOf returns the number of the write that produced a value.
func seqOf(value []byte) (uint64, error) {
	if len(value) < SeqBytes {
		return 0, fmt.Errorf("the value has %d bytes: it was not written by this program", len(value))
	}
	return binary.BigEndian.Uint64(value), nil
}

// keys format the documents' keys: a prefix and 16 hexadecimal digits, so that they sort by number,
// padded with x to a length.
type keys struct {
	prefix string
	bytes  int // with the prefix; 0: not padded
}

func (k keys) of(key uint64) []byte {
	const digits = "0123456789abcdef"
	out := make([]byte, 0, max(len(k.prefix)+16, k.bytes))
	out = append(out, k.prefix...)
	for i := range 16 {
		out = append(out, digits[key>>(60-4*i)&0xf])
	}
	for len(out) < k.bytes {
		out = append(out, 'x')
	}
	return out
}

// end returns the end of a range over all of them: 0 means the last key of all.
func (k keys) end() []byte {
	if k.prefix == "" {
		return []byte{0}
	}
	out := []byte(k.prefix)
	out[len(out)-1]++
	return out
}

// keyOf returns a key without a prefix.
func keyOf(key uint64) []byte { return keys{}.of(key) }

// sizeOf returns the size of a write's value: etcd writes documents whole.
func sizeOf(op *lab.Op) units.Size { return max(op.Document, op.Size) }

// Do puts or gets. If the database is full, the error says so.
func (s *Server) Do(ctx context.Context, conn int, op *lab.Op) error {
	l := s.links.Load()
	if l == nil {
		return errNotRunning
	}
	if conn < 0 || conn >= len(s.writers) {
		return fmt.Errorf("etcd: connection %d of %d", conn, len(s.writers))
	}
	return explain(perform(ctx, l.kv(conn), keys{}, &s.writers[conn], s.mean, op))
}

// perform puts or gets. mean is the mean size of a document, which converts a scan's bytes to
// documents.
func perform(ctx context.Context, kv etcdserverpb.KVClient, k keys, w *writer, mean units.Size,
	op *lab.Op) error {
	var err error
	switch {
	case op.Kind.Writes():
		_, err = kv.Put(ctx, &etcdserverpb.PutRequest{Key: k.of(op.Key), Value: w.value(sizeOf(op), op.Seq)})
	case op.Kind == workload.Scan:
		many := max(1, int64(op.Document/max(mean, 1)))
		_, err = kv.Range(ctx, &etcdserverpb.RangeRequest{Key: k.of(op.Key), RangeEnd: k.end(), Limit: many})
	default:
		_, err = kv.Range(ctx, &etcdserverpb.RangeRequest{Key: k.of(op.Key)})
	}
	return err
}

// explain adds advice to errors that a change of the scenario avoids.
func explain(err error) error {
	switch {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), "database space exceeded"):
		return fmt.Errorf("%w: the database has reached engine.etcd.quota, raise it, or run for a shorter time",
			err)
	case strings.Contains(err.Error(), "request is too large"), strings.Contains(err.Error(), "larger than max"):
		return fmt.Errorf("%w: etcd accepts at most %s per request, so use smaller documents", err,
			requestBytes.Exact())
	}
	return err
}

// Read gets a document by a linearizable read, which sees everything acknowledged.
func (s *Server) Read(ctx context.Context, key uint64) (seq uint64, found bool, err error) {
	l := s.links.Load()
	if l == nil {
		return 0, false, errNotRunning
	}
	return readSeq(ctx, l.kv(0), keyOf(key))
}

func readSeq(ctx context.Context, kv etcdserverpb.KVClient, key []byte) (seq uint64, found bool, err error) {
	got, err := kv.Range(ctx, &etcdserverpb.RangeRequest{Key: key})
	if err != nil || len(got.Kvs) == 0 {
		return 0, false, err
	}
	seq, err = seqOf(got.Kvs[0].Value)
	return seq, err == nil, err
}
