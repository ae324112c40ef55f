//go:build linux

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/trace/events"
)

// A trace names the table that blocked the calls instead of its numeric file name. The trace is a real
// one, of fio behind a dd, whose large file gets the file name of a real server's table.
func TestTraceNamesTables(t *testing.T) {
	s := realPostgres(t, "fsync = off")
	if _, err := s.Exec("CREATE TABLE orders (n int)"); err != nil {
		t.Fatal(err)
	}
	file, err := s.Exec("SELECT current_setting('data_directory') || '/' || pg_relation_filepath('orders')")
	if err != nil {
		t.Fatal(err)
	}

	h, b, err := events.LoadFile("../../internal/trace/chain/testdata/xfs-dd.trace")
	if err != nil {
		t.Fatal(err)
	}
	for i := range b.Files {
		if f := &b.Files[i]; filepath.Base(f.Path) == "big" || len(f.Names) > 0 && f.Names[0] == "big" {
			f.Path, f.Names = file[0], nil
		}
	}
	saved := filepath.Join(t.TempDir(), "saved.trace")
	if err := events.SaveFile(saved, h, b, false); err != nil {
		t.Fatal(err)
	}

	run := func(args ...string) string {
		t.Helper()
		a, stdout, stderr := testApp(append([]string{"trace", saved}, args...)...)
		if code := a.run(t.Context()); code != exitFine {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		return strings.Join(strings.Fields(stdout.String()), " ")
	}

	// A saved trace may be from another machine, so a server is only queried if its address is given.
	number := filepath.Base(file[0])
	if got := run(); !strings.Contains(got, "behind pages of "+number+" that dd") ||
		!strings.Contains(got, "SELECT pg_filenode_relation(0, "+number+")") {
		t.Errorf("without a server:\n%s", got)
	}
	address := s.Socket("postgres", "postgres")
	if got := run("--server", address); !strings.Contains(got, "behind pages of orders that dd") ||
		strings.Contains(got, number) {
		t.Errorf("with the server:\n%s", got)
	}
	if got := run("--server", address, "-o", "json"); !strings.Contains(got, `"holds": "orders"`) {
		t.Error("the JSON does not say what the file holds")
	}

	// If the server cannot be queried, the trace is still complete.
	if got := run("--server", "postgres://postgres:s3cret@127.0.0.1:1/postgres"); !strings.Contains(got, "behind pages of "+number) ||
		!strings.Contains(got, "Cannot ask PostgreSQL what its files hold: ") || strings.Contains(got, "s3cret") {
		t.Errorf("without an answer:\n%s", got)
	}
}
