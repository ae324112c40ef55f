package emit_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"plimsoll/internal/judge/act"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/testkit"
)

// property checks the whole life of a move: look twice, apply, check, undo; all of it again; killed
// between any two steps, with and without a reboot; and with a full volume. Afterwards the log is a
// folder with everything written, and fstab is as before.
func (m *realMove) property(database, remedy string) {
	m.t.Helper()
	before, err := os.ReadFile(m.fstab)
	if err != nil {
		m.t.Fatal(err)
	}

	m.writes()
	m.pasted(database, remedy, string(before))
	m.must("log.sh", "look")
	m.must("log.sh", "look")
	m.must("volume.sh", m.device)
	m.must("log.sh", "apply")
	m.whole(true)
	m.writes()
	m.must("log.sh", "check")
	m.reboot()
	m.whole(true)
	m.must("log.sh", "apply") // again: nothing to move
	m.whole(true)
	if out, _, err := m.run(0, "volume.sh", "--undo"); err == nil || !strings.Contains(out, "move the log back first") {
		m.t.Fatalf("the volume of a log in use is unmounted: %v\n%s", err, out)
	}
	m.must("log.sh", "undo")
	m.whole(false)
	m.writes()
	m.must("log.sh", "undo") // again: nothing to undo
	m.must("volume.sh", "--undo")
	m.must("volume.sh", "--undo")
	m.whole(false)
	m.clean(string(before))

	// With the old folder gone, undo still works.
	m.must("volume.sh", m.device)
	m.must("log.sh", "apply")
	m.writes()
	m.must("log.sh", "finish")
	m.must("log.sh", "undo")
	m.whole(false)
	m.full()
	m.killed()
	m.must("volume.sh", "--undo")
	m.whole(false)
	m.clean(string(before))
}

// pasted runs the lines that a diagnosis prints: look twice, do, check, undo; again, and with keep.
func (m *realMove) pasted(database, remedy, fstab string) {
	m.t.Helper()
	this, err := os.Executable()
	if err := errors.Join(err, os.Symlink(this, m.dir+"/bin/plimsoll")); err != nil {
		m.t.Fatal(err)
	}

	m.file("bin/sudo", "#!/bin/sh\nif [ \"$1\" = -u ]; then shift 2; fi\nexec \"$@\"\n")
	for _, program := range []string{"psql", "etcdctl", "mongosh"} {
		m.file(filepath.Join("home", "bin", program), "#!/bin/sh\n") // another test checks which server it is
	}

	var way *act.Way
	for _, r := range testkit.Pack().Remedies() {
		if r.Name == remedy {
			d := act.Describe(testkit.Pack(), database, r, rules.Values{"unit": rules.Called(m.unit), "data": rules.Folder(m.data), "dbpath": rules.Folder(m.data)})
			for i := range d.Ways {
				if d.Ways[i].Place == string(rules.Host) {
					way = &d.Ways[i]
				}
			}
		}
	}

	lines := func(all []string) string {
		c := exec.Command("bash", "-c", strings.Join(all, "\n"))
		c.Env = append(m.env, "PATH="+filepath.Join(m.dir, "home", "bin")+":"+m.dir+"/bin:"+os.Getenv("PATH"), "HOME="+filepath.Join(m.dir, "home"), "MOUNT="+m.mount,
			"DEVICE="+m.device, "DATA="+m.data, "PGPORT=5432", "ENDPOINT=http://127.0.0.1")
		out, err := c.CombinedOutput()
		if err != nil {
			m.t.Fatalf("%v\n%s\nof\n%s", err, out, strings.Join(all, "\n"))
		}
		return string(out)
	}

	for _, keep := range []bool{false, true} {
		lines(way.Look)
		lines(way.Look)
		lines(way.Do)
		m.whole(true)
		m.writes()
		if out := lines(way.Check); !strings.Contains(out, "the log is in "+m.mount) {
			m.t.Fatalf("check says %s", out)
		}
		lines(way.Look)
		if keep {
			lines(way.Keep)
		}
		lines(way.Undo)
		m.whole(false)
		m.writes()
		m.clean(fstab)
	}
}

// clean checks that a move leaves nothing behind.
func (m *realMove) clean(fstab string) {
	m.t.Helper()
	if text, err := os.ReadFile(m.fstab); err != nil || strings.TrimSuffix(string(text), "\n") != fstab {
		m.t.Fatalf("fstab is %q, %v, want %q", text, err, fstab)
	}
	left, err := filepath.Glob(m.log + ".*")
	if more, _ := filepath.Glob(m.fstab + ".*"); err != nil || len(left)+len(more) > 0 {
		m.t.Fatalf("left are %q, %q, %v", left, more, err)
	}
	if _, err := os.Stat(m.mount); err == nil {
		m.t.Fatalf("%s is left", m.mount)
	}
}

// full fills the volume after the check for space: the server runs again on its old log.
func (m *realMove) full() {
	m.t.Helper()
	m.file("bin/df", "#!/bin/sh\necho Avail; echo 99999999999\n")
	filler := filepath.Join(m.mount, "filler")
	if out, err := exec.Command("bash", "-c", `dd if=/dev/zero of="$0" bs=1M; truncate -s -2M "$0"`, filler).CombinedOutput(); !strings.Contains(string(out), "No space left") {
		m.t.Fatalf("the volume is not full: %v\n%s", err, out)
	}

	out, _, err := m.run(0, "log.sh", "apply")
	if err == nil || !strings.Contains(out, "No space left") || !strings.Contains(out, "the log did not move") {
		m.t.Fatalf("on a full volume: %v\n%s", err, out)
	}

	m.whole(false)
	m.writes()
	if err := errors.Join(os.Remove(filler), os.Remove(m.dir+"/bin/df")); err != nil {
		m.t.Fatal(err)
	}
}

// killed kills apply and undo before each of their steps, and continues.
func (m *realMove) killed() {
	m.t.Helper()
	calls := func() int {
		text, err := os.ReadFile(m.dir + "/calls")
		n, err2 := strconv.Atoi(strings.TrimSpace(string(text)))
		if err := errors.Join(err, err2); err != nil {
			m.t.Fatal(err)
		}
		return n
	}

	m.must("log.sh", "apply")
	steps := map[string]int{"apply": calls()}
	m.must("log.sh", "undo")
	steps["undo"] = calls()
	m.t.Logf("steps: %v", steps)

	points := 0
	for _, verb := range []string{"apply", "undo"} {
		// Every eighth step from a random one, or all of them.
		first, every := 1+rand.IntN(8), 8
		if os.Getenv("CI_FULL") != "" {
			first, every = 1, 1
		}
		for at := first; at <= steps[verb]; at += every {
			points++
			m.killedAt(verb, at, rand.IntN(2) == 0, rand.IntN(2) == 0)
		}
	}

	m.t.Logf("killed at %d points", points)
}

// killedAt begins with the log in its folder, and ends with it there.
func (m *realMove) killedAt(verb string, at int, reboot, giveUp bool) {
	m.t.Helper()
	if verb == "undo" {
		m.must("log.sh", "apply")
		m.writes()
	}

	out, killed, err := m.run(at, "log.sh", verb)
	if !killed {
		m.t.Fatalf("%s was not killed at %d: %v\n%s", verb, at, err, out)
	}

	if reboot {
		m.reboot()
	}

	// Continue, or give up.
	m.at = fmt.Sprintf(" after %s was killed at %d (reboot %v, given up %v)", verb, at, reboot, giveUp)
	if verb == "apply" && !giveUp {
		if out, _, err = m.run(0, "log.sh", "apply"); err != nil {
			m.t.Fatalf("%s%s: %v\n%s", verb, m.at, err, out)
		}
	}

	if out, _, err = m.run(0, "log.sh", "undo"); err != nil {
		m.t.Fatalf("undo%s: %v\n%s", m.at, err, out)
	}
	m.systemctl("start") // if there was nothing to undo
	m.whole(false)
	m.writes()
	if left, err := filepath.Glob(m.dir + "/units/*"); err != nil || len(left) > 0 {
		m.t.Fatalf("left%s: %q, %v", m.at, left, err)
	}
}
