//go:build linux

package server

import (
	"math"
	"strconv"

	"plimsoll/internal/base/units"
	postgres "plimsoll/internal/engine/postgres/model"
)

// Sizes in bytes within a row (PostgreSQL 15 documentation, 73.6 and 8.1): the row header with its
// alignment, a bigint or timestamp, and the header of a text of up to 126 bytes or of a longer one.
const (
	rowHeader   = 24
	wide        = 8
	shortHeader = 1
	shortText   = 126
	longHeader  = 4
)

// filler returns the number of bytes of text that make a row of the given size, in addition to this
// many columns of 8 bytes.
func filler(row units.Size, columns int) int {
	left := int(row) - rowHeader - wide*columns
	switch {
	case left <= shortHeader:
		return 0
	case left <= shortHeader+shortText:
		return left - shortHeader
	}
	return max(left-longHeader, shortText)
}

// Names of the prepared statements.
const (
	update = "update"
	insert = "insert"
	past   = "history"
	read   = "read"
	scan   = "scan"
)

// A schema describes the tables.
type schema struct {
	text, pastText int // bytes of filler in a row of each table
	hasPast        bool
	create         []string
	statements     [][2]string // name and text
}

func newSchema(c *postgres.Config) schema {
	s := schema{text: filler(c.Row, 2), hasPast: c.HistoryRow > 0}
	percent := strconv.Itoa(int(math.Round(float64(c.FillFactor) * 100)))

	// EXTERNAL keeps the server from compressing the texts, whose size matters.
	s.create = []string{
		"CREATE TABLE pgbench_accounts (id bigint NOT NULL, seq bigint NOT NULL, filler text NOT NULL) WITH (fillfactor = " +
			percent + ")",
		"ALTER TABLE pgbench_accounts ALTER filler SET STORAGE EXTERNAL",
	}

	s.statements = [][2]string{
		{update, "UPDATE pgbench_accounts SET seq = $2, filler = $3 WHERE id = $1"},
		{insert, "INSERT INTO pgbench_accounts VALUES ($1, $2, $3)"},
		{read, "SELECT seq, filler FROM pgbench_accounts WHERE id = $1"},
		{scan, "SELECT seq, filler FROM pgbench_accounts WHERE id >= $1 ORDER BY id LIMIT $2"},
	}

	if !s.hasPast {
		return s
	}

	s.pastText = filler(c.HistoryRow, 3)
	more, value := "", ""
	if s.pastText > 0 {
		more, value = ", filler text NOT NULL", ", $3"
	}

	s.create = append(s.create,
		"CREATE TABLE pgbench_history (id bigint NOT NULL, seq bigint NOT NULL, mtime timestamptz NOT NULL"+
			more+")")
	if more != "" {
		s.create = append(s.create, "ALTER TABLE pgbench_history ALTER filler SET STORAGE EXTERNAL")
	}

	s.statements = append(s.statements,
		[2]string{past, "INSERT INTO pgbench_history VALUES ($1, $2, now()" + value + ")"})
	return s
}

// prose returns n characters that are valid in a text and do not repeat (splitmix64's bits in base
// 64).
func prose(n int) []byte {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	out := make([]byte, 0, n+10)
	for x := uint64(n); len(out) < n; {
		x += 0x9e3779b97f4a7c15
		z := (x ^ x>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
		for range 10 {
			out = append(out, digits[z%64])
			z /= 64
		}
	}
	return out[:n]
}
