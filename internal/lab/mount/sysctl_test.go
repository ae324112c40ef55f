//go:build linux

package mount

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/lab/blockdev"
)

const (
	background      = "vm.dirty_background_bytes"
	backgroundPath  = "/proc/sys/vm/dirty_background_bytes"
	backgroundRatio = "/proc/sys/vm/dirty_background_ratio"
)

// holdSetting changes a setting, prints a line, and waits to be killed.
func holdSetting(value string) {
	if _, err := SetSysctl(map[string]string{background: value}); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("set")
	select {}
}

func readSetting(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Skip(err)
	}
	return strings.TrimSpace(string(text))
}

// originals reads the settings while no other process has changed them: tests of other packages run
// in parallel.
func originals(t *testing.T) (bytes, ratio string) {
	t.Helper()
	unlock, err := Lock(context.Background(), settingsLock, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	left, err := recorded()
	if err == nil && left != nil {
		err = left.restore()
	}
	if err != nil {
		t.Fatal(err)
	}
	return readSetting(t, backgroundPath), readSetting(t, backgroundRatio)
}

func needSettings(t *testing.T) {
	t.Helper()
	if err := blockdev.Available(); err != nil {
		t.Skip(err)
	}
	f, err := os.OpenFile(backgroundPath, os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err) // /proc/sys is read-only in some containers
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestSysctl(t *testing.T) {
	needSettings(t)
	bytes, ratio := originals(t)
	s, err := SetSysctl(map[string]string{background: "50331648"})
	if err != nil {
		t.Fatal(err)
	}

	if got := readSetting(t, backgroundPath); got != "50331648" {
		t.Errorf("set to %s", got)
	}

	for range 2 {
		if err := s.Restore(); err != nil {
			t.Fatal(err)
		}
	}

	if b, r := originals(t); b != bytes || r != ratio {
		t.Errorf("restored to %s and %s, was %s and %s", b, r, bytes, ratio)
	}

	for _, bad := range []string{"", "vm..x", "../../etc/passwd", "vm/dirty", "vm.nothing_like_it"} {
		if _, err := SetSysctl(map[string]string{bad: "1"}); err == nil {
			t.Errorf("%q was set", bad)
		}
	}
}

// A process is killed while others wait to change the same setting, or before a sweep. Its value is
// never treated as the original one.
func TestKilledWithSettings(t *testing.T) {
	needSettings(t)
	bytes, ratio := originals(t)

	for _, next := range []struct {
		name string
		do   func() error
	}{
		{"a process that waits for the lock", func() error {
			s, err := SetSysctl(map[string]string{background: "58720256"})
			if err != nil {
				return err
			}
			return s.Restore()
		}},
		{"a sweep", func() error {
			_, err := Sweep()
			return err
		}},
	} {
		t.Run(next.name, func(t *testing.T) {
			holder := exec.CommandContext(t.Context(), os.Args[0])
			holder.Env = append(os.Environ(), "PLIMSOLL_TEST_SETTING=54525952")
			out, err := holder.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}

			if err := holder.Start(); err != nil {
				t.Fatal(err)
			}

			if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "set\n" {
				t.Fatalf("%q, %v", line, err)
			}

			done := make(chan error, 1)
			if err := holder.Process.Kill(); err != nil {
				t.Fatal(err)
			}

			go func() { done <- next.do() }() // the killed process may not have exited yet
			_ = holder.Wait()
			if err := <-done; err != nil {
				t.Error(err)
			}

			unlock, err := Lock(t.Context(), settingsLock, nil)
			if err != nil {
				t.Fatal(err)
			}

			defer unlock()

			// Another test's settings may be present or left over.
			if b := readSetting(t, backgroundPath); b == "54525952" || b == "58720256" {
				t.Errorf("left at %s", b)
			}
		})
	}

	if b, r := originals(t); b != bytes || r != ratio {
		t.Errorf("restored to %s and %s, was %s and %s", b, r, bytes, ratio)
	}
}

// An invalid record is an error that says what to do.
func TestForeignSettingsRecord(t *testing.T) {
	record := filepath.Join(t.TempDir(), "settings.json")
	for _, text := range []string{"", "{", `{"before": {"/etc/passwd": "x"}}`, `{"before": {"/proc/sys/../../etc/passwd": "x"}}`, strings.Repeat(" ", stateBytesMax+1)} {
		if err := os.WriteFile(record, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := readSettings(record); err == nil || !strings.Contains(err.Error(), record) || !strings.Contains(err.Error(), "then remove the file") {
			t.Errorf("%.40q: %v, %v", text, s, err)
		}
	}
}
