//go:build linux

// Package rollouttest kills rollouts of real engines at every point while clients write.
//
// A rollout to be killed runs in a separate process: the test binary starts itself ([Main]), and the
// child sends itself SIGKILL at a point. So nothing gets cleaned up.
package rollouttest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/advise/rollout"
	"plimsoll/internal/engine/parts"
)

// Environment variables that make the test binary run a rollout.
const (
	envDir   = "PLIMSOLL_TEST_ROLLOUT"
	envAct   = "PLIMSOLL_TEST_ROLLOUT_ACT"
	envPoint = "PLIMSOLL_TEST_ROLLOUT_POINT"
	envNth   = "PLIMSOLL_TEST_ROLLOUT_NTH"
)

// Main is the body of TestMain in packages that kill rollouts of an engine. It returns the exit code.
func Main(m *testing.M, e *parts.Engine) int {
	dir := os.Getenv(envDir)
	if dir == "" {
		return m.Run()
	}
	if err := child(dir, e); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// child runs the rollout in a folder, and kills itself at the requested point.
func child(dir string, engine *parts.Engine) error {
	folder, err := rollout.OpenFolder(dir, true)
	if err != nil {
		return err
	}

	state, err := folder.Load()
	if err != nil {
		return err
	}

	if state == nil {
		plan, err := os.ReadFile(dir + ".plan")
		if err != nil {
			return err
		}
		site, err := os.ReadFile(dir + ".site")
		if err != nil {
			return err
		}
		state = rollout.NewState("plan.json", string(plan), "site.yaml", string(site), 0)
	}

	point, nth := os.Getenv(envPoint), 0
	wanted, err := strconv.Atoi(os.Getenv(envNth))
	if err != nil {
		return err
	}

	r, err := rollout.New(parts.List{engine}.Rollouts(), folder, state, rollout.Options{
		Say: func(text string) { fmt.Fprintln(os.Stderr, text) },
		At: func(at string) {
			if at != point {
				return
			}
			if nth++; nth == wanted {
				fmt.Fprintln(os.Stderr, "killed")
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		},
	})
	if err != nil {
		return err
	}

	if os.Getenv(envAct) == "undo" {
		return r.Undo(context.Background())
	}

	return r.Run(context.Background())
}

// A Case is a running engine with clients that write continuously.
type Case struct {
	Dir     string // for the rollouts' folders
	Plan    string // the output of plan -o json
	Site    string
	Members []string
	// Configures: the site names configuration files.
	Configures bool
	// Check fails unless the engine serves requests and has every acknowledged write. It returns their
	// number.
	Check func() (acknowledged int, err error)
	// Seed chooses the points.
	Seed uint64
	// Logs are the engine's paths of its logs, for checking the layout at the end.
	Logs []string
}

// A point is where a rollout is killed: when it passes there for the nth time.
type point struct {
	name string
	nth  int
}

// points returns the points of a rollout and of its undo.
func (c *Case) points() (forward, back []point) {
	for _, m := range c.Members {
		steps := []string{"check", "stop", "copy", "swap"}
		if c.Configures {
			steps = append(steps, "configure")
		}
		steps = append(steps, "start")
		for _, s := range steps {
			name := m + ": " + s
			forward = append(forward, point{"begun " + name, 1}, point{"did " + name, 1}, point{"done " + name, 1})
			back = append(back, point{"undoing " + name, 1}, point{"undid " + name, 1}, point{"undone " + name, 1})
		}
	}

	for n := range c.Members {
		for _, p := range []string{"copied", "compared", "named", "linked", "before exchanging",
			"exchanged", "kept"} {
			forward = append(forward, point{p, n + 1})
		}
		for _, p := range []string{"copied", "compared", "named", "before exchanging back", "before exchanging",
			"exchanged back"} {
			back = append(back, point{p, n + 1})
		}
	}

	for _, nth := range []int{1, 2, 5, 9} { // in the middle of copying, and of reading the copy back
		forward = append(forward, point{"copy", nth}, point{"read", nth})
		back = append(back, point{"copy", nth}, point{"read", nth})
	}

	return forward, append(back, point{"removed", 1}, point{"removed", 3})
}

// Kill kills rollouts at a few points, or at all points with CI_FULL, and then resumes or undoes them.
// After each, no acknowledged write may be missing. Every rollout ends undone. Kill logs a table of the
// results.
func (c *Case) Kill(t *testing.T) {
	t.Helper()
	forward, back := c.points()
	t.Logf("seed %d", c.Seed)
	r := rand.New(rand.NewPCG(c.Seed, 0))
	r.Shuffle(len(back), func(i, j int) { back[i], back[j] = back[j], back[i] })
	full := os.Getenv("CI_FULL") != ""
	count := max(len(forward), len(back))

	if !full {
		const some = 3
		r.Shuffle(len(forward), func(i, j int) { forward[i], forward[j] = forward[j], forward[i] })
		count = some
	}

	all := &Kills{}
	for n := range count {
		p, q := forward[n%len(forward)], back[n%len(back)]
		for i, act := range []string{"resume", "undo"} {
			if !full && n%2 != i || act == "undo" && n >= len(forward) {
				continue
			}
			t.Run(fmt.Sprintf("%s %d %s", p.name, p.nth, act), func(t *testing.T) {
				c.killOnce(t, filepath.Join(c.Dir, fmt.Sprintf("rollout-%d-%s", n, act)), act, p, q, all)
			})
		}
	}

	t.Log(all.Table())
}

// killOnce kills one rollout at a point and resumes or undoes it. After a resume, it kills the rollout
// again at a point of its undo and resumes the undo.
func (c *Case) killOnce(t *testing.T, dir, act string, p, q point, all *Kills) {
	t.Helper()
	c.begin(t, dir)
	died := c.killed(t, dir, "run", p)
	c.whole(t, dir, act)
	said := fmt.Sprintf("killed at %q (%d): %s", p.name, p.nth, act)
	diedBack := false

	if act == "resume" {
		c.layout(t, true)
		diedBack = c.killed(t, dir, "undo", q)
		c.whole(t, dir, "resume")
		said += fmt.Sprintf("; undo killed at %q (%d): resumed", q.name, q.nth)
	}

	c.layout(t, false)
	acknowledged, err := c.Check()
	if err != nil {
		t.Fatalf("%s: %v", said, err)
	}

	t.Logf("%s; %d acknowledged, none lost", said, acknowledged)
	if died {
		all.Add("forward", p.step(), act, 0)
	}

	if diedBack {
		all.Add("back", q.backStep(), "resume", 0)
	}

	all.Acknowledged = acknowledged
}

// begin writes a rollout's input.
func (c *Case) begin(t *testing.T, dir string) {
	t.Helper()
	for name, text := range map[string]string{".plan": c.Plan, ".site": c.Site} {
		if err := os.WriteFile(dir+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// killed runs a rollout until it dies at a point, and reports whether it did. A rollout that never reaches
// the point runs to completion.
func (c *Case) killed(t *testing.T, dir, act string, p point) bool {
	t.Helper()
	out, err := c.run(dir, act, p)
	died := strings.Contains(out, "killed")
	if err != nil && !died {
		t.Fatalf("%s, to be killed at %q (%d): %v\n%s", act, p.name, p.nth, err, out)
	}
	return died
}

// whole runs a rollout to completion.
func (c *Case) whole(t *testing.T, dir, act string) {
	t.Helper()
	if out, err := c.run(dir, act, point{}); err != nil {
		t.Fatalf("%s: %v\n%s", act, err, out)
	}
	if _, err := c.Check(); err != nil {
		t.Fatalf("after %s: %v", act, err)
	}
}

func (c *Case) run(dir, act string, p point) (string, error) {
	cmd := exec.Command(os.Args[0], "-test.run=^$") //nolint:gosec // ourselves
	cmd.Env = append(os.Environ(), envDir+"="+dir, envAct+"="+act, envPoint+"="+p.name,
		envNth+"="+strconv.Itoa(p.nth))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// layout fails unless the logs are links to their new volumes or, if not moved, folders without leftovers
// next to them.
func (c *Case) layout(t *testing.T, moved bool) {
	t.Helper()
	for _, log := range c.Logs {
		info, err := os.Lstat(log)
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() == moved {
			t.Errorf("%s is a folder: %v; moved: %v", log, info.IsDir(), moved)
		}
		if beside, err := filepath.Glob(log + ".plimsoll-*"); err != nil || !moved && len(beside) > 0 {
			t.Errorf("leftovers next to the log: %q, %v", beside, err)
		}
	}
}
