package live_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/engine/postgres/live"
	"plimsoll/internal/engine/postgres/postgrestest"
	"plimsoll/internal/record/recognise"
)

// The files of a real server's tables are named, whether its address is given or it is found by their data
// directory.
func TestRealFileNames(t *testing.T) {
	if err := postgrestest.Available(); err != nil {
		t.Skip(err)
	}

	root, err := os.MkdirTemp("", "plimsoll-names-") // the server's user must be able to enter it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}

	s, err := postgrestest.Start(filepath.Join(root, "pg"), postgrestest.Options{Conf: "fsync = off"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })

	one := func(sql string) string {
		t.Helper()
		rows, err := s.Exec(sql)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) == 0 {
			return ""
		}
		return rows[0]
	}

	// Rewriting a table gives it and its indexes a filenode that differs from the OID.
	one("CREATE TABLE orders (id int PRIMARY KEY, note text)")
	one("INSERT INTO orders SELECT id, repeat(md5(id::text), 30) FROM generate_series(1, 1000) AS id")
	one("CREATE SCHEMA app; CREATE TABLE app.queue (id serial)")
	one("VACUUM FULL orders")
	one("VACUUM orders")
	data := one("SHOW data_directory")
	file := func(relation string) string {
		return data + "/" + one("SELECT pg_relation_filepath("+relation+")")
	}

	orders := file("'orders'")
	want := map[string]string{
		orders: "orders", orders + ".1": "orders", orders + "_fsm": "orders (free space map)",
		file("'orders_pkey'"):      "index orders_pkey",
		file("'app.queue'"):        "app.queue",
		file("'app.queue_id_seq'"): "sequence app.queue_id_seq",
		file("'pg_class'"):         "pg_class",
		file("'pg_database'"):      "pg_database",
		file("(SELECT reltoastrelid FROM pg_class WHERE relname = 'orders')"):                                                    "the TOAST table of orders",
		file("(SELECT indexrelid FROM pg_index WHERE indrelid = (SELECT reltoastrelid FROM pg_class WHERE relname = 'orders'))"): "the TOAST index of orders",
	}
	paths := []string{data + "/pg_wal/000000010000000000000001", filepath.Dir(orders) + "/4000000000", filepath.Dir(orders) + "/PG_VERSION"}
	for path := range want {
		paths = append(paths, path)
	}

	none := func(string) string { return "" }
	for how, address := range map[string]string{"by its address": s.Socket("postgres", "postgres"), "by its folder": ""} {
		got, err := live.FileNames(t.Context(), address, paths, recognise.LiveOptions{Getenv: none})
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: %v\n%v\nwant %v", how, err, got, want)
		}
	}

	// A trace has only the last folders of a path, but the whole path of files that were open before it
	// started.
	cut := "..." + strings.TrimPrefix(orders, filepath.Dir(root))
	if got, err := live.FileNames(t.Context(), "", []string{cut, orders}, recognise.LiveOptions{Getenv: none}); err != nil ||
		got[cut] != "orders" || got[orders] != "orders" {
		t.Errorf("%s: %v, %v", cut, got, err)
	}

	// A second database is queried over a separate connection, and the names include the database.
	one("CREATE DATABASE shop")
	shop := file("'pg_class'")
	shop = strings.Replace(shop, "/"+one("SELECT oid FROM pg_database WHERE datname = 'postgres'")+"/",
		"/"+one("SELECT oid FROM pg_database WHERE datname = 'shop'")+"/", 1)
	got, err := live.FileNames(t.Context(), "", []string{orders, shop}, recognise.LiveOptions{Getenv: none})
	if err != nil || got[orders] != "orders (database postgres)" || got[shop] != "pg_class (database shop)" {
		t.Errorf("%v, %v", got, err)
	}

	// If the server cannot be queried, the error does not contain the password.
	for _, address := range []string{"postgres://postgres:wr0ng@127.0.0.1:1/postgres", s.Address("postgres:wr0ng", "postgres")} {
		if got, err := live.FileNames(t.Context(), address, []string{orders}, recognise.LiveOptions{Getenv: none}); err == nil || len(got) > 0 || strings.Contains(err.Error(), "wr0ng") {
			t.Errorf("%s: %v, %v", address, got, err)
		}
	}
}

// If no server runs on the files' data directory, the result is an error; other files are not looked up.
func TestFileNamesWithoutAServer(t *testing.T) {
	none := recognise.LiveOptions{Getenv: func(string) string { return "" }}
	got, err := live.FileNames(t.Context(), "", []string{"/data/journal/WiredTigerLog.0000000001", "/data/pg_wal/000000010000000000000001"}, none)
	if err != nil || len(got) > 0 {
		t.Errorf("%v, %v", got, err)
	}

	for _, paths := range [][]string{
		{filepath.Join(t.TempDir(), "base/5/16396")}, // no server
		{"/a/base/5/16396", "/b/base/5/16396"},       // two
		{"/mnt/fast/PG_15_202209061/5/16396"},        // a tablespace
	} {
		if got, err := live.FileNames(t.Context(), "", paths, none); err == nil {
			t.Errorf("%v: %v without an error", paths, got)
		}
	}
}
