package emit

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A pod is a data folder and a volume for the log, as mounted in an init container.
type pod struct {
	t              *testing.T
	log, new, data string
}

func newPod(t *testing.T) *pod {
	t.Helper()
	dir := t.TempDir()
	p := &pod{t, filepath.Join(dir, "data/db/journal"), filepath.Join(dir, "volume/journal"), filepath.Join(dir, "data/db")}
	for _, d := range []string{p.log, filepath.Dir(p.new)} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(p.data, "WiredTiger"), "a database")
	put(t, filepath.Join(p.log, "WiredTigerLog.1"), "first")
	put(t, filepath.Join(p.log, "a file.2"), "second")
	return p
}

// run runs a script, which is killed before its nth command; 0: never.
func (p *pod) run(script string, n int) (out string, killed bool, err error) {
	p.t.Helper()
	trap := fmt.Sprintf("set -T; n=0; trap 'n=$((n+1)); [ $n -ne %d ] || kill -9 $$' DEBUG\n", n)
	shell := "bash"
	if n == 0 {
		trap, shell = "", "sh"
	}
	cmd := exec.Command(shell, "-c", trap+script, "move", p.log, p.new, "WiredTigerLog.*", p.data)
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && !exit.Exited() {
		return string(text), true, nil
	}
	return string(text), false, err
}

// starts fails unless a starting database finds this log.
func (p *pod) starts(want string) {
	p.t.Helper()
	got, err := os.ReadFile(filepath.Join(p.log, "WiredTigerLog.1"))
	if err != nil || string(got) != want {
		p.t.Fatalf("it starts on the log %q (%v), want %q", got, err, want)
	}
}

func needBash(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash")
	}
}

// The init container moves a log, the database writes, and the log moves back; the script is killed
// before each of its commands, in both directions. Whenever it succeeds, the database has its
// complete log.
func TestLogInPodKilled(t *testing.T) {
	needBash(t)
	for n := 1; ; n++ {
		p := newPod(t)
		_, killed, err := p.run(podMove, n)
		if err != nil {
			t.Fatal(err)
		}

		if out, _, err := p.run(podMove, 0); err != nil {
			t.Fatalf("killed before command %d: %v: %s", n, err, out)
		}

		p.starts("first")
		if to, err := os.Readlink(p.log); err != nil || to != p.new {
			t.Fatalf("killed before command %d: the log leads to %s, %v", n, to, err)
		}

		put(t, filepath.Join(p.log, "WiredTigerLog.1"), "newer")
		_, alsoKilled, err := p.run(podBack, n)
		if err != nil {
			t.Fatal(err)
		}

		if out, _, err := p.run(podBack, 0); err != nil {
			t.Fatalf("back, killed before command %d: %v: %s", n, err, out)
		}

		p.starts("newer")
		if info, err := os.Lstat(p.log); err != nil || !info.IsDir() {
			t.Fatalf("back, killed before command %d: the log is not a folder: %v", n, err)
		}

		if beside, err := filepath.Glob(p.log + ".*"); err != nil || len(beside) > 0 {
			t.Fatalf("leftovers next to the log: %q, %v", beside, err)
		}

		if !killed && !alsoKilled {
			break
		}
	}
}

// A move that was interrupted at any command can go back, and the database has its complete log.
func TestLogInPodGoesBackFromAnywhere(t *testing.T) {
	needBash(t)
	for n := 1; ; n++ {
		p := newPod(t)
		_, killed, err := p.run(podMove, n)
		if err != nil {
			t.Fatal(err)
		}

		if out, _, err := p.run(podBack, 0); err != nil {
			t.Fatalf("killed before command %d: %v: %s", n, err, out)
		}

		p.starts("first")
		if info, err := os.Lstat(p.log); err != nil || !info.IsDir() {
			t.Fatalf("killed before command %d: the log is not a folder: %v", n, err)
		}

		if !killed {
			break
		}
	}
}

// The script does not let a database start on an empty log, but lets a new member start.
func TestLogInPodRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		prepare func(p *pod) error
		want    string
	}{
		"empty volume behind the link": {func(p *pod) error {
			return errors.Join(os.RemoveAll(p.log), os.Mkdir(p.new, 0o700), os.Symlink(p.new, p.log))
		}, "there is no log in"},
		"no volume behind the link": {func(p *pod) error { return errors.Join(os.RemoveAll(p.log), os.Symlink(p.new, p.log)) }, "there is no log in"},
		"no log at all":             {func(p *pod) error { return os.RemoveAll(p.log) }, "there is a database in"},
		"an empty log":              {func(p *pod) error { return os.Remove(filepath.Join(p.log, "WiredTigerLog.1")) }, "there is a database in"},
		"log on the volume alone":   {func(p *pod) error { return os.Rename(p.log, p.new) }, "but none in"},
		"link to elsewhere":         {func(p *pod) error { return errors.Join(os.RemoveAll(p.log), os.Symlink("/etc", p.log)) }, "something other than"},
		"two logs":                  {func(p *pod) error { return os.Mkdir(p.log+".plimsoll-old", 0o700) }, "there are logs in"},
		"a new member":              {func(p *pod) error { return os.RemoveAll(p.data) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			if err := tt.prepare(p); err != nil {
				t.Fatal(err)
			}
			out, _, err := p.run(podMove, 0)
			if (err != nil) != (tt.want != "") || !strings.Contains(out, tt.want) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
