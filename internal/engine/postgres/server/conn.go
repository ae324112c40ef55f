//go:build linux

package server

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"plimsoll/internal/base/units"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/workload"
)

const (
	database  = "postgres"
	superuser = "postgres"
	port      = 5432 // part of the socket's name
	// messageBytesMax bounds a message from the server; a row has at most two kilobytes.
	messageBytesMax = 16 << 20
	// connectWithin is how long connecting may take. The server has to fork for it, which may
	// stall.
	connectWithin = 30 * time.Second
)

// A dialer connects to a server. The server's statistics show name as the application.
type dialer func(ctx context.Context, name string) (*pgconn.PgConn, error)

// dialSocket returns a dialer for a server that listens on a socket in a folder.
func dialSocket(socket string) dialer {
	return func(ctx context.Context, name string) (*pgconn.PgConn, error) { return dial(ctx, socket, name) }
}

// dial connects to the server's socket.
func dial(ctx context.Context, socket, name string) (*pgconn.PgConn, error) {
	cfg, err := pgconn.ParseConfig("sslmode=disable")
	if err != nil {
		return nil, err
	}
	// The environment may describe another server: override it.
	cfg.Host, cfg.Port, cfg.Database, cfg.User, cfg.Password = socket, port, database, superuser, ""
	cfg.Fallbacks, cfg.ValidateConnect = nil, nil
	cfg.ConnectTimeout = connectWithin
	cfg.MaxProtocolMessageBodyLen = messageBytesMax
	cfg.RuntimeParams = map[string]string{"application_name": name}
	return pgconn.ConnectConfig(ctx, cfg)
}

// A link is a connection of the workload with its prepared statements. It connects on first use.
type link struct {
	mu     sync.Mutex
	dial   dialer
	schema *schema
	conn   *pgconn.PgConn

	// Parameters in PostgreSQL's binary format.
	id, seq    [8]byte
	text, past []byte
}

var (
	binary3 = []int16{1, 1, 1}
	binary2 = binary3[:2]
)

// ready connects if there is no connection or it is broken.
func (l *link) ready(ctx context.Context) error {
	if l.conn != nil && !l.conn.IsClosed() {
		return nil
	}
	c, err := l.dial(ctx, "plimsoll")
	if err != nil {
		return err
	}
	for _, s := range l.schema.statements {
		if _, err := c.Prepare(ctx, s[0], s[1], nil); err != nil {
			return errors.Join(fmt.Errorf("preparing %s: %w", s[0], err), c.Close(ctx))
		}
	}
	l.conn = c
	return nil
}

// close ends the connection, if there is one.
func (l *link) close(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		_ = l.conn.Close(ctx) // the server may be down
		l.conn = nil
	}
}

// do performs an operation.
func (l *link) do(ctx context.Context, op *lab.Op, mean units.Size) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.ready(ctx); err != nil {
		return err
	}

	binary.BigEndian.PutUint64(l.id[:], op.Key)
	binary.BigEndian.PutUint64(l.seq[:], op.Seq)

	switch op.Kind {
	case workload.Update, workload.Push:
		rows, err := l.update(ctx)
		if err == nil && rows == 0 { // the row's insert failed or is still in progress
			err = l.insert(ctx)
		}
		return err
	case workload.Insert:
		err := l.insert(ctx)
		if hasCode(err, uniqueViolation) {
			_, err = l.update(ctx) // an update of the row was faster and inserted it
		}
		return err
	case workload.Scan:
		many := binary.BigEndian.AppendUint64(nil, uint64(max(1, op.Document/max(mean, 1))))
		_, err := l.conn.ExecPrepared(ctx, scan, [][]byte{l.id[:], many}, binary2, binary2).Close()
		return err
	default:
		_, err := l.conn.ExecPrepared(ctx, read, [][]byte{l.id[:]}, binary2[:1], binary2).Close()
		return err
	}
}

// update changes a row and adds its history. Statements sent together without a BEGIN form one
// transaction (PostgreSQL 15 documentation, 55.2.3).
func (l *link) update(ctx context.Context) (rows int64, err error) {
	var batch pgconn.Batch
	batch.ExecPrepared(update, [][]byte{l.id[:], l.seq[:], l.text}, binary3, nil)
	if l.schema.hasPast {
		values := [][]byte{l.id[:], l.seq[:], l.past}
		formats := binary3
		if l.schema.pastText == 0 {
			values, formats = values[:2], binary2
		}
		batch.ExecPrepared(past, values, formats, nil)
	}

	results := l.conn.ExecBatch(ctx, &batch)
	for first := true; results.NextResult(); first = false {
		tag, err := results.ResultReader().Close()
		if err != nil {
			return 0, errors.Join(err, results.Close())
		}
		if first {
			rows = tag.RowsAffected()
		}
	}

	return rows, results.Close()
}

func (l *link) insert(ctx context.Context) error {
	_, err := l.conn.ExecPrepared(ctx, insert, [][]byte{l.id[:], l.seq[:], l.text}, binary3, nil).Close()
	return err
}

// read returns the number of the write that produced a row.
func (l *link) read(ctx context.Context, key uint64) (seq uint64, found bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.ready(ctx); err != nil {
		return 0, false, err
	}
	binary.BigEndian.PutUint64(l.id[:], key)
	got := l.conn.ExecPrepared(ctx, read, [][]byte{l.id[:]}, binary2[:1], binary2).Read()
	if got.Err != nil || len(got.Rows) == 0 {
		return 0, false, got.Err
	}
	if n := len(got.Rows[0][0]); n != 8 {
		return 0, false, fmt.Errorf("row %d has a seq of %d bytes", key, n)
	}
	return binary.BigEndian.Uint64(got.Rows[0][0]), true, nil
}

// clients are the connections to a running server. They implement parts of lab.Server.
type clients struct {
	pool   atomic.Pointer[pool]
	reader *link      // used by Read, so that checks do not wait for the workload
	mean   units.Size // of a document
}

// Do implements lab.Server.
func (c *clients) Do(ctx context.Context, conn int, op *lab.Op) error {
	p := c.pool.Load()
	if p == nil {
		return errNotRunning
	}
	return p.do(ctx, conn, op, c.mean)
}

// Read implements lab.Server.
func (c *clients) Read(ctx context.Context, key uint64) (seq uint64, found bool, err error) {
	if c.reader == nil {
		return 0, false, errNotRunning
	}
	return c.reader.read(ctx, key)
}

// end closes the connections.
func (c *clients) end(ctx context.Context) {
	if p := c.pool.Swap(nil); p != nil {
		p.close(ctx)
	}
	if c.reader != nil {
		c.reader.close(ctx)
		c.reader = nil
	}
}

// A pool maps the workload's connections to the server's.
type pool struct {
	links []*link
	free  chan *link // used if the server has fewer connections; nil: one each
}

func newPool(dial dialer, s *schema, connections, most int) *pool {
	p := &pool{}
	text, past := prose(s.text), prose(s.pastText)
	for range max(min(connections, most), 1) {
		p.links = append(p.links, &link{dial: dial, schema: s, text: text, past: past})
	}
	if connections > most {
		p.free = make(chan *link, most)
		for _, l := range p.links {
			p.free <- l
		}
	}
	return p
}

// connect opens all connections.
func (p *pool) connect(ctx context.Context) error {
	for _, l := range p.links {
		l.mu.Lock()
		err := l.ready(ctx)
		l.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *pool) close(ctx context.Context) {
	for _, l := range p.links {
		l.close(ctx)
	}
}

func (p *pool) do(ctx context.Context, conn int, op *lab.Op, mean units.Size) error {
	if p.free == nil {
		if conn < 0 || conn >= len(p.links) {
			return fmt.Errorf("postgres: connection %d of %d", conn, len(p.links))
		}
		return p.links[conn].do(ctx, op, mean)
	}
	select {
	case l := <-p.free:
		defer func() { p.free <- l }()
		return l.do(ctx, op, mean)
	case <-ctx.Done():
		return ctx.Err()
	}
}
