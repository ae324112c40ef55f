package main

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/trace/chain"
)

// Only a checkpointer works without a client that waits for it; a WAL writer or a backend does not.
func TestInBackground(t *testing.T) {
	for line, want := range map[string]bool{
		"postgres: checkpointer \x00\x00":             true,
		"postgres: main: checkpointer \x00":           true,
		"postgres: walwriter \x00":                    false,
		"postgres: app app 10.0.0.1(4711) COMMIT\x00": false,
		"/usr/lib/postgresql/15/bin/postgres\x00-D":   false,
		"mongod\x00--dbpath\x00/data":                 false,
		"etcd\x00":                                    false,
		"":                                            false,
	} {
		if got := inBackground(line); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}

// Numbers in place of names are explained, each once, and at most a few of them.
func TestFileHints(t *testing.T) {
	behind := func(files ...string) *chain.Report {
		r := &chain.Report{}
		for _, f := range files {
			r.Behind = append(r.Behind, chain.Behind{Culprit: chain.Culprit{File: f}})
		}
		return r
	}

	got := fileHints(behind("/data/base/5/16396", "/data/base/5/16396.1", "/data/base/5/16396_fsm", "/data/pg_wal/000000010000000000000001", "/data/journal/WiredTigerLog.0000000001"))
	if len(got) != 1 || !strings.Contains(got[0], "OID 5") || !strings.Contains(got[0], "pg_filenode_relation(0, 16396)") {
		t.Errorf("%q", got)
	}

	var many []string
	for i := range 2 * fileHintsMax {
		many = append(many, fmt.Sprintf("/data/base/5/%d", 20000+i))
	}
	if got := fileHints(behind(many...)); len(got) != fileHintsMax {
		t.Errorf("%d hints for %d files", len(got), len(many))
	}
	if got := fileHints(behind()); len(got) != 0 {
		t.Errorf("%q without any file", got)
	}
}
