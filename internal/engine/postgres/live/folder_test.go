package live_test

import (
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/engine/postgres/live"
)

func TestDataFolder(t *testing.T) {
	dir := t.TempDir()
	if _, _, is := live.DataFolder(dir); is {
		t.Error("an empty folder is taken for a data directory")
	}

	for _, name := range []string{"pg_wal", "global"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"PG_VERSION":     "15\n",
		"postmaster.pid": "4711\n/var/lib/pg\n1764354154\n5599\n/var/run/postgresql\nlocalhost\n  123 0\nready   \n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	if pid, port, is := live.DataFolder(dir); pid != 4711 || port != "5599" || !is {
		t.Errorf("the server is process %d on port %q, %t; want 4711 and 5599", pid, port, is)
	}
}
