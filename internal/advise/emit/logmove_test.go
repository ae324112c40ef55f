package emit_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/advise/emit"
)

// A machine is a data folder, a volume for the log, and the script that moves the log between them.
type machine struct {
	t                  *testing.T
	dir, data, log, to string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	for _, program := range []string{"bash", "find", "awk", "du", "df", "realpath"} {
		needs(t, program)
	}

	if os.Geteuid() != 0 {
		t.Skip("who uses a file is seen by root")
	}

	dir := t.TempDir()
	m := &machine{t, dir, filepath.Join(dir, "data"), filepath.Join(dir, "data/journal"), filepath.Join(dir, "volume/journal")}
	for _, d := range []string{m.log, filepath.Dir(m.to), filepath.Join(dir, "bin")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}

	m.write("data/WiredTiger", "a database")
	m.write("data/journal/WiredTigerLog.1", "first")
	m.write("move", filesOf(t, layoutOf(t, "telemetry.yaml", "volumes.journal={type: gp3, size: 10GiB}"), emit.Options{}, "lvm")["lvm/journal-log.sh"])
	m.program("mountpoint", "exit 0")
	m.program("sync", "exit 0") // the real one waits for all of this machine

	return m
}

func (m *machine) write(path, text string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, path), []byte(text), 0o700); err != nil {
		m.t.Fatal(err)
	}
}

// program replaces a program that the script runs.
func (m *machine) program(name, text string) { m.write("bin/"+name, "#!/bin/sh\n"+text+"\n") }

func (m *machine) run(verb string) (string, error) {
	cmd := exec.Command("bash", filepath.Join(m.dir, "move"), verb, m.data)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(m.dir, "bin")+":"+os.Getenv("PATH"), "MOUNT="+filepath.Dir(m.to), "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (m *machine) mustRun(verb, says string) {
	m.t.Helper()
	if out, err := m.run(verb); err != nil || !strings.Contains(out, says) {
		m.t.Fatalf("%s: %v: %s", verb, err, out)
	}
}

// refuses checks that nothing moved, and that the message has the reason.
func (m *machine) refuses(verb, says string) {
	m.t.Helper()
	out, err := m.run(verb)
	if err == nil || !strings.Contains(out, says) {
		m.t.Errorf("%s: %v: %s, want %q", verb, err, out, says)
	}
	if info, err := os.Lstat(m.log); err != nil || !info.IsDir() {
		m.t.Errorf("the log is not where it was: %v", err)
	}
}

// The script moves the log of a machine, reports where it is, and moves it back with everything written
// since. It is also the script of the fix "journal-apart": no mongod is available here.
func TestLogOfAMachine(t *testing.T) {
	m := newMachine(t)
	m.mustRun("look", "used by: no process") // as the fix "journal-apart" runs it
	m.mustRun("move", "the log moved to "+m.to)
	m.mustRun("check", "the log is in "+m.to)
	m.mustRun("move", "the log is in "+m.to) // again

	if to, err := os.Readlink(m.log); err != nil || to != m.to {
		t.Errorf("the log leads to %s, %v", to, err)
	}

	m.write("data/journal/WiredTigerLog.1", "newer")
	m.mustRun("back", "the log is in "+m.log)
	m.refuses("check", "does not lead to")

	if text, err := os.ReadFile(filepath.Join(m.log, "WiredTigerLog.1")); err != nil || string(text) != "newer" {
		t.Errorf("the log has %q, %v", text, err)
	}

	if left, err := filepath.Glob(m.log + ".*"); err != nil || len(left) > 0 {
		t.Errorf("left are %q, %v", left, err)
	}
}

// Between two steps of a move there is no log. The unit does not start then, not even at a boot.
func TestNoBootWithoutALog(t *testing.T) {
	m := newMachine(t)
	units := filepath.Join(m.dir, "units")
	t.Setenv("UNIT", "db")
	t.Setenv("UNITS", units)
	m.program("systemctl", "[ $1 != show ] || echo db.service")

	for _, c := range []struct {
		verb, program, fails string
	}{
		{"apply", "ln", "exit 1"},
		{"undo", "mv", `[ "$2" != ` + m.log + ` ] || exit 1; exec /bin/mv "$@"`},
	} {
		m.program(c.program, c.fails)
		out, err := m.run(c.verb)
		if err == nil || !strings.Contains(out, "db stays stopped, also after a boot") {
			t.Fatalf("%s: %v: %s", c.verb, err, out)
		}
		if _, err := os.Lstat(m.log); err == nil {
			t.Fatalf("%s: there is a log: the test interrupts the wrong step", c.verb)
		}

		text, err := os.ReadFile(filepath.Join(units, "db.service.d/plimsoll-log.conf"))
		if err != nil || !strings.Contains(string(text), "\nAssertPathExists="+m.log+"\n") {
			t.Fatalf("%s: the drop-in is %q, %v", c.verb, text, err)
		}
		if err := os.Remove(filepath.Join(m.dir, "bin", c.program)); err != nil {
			t.Fatal(err)
		}

		m.mustRun(c.verb, "db is started")
		if left, err := filepath.Glob(units + "/*"); err != nil || len(left) > 0 {
			t.Fatalf("%s: left are %q, %v", c.verb, left, err)
		}
	}
}

// Without the drop-in, nothing is stopped, and nothing of it is left.
func TestNoMoveWithoutADropIn(t *testing.T) {
	m := newMachine(t)
	units := filepath.Join(m.dir, "units")
	t.Setenv("UNIT", "db")
	t.Setenv("UNITS", units)
	m.program("systemctl", "case $1 in show) echo db.service ;; daemon-reload) exit 1 ;; stop) echo stopped ;; esac")

	m.refuses("apply", "nothing has changed")
	if out, _ := m.run("apply"); strings.Contains(out, "stopped") {
		t.Errorf("the unit was stopped: %s", out)
	}
	if left, err := filepath.Glob(units + "/*/*"); err != nil || len(left) > 0 {
		t.Errorf("left are %q, %v", left, err)
	}
}

// A log next to a copy of it means that the database started a new one. Both are kept.
func TestTwoLogs(t *testing.T) {
	for _, copied := range []string{".plimsoll-old", ".plimsoll-back"} {
		m := newMachine(t)
		if err := os.CopyFS(m.log+copied, os.DirFS(m.log)); err != nil {
			t.Fatal(err)
		}
		for _, verb := range []string{"move", "back"} {
			m.refuses(verb, "there are logs in "+m.log+" and in "+m.log+copied)
		}
		if _, err := os.Stat(m.log + copied + "/WiredTigerLog.1"); err != nil {
			t.Errorf("%s: %v", copied, err)
		}
	}
}

// The script does not move the log while the database runs, even if the database was started after
// the script, nor to a volume that is not mounted or too small.
func TestLogOfAMachineRefuses(t *testing.T) {
	runs := func(m *machine) {
		m.t.Helper()
		server := exec.Command("sleep", "1000")
		server.Dir = m.data
		if err := server.Start(); err != nil {
			m.t.Fatal(err)
		}
		m.t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	}
	for name, tt := range map[string]struct {
		prepare func(m *machine)
		says    string
	}{
		"it runs":     {runs, "sleep (process "},
		"not mounted": {func(m *machine) { m.program("mountpoint", "exit 1") }, "nothing is mounted at"},
		"no room":     {func(m *machine) { m.program("df", "echo Avail; echo 3") }, "has room for 3"},
		"the copy":    {func(m *machine) { m.program("cmp", "exit 1") }, "the copy of "},
		"full":        {func(m *machine) { m.program("cp", "echo no space left >&2; exit 1") }, "no space left"},
		"no log":      {func(m *machine) { _ = os.RemoveAll(m.log + "/WiredTigerLog.1") }, "there is a database in"},
		"started while": {func(m *machine) {
			m.program("cmp", "cd "+m.data+" && { sleep 1000 >/dev/null 2>&1 & echo $! >"+m.dir+"/pid; }")
		}, "uses "},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			t.Cleanup(func() {
				if pid, err := os.ReadFile(filepath.Join(m.dir, "pid")); err == nil {
					_ = exec.Command("kill", strings.TrimSpace(string(pid))).Run()
				}
			})
			tt.prepare(m)
			m.refuses("move", tt.says)
		})
	}
}

// Going back is in reverse order: the log moves back before its disk is detached.
func TestGoesBackInReverse(t *testing.T) {
	l := layoutOf(t, "telemetry.yaml", "volumes.journal={type: gp3, size: 10GiB}", "host.dirty_background_bytes=8MB")
	readme := filesOf(t, l, emit.Options{}, "aws", "lvm", "sysctl")["README.md"]
	apply, back, _ := strings.Cut(readme, "\n## Go back\n")
	back, _, _ = strings.Cut(back, "\n## What restarts\n")
	order := func(text string) string {
		var out []string
		for line := range strings.Lines(text) {
			for _, target := range []string{"aws", "lvm", "sysctl"} {
				if strings.Contains(line, ". **"+target+"**") && (len(out) == 0 || out[len(out)-1] != target) {
					out = append(out, target)
				}
			}
		}
		return strings.Join(out, " ")
	}

	apply, _, _ = strings.Cut(apply, "\n## Verify\n")
	if a, b := order(apply), order(back); a != "aws lvm sysctl" || b != "sysctl lvm aws" {
		t.Errorf("applied %s, back %s:\n%s", a, b, back)
	}

	for _, want := range []string{
		" lvm/journal-log.sh look\n",
		" lvm/journal-log.sh apply\n",
		" lvm/journal-log.sh undo && lvm/journal.sh --undo\n",
	} {
		if !strings.Contains(readme, want) {
			t.Errorf("the README has no %q", want)
		}
	}
}
