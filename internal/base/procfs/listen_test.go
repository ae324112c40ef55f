package procfs

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const twoListeners = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:15DF 00000000:0000 0A 00000000:00000000 00:00000000 00000000   113        0 4242 1 0 100 0 0 10 0
   1: 0100007F:15DF 0100007F:C350 01 00000000:00000000 00:00000000 00000000   113        0 4243 1 0 20 4 30 10 -1
   2: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4244 1 0 100 0 0 10 0
   3: torn
`

// A process is listed with its own sockets. If those are hidden, it is listed with its user's, unless
// the user is root.
func TestListening(t *testing.T) {
	proc := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(proc, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	write("net/tcp", twoListeners)
	write("7/status", "Name:\tpostgres\nUid:\t113\t113\t113\t113\n")
	write("8/status", "Name:\tsshd\nUid:\t0\t0\t0\t0\n")
	if err := os.MkdirAll(filepath.Join(proc, "9", "fd"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("socket:[4244]", filepath.Join(proc, "9", "fd", "3")); err != nil {
		t.Fatal(err)
	}

	for pid, want := range map[int][]int{7: {5599}, 8: nil, 9: {22}, 10: nil} {
		if got := Listening(proc, pid); !slices.Equal(got, want) {
			t.Errorf("process %d listens on %v, want %v", pid, got, want)
		}
	}
}

// This process's own listener is found on a real system.
func TestListeningHere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	addr, ok := l.Addr().(*net.TCPAddr)
	if _, err := os.Stat("/proc/net/tcp"); err != nil || !ok {
		t.Skipf("no /proc/net/tcp: %v", err)
	}
	if got := Listening("/proc", os.Getpid()); !slices.Contains(got, addr.Port) {
		t.Errorf("this process listens on %d, and %v was found", addr.Port, got)
	}
}
