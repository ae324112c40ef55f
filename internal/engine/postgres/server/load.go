//go:build linux

package server

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"plimsoll/internal/lab"
)

// rowsReader generates rows in COPY's format: columns separated by tabs, one row per line.
type rowsReader struct {
	at, end  int64
	text     []byte
	rest     []byte // unread part of the last rows generated
	buffer   []byte
	progress lab.Progress
}

// rowsPerChunk is how many rows are generated at a time.
const rowsPerChunk = 1000

func (r *rowsReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.at == r.end {
			return 0, io.EOF
		}

		r.buffer = r.buffer[:0]
		for n := 0; n < rowsPerChunk && r.at < r.end; n++ {
			r.buffer = strconv.AppendInt(r.buffer, r.at, 10)
			r.buffer = append(r.buffer, "\t0\t"...)
			r.buffer = append(append(r.buffer, r.text...), '\n')
			r.at++
		}

		r.rest = r.buffer
		if r.progress != nil {
			r.progress("copying rows", r.at, r.end)
		}
	}

	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// load creates the tables, fills them and shared buffers, and ends with a checkpoint.
func (s *Server) load(ctx context.Context, rows int64, progress lab.Progress) error {
	c, err := dial(ctx, s.socket, "plimsoll-load")
	if err != nil {
		return err
	}

	defer func() { _ = c.Close(ctx) }()
	if progress == nil {
		progress = func(string, int64, int64) {}
	}

	if err := s.schema.fill(ctx, c, rows, progress); err != nil {
		return err
	}

	progress("filling shared buffers", 0, 0)
	if err := s.prewarm(ctx, c); err != nil {
		s.m.Print("cannot fill shared buffers: " + err.Error())
	}

	progress("checkpoint", 0, 0)
	return execute(ctx, c, "CHECKPOINT")
}

// fill creates the tables, their index and rows.
func (s *schema) fill(ctx context.Context, c *pgconn.PgConn, rows int64, progress lab.Progress) error {
	// FREEZE spares the vacuum from writing all pages again. It requires that the same transaction
	// created the table.
	if err := execute(ctx, c, append([]string{"BEGIN"}, s.create...)...); err != nil {
		return err
	}
	from := &rowsReader{end: rows, text: prose(s.text), progress: progress}
	if _, err := c.CopyFrom(ctx, from, "COPY pgbench_accounts FROM STDIN WITH (FREEZE)"); err != nil {
		return fmt.Errorf("copying %d rows: %w", rows, err)
	}
	progress("creating the index", 0, 0)
	return execute(ctx,
		c, "COMMIT", "SET maintenance_work_mem = '256MB'",
		"ALTER TABLE pgbench_accounts ADD PRIMARY KEY (id)", "VACUUM ANALYZE pgbench_accounts")
}

// prewarm fills shared buffers with the index and as much of the table as fits.
func (s *Server) prewarm(ctx context.Context, c *pgconn.PgConn) error {
	return execute(ctx, c, "CREATE EXTENSION pg_prewarm",
		`WITH room AS (SELECT setting::bigint AS pages FROM pg_settings WHERE name = 'shared_buffers'),
		      size AS (SELECT pg_relation_size('pgbench_accounts_pkey') / 8192 AS index, pg_relation_size('pgbench_accounts') / 8192 AS heap)
		SELECT CASE WHEN index > 0 THEN pg_prewarm('pgbench_accounts_pkey', 'buffer', 'main', 0, least(index, pages) - 1) END,
		       CASE WHEN least(heap, pages - index) > 0 THEN pg_prewarm('pgbench_accounts', 'buffer', 'main', 0, least(heap, pages - index) - 1) END
		FROM room, size`)
}

// execute runs statements one after another.
func execute(ctx context.Context, c *pgconn.PgConn, statements ...string) error {
	for _, text := range statements {
		if err := c.Exec(ctx, text).Close(); err != nil {
			return fmt.Errorf("%.60s: %w", text, err)
		}
	}
	return nil
}
