package act_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// killing runs a program and counts its calls. Just before call number KILL_AT, it kills the shell and
// everything that the shell runs.
const killing = `#!/bin/bash
printf x >>"$CALLS" # of a pipe, several run at the same time
n=$(<"$CALLS")
[[ ${#n} != "${KILL_AT:-}" ]] || kill -9 -- "-$KILL_GROUP"
PATH=${PATH#*:} exec NAME "$@"
`

// killable makes the bench's programs killable. It returns a function that runs lines up to a given
// call of one of them, and reports how many calls there were and whether that call was reached.
func (b *bench) killable() func(at int, lines []string) (calls int, killed bool) {
	b.t.Helper()
	dir := b.t.TempDir()
	for _, name := range []string{"awk", "aws", "az", "cat", "cryptsetup", "docker", "gcloud", "grep", "kubectl", "lsblk", "mongosh", "mv", "paste", "psql", "rm", "sed", "sudo", "sysctl", "systemctl", "tar", "tee"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.ReplaceAll(killing, "NAME", name)), 0o700); err != nil {
			b.t.Fatal(err)
		}
	}

	path := ""
	for _, v := range b.env {
		if after, ok := strings.CutPrefix(v, "PATH="); ok {
			path = after // the last one counts
		}
	}

	counter := filepath.Join(dir, "calls")
	return func(at int, lines []string) (int, bool) {
		b.t.Helper()
		if err := os.WriteFile(counter, nil, 0o600); err != nil {
			b.t.Fatal(err)
		}

		cmd := exec.CommandContext(b.t.Context(), "sh", "-c", b.replaced.Replace("KILL_GROUP=$$; export KILL_GROUP\n"+strings.Join(lines, "\n")))
		cmd.Env = append(slices.Clone(b.env), "PATH="+dir+":"+path, "CALLS="+counter, "KILL_AT="+strconv.Itoa(at))
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		_ = cmd.Run() // the step decides its exit code
		return len(read(b.t, counter)), cmd.ProcessState.ExitCode() == -1
	}
}

// interrupted kills the steps before each call of a program (before some of them, unless CI_FULL is
// set). Afterwards the machine may reboot. Then a user either continues, or gives up and runs the undo.
// In the end the state is as before.
func (b *bench) interrupted(state func() string) {
	b.t.Helper()
	was := state()
	run := b.killable()
	steps := [][]string{b.way.Look, b.way.Do, b.way.Keep, b.way.Undo}
	calls := make([]int, len(steps))
	for n, lines := range steps {
		calls[n], _ = run(0, lines)
	}

	total := 0
	for _, c := range calls {
		total += 2 * c
	}

	every, points := min(13, total), 0
	if os.Getenv("CI_FULL") != "" {
		every = 1
	}

	for n := range steps {
		for at := 1; at <= calls[n]; at++ {
			for _, goOn := range []bool{false, true} {
				if points++; points%every == 0 {
					run(0, slices.Concat(steps[:n]...))
					run(at, steps[n])
					b.resumed(was, state, fmt.Sprintf("step %d killed at %d, continued: %v", n, at, goOn), goOn)
				}
			}
		}
	}
}

// resumed continues or gives up after a kill.
func (b *bench) resumed(was string, state func() string, what string, goOn bool) {
	b.t.Helper()
	if b.boot != nil {
		b.boot()
	}

	if goOn {
		b.run(b.way.Look, b.way.Do)
	}

	run := b.killable()
	run(0, b.way.Undo)
	run(0, b.way.Undo) // again: there is nothing to undo
	if got := state(); got != was {
		b.t.Fatalf("%s: it was %q, and after undo %q", what, was, got)
	}

	left, err := filepath.Glob(filepath.Join(b.home, "*.before*"))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, f := range left {
		if !strings.HasSuffix(f, ".new") && !strings.HasSuffix(f, ".out") {
			b.t.Fatalf("%s: undo leaves %s, which the next change would mistake for the previous state", what, f)
		}
	}
}

// full runs the steps on a full disk: no step may change anything whose previous state it could not
// save.
func (b *bench) full(state func() string) {
	b.t.Helper()
	was := state()
	b.run(b.way.Look)
	saved, err := os.ReadDir(b.home)
	if err != nil || len(saved) == 0 {
		b.t.Fatalf("look saves nothing: %v", err)
	}

	b.run(b.way.Undo)
	for _, f := range saved {
		if err := os.Symlink("/dev/full", filepath.Join(b.home, f.Name()+".new")); err != nil {
			b.t.Fatal(err)
		}
	}

	run := b.killable()
	run(0, b.way.Look)
	run(0, b.way.Do)
	if got := state(); got != was {
		b.t.Fatalf("on a full disk: it was %q, now it is %q, and nothing has saved what it was", was, got)
	}

	left, err := filepath.Glob(filepath.Join(b.home, "*"))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, f := range left {
		if err := os.Remove(f); err != nil {
			b.t.Fatal(err)
		}
	}
}
