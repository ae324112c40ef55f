//go:build linux

package server

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	wiredtiger "plimsoll/internal/engine/mongodb/model"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/workload"
)

// realPatience is how long a busy machine may take for each start of a mongod.
const realPatience = 5 * time.Minute

// A real mongod (PLIMSOLL_MONGOD) is started with a separate journal, loaded, killed and restarted,
// and has every acknowledged write.
func TestRealMongod(t *testing.T) {
	path := os.Getenv("PLIMSOLL_MONGOD")
	if path == "" {
		t.Skip("PLIMSOLL_MONGOD names no mongod")
	}

	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { //nolint:gosec // the engine's user needs access
		t.Fatal(err)
	}

	m := machine(t, dir, strings.Replace(text, "volumes: {", "volumes: {journal: {type: gp3, size: 10GiB}, ", 1), "data", "journal")
	m.Log = func(line string) { t.Log(line) }
	s, err := New(path, *scenario.ConfigOf[*wiredtiger.Config](m.Scenario))
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), realPatience)
	defer cancel()
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})

	if err := s.Start(ctx, m, nil); err != nil {
		t.Fatal(err)
	}

	t.Log(s.Describe())
	logs, err := filepath.Glob(filepath.Join(m.Dirs["journal"], "journal", "WiredTigerLog.*"))
	if err != nil || len(logs) == 0 {
		t.Errorf("its journal is not on the journal's volume: %v, %v", logs, err)
	}

	const written = 100
	for i := range uint64(written) {
		do(t, s, workload.Update, i, i+1, 300, 300)
	}

	for range 2 {
		if err := s.Restart(ctx); err != nil { // kills it first
			t.Fatal(err)
		}
		for i := range uint64(written) {
			reads(t, s, i, i+1, true)
		}
		reads(t, s, 1499, 0, true)
	}

	do(t, s, workload.Insert, 2000, 7, 300, 300)
	do(t, s, workload.Scan, 10, 0, 0, 3000)
	reads(t, s, 2000, 7, true)

	if err := s.Do(ctx, 0, &lab.Op{Op: workload.Op{Kind: workload.Read, Key: 5}}); err != nil {
		t.Error(err)
	}
}
