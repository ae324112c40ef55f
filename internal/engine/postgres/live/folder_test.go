package live_test

import (
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/engine/postgres/live"
	"plimsoll/internal/record/recognise"
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

func TestConfiguration(t *testing.T) {
	e := recognise.Engine{Configured: live.Configured, ConfiguredPort: live.ConfiguredPort}
	for text, want := range map[string]string{
		"# comment\nlisten_addresses = '*'\nport = 5433\t# (change requires restart)\n": "5433",
		"#listen_addresses = 'localhost'\n#port = 5432\n":                               "5432",
		"# TYPE DATABASE USER\nlocal   all             postgres peer\n":                 "",
		"port = 5432\n": "no",
	} {
		port, is := e.Configuration([]byte(text))
		if got := port; is && got != want || is == (want == "no") {
			t.Errorf("%q: port %q, %t; want %q", text, port, is, want)
		}
	}
}
