package host

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"plimsoll/internal/record/recording"
)

// A running is a process in the /proc of a test.
type running struct {
	name        string
	pid, parent int
	written     int64
	files       []string
}

func (p running) put(t *testing.T, root string) {
	t.Helper()
	dir := filepath.Join(root, "proc", fmt.Sprint(p.pid))
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	write("stat", fmt.Sprintf("%d (%s) S %d 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 7%d 1000 200 18446744073709551615 0 0 0 0 0 0 0\n", p.pid, p.name, p.parent, p.pid))
	write("io", fmt.Sprintf("rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: %d\ncancelled_write_bytes: 0\n", p.written))
	write("mountinfo", "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 259:0 / /data rw - xfs /dev/nvme1n1 rw\n3 1 259:1 / /wal rw - xfs /dev/nvme2n1 rw\n")
	write("net/tcp", "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"+
		"   0: 0100007F:15DF 00000000:0000 0A 00000000:00000000 00:00000000 00000000  999        0 4242 1 0 100 0 0 10 0\n"+
		"   1: 0100007F:15DF 0100007F:9999 01 00000000:00000000 00:00000000 00000000  999        0 4243 1 0 100 0 0 10 0\n")

	for i, to := range p.files {
		at := filepath.Join(dir, "fd", fmt.Sprint(i))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(at)
		if err := os.Symlink(to, at); err != nil {
			t.Fatal(err)
		}
	}
}

// The program that writes most is reported with the ID of its parent process, the device of its files
// and its port. Writes before the first scan do not count, and neither does a process that reuses
// another one's ID.
func TestWriters(t *testing.T) {
	root := t.TempDir()
	parent := running{name: "postgres", pid: 100, parent: 1, files: []string{"/data/pg/base/1", "/data/pg/pg_wal/2", "socket:[4242]", "/dev/null"}}

	before := []running{{name: "init", pid: 1}, parent, {name: "postgres", pid: 101, parent: 100, written: 5e9}, {name: "rsync", pid: 200, parent: 1, written: 9e9, files: []string{"/var/x"}}}
	for _, p := range before {
		p.put(t, root)
	}

	w := &writers{root: root}
	at := time.Date(2026, 7, 20, 12, 0, 0, 0, time.UTC)
	w.update(at)

	d := recording.Source{Facts: map[string]string{"os": "Linux"}}
	if w.addFacts(&d); len(d.Facts) != 1 {
		t.Errorf("after one look: %v", d.Facts)
	}

	running{name: "postgres", pid: 101, parent: 100, written: 5e9 + 90e6, files: []string{"/wal/000001"}}.put(t, root)
	running{name: "rsync", pid: 200, parent: 1, written: 9e9 + 10e6}.put(t, root)
	w.update(at.Add(time.Second)) // too early
	w.update(at.Add(writersEvery))
	w.addFacts(&d)

	if got, want := d.Facts["writer.1"], "postgres pid=100 share=0.90 device=nvme1n1,nvme2n1 port=5599"; got != want {
		t.Errorf("%q, want %q", got, want)
	}

	if got, want := d.Facts["writer.2"], "rsync pid=200 share=0.10 device=sda1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}

	if d.Facts["writer.3"] != "" || d.Facts["os"] != "Linux" {
		t.Errorf("facts %v", d.Facts)
	}
}
