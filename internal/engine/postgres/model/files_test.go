package model

import "testing"

// The checkpointer is recognised by its title, with and without a cluster name, and no client is
// mistaken for it.
func TestIsCheckpointer(t *testing.T) {
	for line, want := range map[string]bool{
		"postgres: checkpointer":                         true,
		"postgres: checkpointer \x00":                    true,
		"postgres: 15/main: checkpointer \x00\x00":       true,
		"postgres: walwriter":                            false,
		"postgres: postgres checkpointer [local] idle":   false,
		"/usr/lib/postgresql/15/bin/postgres\x00-D\x00x": false,
		"vi postgres: checkpointer":                      false,
		"":                                               false,
	} {
		if got := isCheckpointer(line); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

// Files of relations are explained, including their segments and forks, and no others.
func TestRelationOf(t *testing.T) {
	const want = "16396 is a table or an index; --server ADDRESS names it, or in the database with OID 5 (SELECT datname FROM pg_database WHERE oid = 5): SELECT pg_filenode_relation(0, 16396)"
	for _, path := range []string{"/data/base/5/16396", "base/5/16396.1", "/data/base/5/16396_fsm", "/data/base/5/16396_vm.2"} {
		if got := relationOf(path); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
	for _, path := range []string{"", "/data/pg_wal/000000010000000000000001", "/data/base/5/PG_VERSION", "/data/global/1260"} {
		if got := relationOf(path); got != "" {
			t.Errorf("%s: %q", path, got)
		}
	}
}
