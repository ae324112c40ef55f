package emit_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/advise/emit"
	engines "plimsoll/internal/engine"
	"plimsoll/internal/engine/postgres/postgrestest"
	"plimsoll/internal/judge/act"
	"plimsoll/internal/judge/rules"
)

// A link named plimsoll makes the test binary the program that the fixes of a diagnosis call.
func init() {
	if filepath.Base(os.Args[0]) != "plimsoll" {
		return
	}

	f := flag.NewFlagSet("plimsoll emit", flag.ExitOnError)
	var m emit.MoveRequest
	f.StringVar(&m.Engine, "move-log", "", "")
	f.StringVar(&m.Data, "data", "", "")
	f.StringVar(&m.Unit, "unit", "", "")
	f.StringVar(&m.Filesystem, "filesystem", "xfs", "")
	dir := f.String("out", "", "")
	err := f.Parse(os.Args[2:])

	files, err2 := emit.MoveFiles(engines.All().Deployments(), m)
	folder, err3 := emit.OpenFolder(*dir)
	if err := errors.Join(err, err2, err3); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}

	if err := folder.Write(files, false); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// A realMove is a real server whose log the emitted scripts move, on a loop device. systemctl is a
// stand-in that starts and stops that server.
type realMove struct {
	t                     *testing.T
	dir, data, log, mount string
	device, fstab, unit   string
	env                   []string
	// write makes a durable write, and count returns how many of them the server has.
	write, count func() string
	written      int
	at           string // the interruption that a failure is about
}

// killing are the programs of the scripts at which a test kills them. Each counts its calls, and before
// the call named in KILL_AT it kills the whole process group.
var killing = []string{"cp", "mv", "ln", "rm", "sync", "umount", "mkfs.xfs"}

const killStandIn = `#!/bin/bash
n=$(($(cat "$CALLS" 2>/dev/null) + 1)); echo "$n" >"$CALLS"
[[ $n != "${KILL_AT:-}" ]] || kill -9 -- "-$KILL_GROUP"
`

// assertions is what systemd checks before it starts a unit.
const assertions = `for f in "$UNITS"/*.service.d/*.conf; do [[ -e $f ]] || continue
	P=$(sed -n 's/^AssertPathExists=//p' "$f"); [[ -e ${P//%%/%} ]] || { echo "no $P" >&2; exit 1; }; done; `

func newRealMove(t *testing.T, engine, data, logIn, start, stop string) *realMove {
	t.Helper()
	for _, program := range []string{"bash", "losetup", "wipefs", "blkid", "lsblk", "findmnt", "mkfs.xfs", "flock"} {
		needs(t, program)
	}

	if os.Geteuid() != 0 {
		t.Skip("loop devices take root")
	}

	real := lvmOrFake(t, 1100)
	dir := openFolder(t)
	m := &realMove{t: t, dir: dir, data: data, log: filepath.Join(data, logIn), mount: filepath.Join(dir, "volume"),
		fstab: filepath.Join(dir, "fstab"), device: loopDevice(t, 1100)}

	unit := fmt.Sprintf("db%d", os.Getpid())
	m.unit = unit
	files, err := emit.MoveFiles(engines.All().Deployments(),
		emit.MoveRequest{Engine: engine, Data: data, Unit: unit, Mount: m.mount, Filesystem: "xfs"})
	if err != nil {
		t.Fatal(err)
	}

	for _, f := range files {
		m.file(f.Path, string(f.Text))
	}

	// The last line is not finished, as people leave it.
	m.file("fstab", "UUID=1 / ext4 defaults 0 1\nUUID=2 "+m.mount+"-2 xfs defaults 0 0")
	m.file("bin/systemctl", killStandIn+"case $1 in\nshow) echo "+unit+".service ;;\n"+
		"start) "+assertions+start+" ;;\nstop) "+stop+" ;;\nesac\n")
	for _, program := range killing {
		path, err := exec.LookPath(program)
		if err != nil {
			t.Fatal(err)
		}
		if program == "sync" {
			path = ":" // the real one waits for all of this machine
		}
		m.file("bin/"+program, killStandIn+path+" \"$@\"\n")
	}

	m.env = append(os.Environ(), "PATH="+dir+"/bin:"+os.Getenv("PATH"), "FSTAB="+m.fstab, "LC_ALL=C",
		"CALLS="+dir+"/calls", "UNITS="+filepath.Join(dir, "units"))

	t.Cleanup(func() {
		_ = exec.Command("bash", dir+"/bin/systemctl", "stop").Run()
		clean := "umount " + m.mount + " 2>/dev/null; "
		if real {
			clean += "vgremove -f -y plimsoll_" + unit
		} else {
			clean += "rm -rf /dev/plimsoll_" + unit
		}
		if out, err := exec.Command("bash", "-c", clean).CombinedOutput(); err != nil {
			t.Errorf("%s: %s", clean, out)
		}
	})

	return m
}

// openFolder returns a temporary folder that every user can enter, as PostgreSQL's user must.
func openFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "plimsoll-move-")
	if err := errors.Join(err, os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (m *realMove) file(name, text string) {
	m.t.Helper()
	path := filepath.Join(m.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
		m.t.Fatal(err)
	}
}

// run runs a script. With at > 0 it is killed before that call of one of its programs; killed reports
// whether there was such a call.
func (m *realMove) run(at int, script string, args ...string) (out string, killed bool, err error) {
	m.t.Helper()
	if err := os.RemoveAll(m.dir + "/calls"); err != nil {
		m.t.Fatal(err)
	}

	log, err := os.Create(m.dir + "/out")
	if err != nil {
		m.t.Fatal(err)
	}

	defer log.Close()
	c := exec.Command("bash", "-c", `KILL_GROUP=$$ exec bash "$@"`, "-")
	c.Args = append(c.Args, filepath.Join(m.dir, script))
	c.Args = append(c.Args, args...)
	c.Env = append(m.env, "KILL_AT="+strconv.Itoa(at))
	c.Stdout, c.Stderr = log, log
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = c.Run()
	text, _ := os.ReadFile(m.dir + "/out")
	return string(text), c.ProcessState.ExitCode() == -1, err
}

func (m *realMove) must(script string, args ...string) string {
	m.t.Helper()
	out, _, err := m.run(0, script, args...)
	if err != nil {
		m.t.Fatalf("%s %v: %v\n%s", script, args, err, out)
	}
	return out
}

// systemctl starts or stops the server, as an operator does. It may fail.
func (m *realMove) systemctl(verb string) {
	c := exec.Command("bash", m.dir+"/bin/systemctl", verb)
	c.Env = m.env
	_ = c.Run()
}

// writes makes a write that must never be lost.
func (m *realMove) writes() {
	m.t.Helper()
	if out := m.write(); out != "" {
		m.t.Fatalf("cannot write%s: %s", m.at, out)
	}
	m.written++
}

// whole checks that the server runs and lost nothing, and where its log is.
func (m *realMove) whole(moved bool) {
	m.t.Helper()
	if got := m.count(); got != strconv.Itoa(m.written) {
		m.t.Fatalf("the server has %q writes%s, want %d", got, m.at, m.written)
	}
	info, err := os.Lstat(m.log)
	if err != nil || info.IsDir() == moved {
		m.t.Fatalf("the log is %v, %v, want it moved: %v", info, err, moved)
	}
}

// reboot kills the server and the mounts, and starts what a boot starts: the lines of fstab, and the unit.
func (m *realMove) reboot() {
	m.t.Helper()
	m.systemctl("stop")
	_ = exec.Command("umount", m.mount).Run()
	if text, err := os.ReadFile(m.fstab); err == nil && strings.Contains(string(text), " "+m.mount+" ") {
		if out, err := exec.Command("mount", "--fstab", m.fstab, m.mount).CombinedOutput(); err != nil {
			m.t.Fatalf("after a reboot: %s", out)
		}
	}
	m.systemctl("start")
}

// property checks the whole life of a move: look twice, apply, check, undo; again; killed between any two
// steps, with and without a reboot; with a full volume. Afterwards the log is a folder with everything
// written, and fstab is as before.
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
		m.file(filepath.Join("home", "bin", program), "#!/bin/sh\n") // which server it is, is another test's matter
	}

	pack := rules.NewPack(engines.All().Rules())
	var way *act.Way
	for _, r := range pack.Remedies() {
		if r.Name == remedy {
			d := act.Describe(pack, database, r, rules.Values{"unit": rules.Called(m.unit), "data": rules.Folder(m.data), "dbpath": rules.Folder(m.data)})
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

// clean checks that nothing is left of a move.
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

// full fills the volume, behind the check for room: the server runs again on its old log.
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

// PostgreSQL's WAL moves and comes back, whatever interrupts it.
func TestMoveOfPostgreSQL(t *testing.T) {
	dir := openFolder(t)
	s, err := postgrestest.Start(filepath.Join(dir, "pg"), postgrestest.Options{})
	if errors.Is(err, postgrestest.ErrMissing) {
		t.Skip(err)
	}

	if err != nil {
		t.Fatal(err)
	}

	_, err = s.Exec("CREATE TABLE t (n int)")
	if err := errors.Join(err, s.Stop()); err != nil {
		t.Fatal(err)
	}

	needs(t, "setpriv")
	programs, err := filepath.Glob("/usr/lib/postgresql/*/bin/pg_ctl")
	if err != nil || len(programs) == 0 {
		t.Fatalf("no pg_ctl: %v", err)
	}

	data := filepath.Join(dir, "pg", "data")
	const as = `cd /; D=DATA; ctl() { setpriv --reuid=$(stat -c %u $D) --regid=$(stat -c %g $D) --clear-groups CTL -D $D -w -s "$@"; }; `
	own := strings.NewReplacer("DATA", data, "CTL", programs[len(programs)-1]).Replace(as)
	m := newRealMove(t, "postgres", data, "pg_wal",
		own+`ctl status >/dev/null && exit; ctl -l $D/server.log start`,
		own+`ctl status >/dev/null || exit 0; ctl -m fast stop`)
	m.write = func() string {
		_, err := s.Exec("INSERT INTO t VALUES (1)")
		return textOf(err)
	}
	m.count = func() string {
		rows, err := s.Exec("SELECT count(*) FROM t")
		return strings.Join(rows, "") + textOf(err)
	}

	m.systemctl("start")
	m.property("postgres", "wal-apart")
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// etcd's WAL moves and comes back, whatever interrupts it.
func TestMoveOfEtcd(t *testing.T) {
	for _, program := range []string{"etcd", "etcdctl", "setsid"} {
		needs(t, program)
	}

	dir := t.TempDir()
	data := filepath.Join(dir, "etcd")
	var ports [2]string
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ports[i] = "http://" + l.Addr().String()
		l.Close()
	}

	ctl := func(args string) string {
		return `ETCDCTL_API=3 etcdctl --endpoints=` + ports[0] + ` --dial-timeout=300ms --command-timeout=2s ` + args
	}
	// A request waits for as long as a busy machine takes, and is repeated if the server gives it up after
	// some five seconds: a member that was not run for 100 ms elects itself again, and drops what was proposed.
	patient := func(args string) string {
		request := `ETCDCTL_API=3 etcdctl --endpoints=` + ports[0] + ` --dial-timeout=60s --command-timeout=60s ` + args
		return `(for i in {1..10}; do OUT=$(` + request + ` 2>/dev/null) && echo "$OUT" && exit; done; ` + request + `)`
	}
	m := newRealMove(t, "etcd", data, "member/wal",
		`kill -0 $(cat `+dir+`/pid) 2>/dev/null && exit; setsid etcd --unsafe-no-fsync --heartbeat-interval=10 --election-timeout=100 --name=m --data-dir=`+data+` --listen-client-urls=`+ports[0]+` --advertise-client-urls=`+ports[0]+
			` --listen-peer-urls=`+ports[1]+` --initial-advertise-peer-urls=`+ports[1]+` --initial-cluster=m=`+ports[1]+` </dev/null >>`+dir+`/log 2>&1 & echo $! >`+dir+`/pid; `+
			`for i in {1..100}; do `+ctl("endpoint health")+` >/dev/null 2>&1 && exit; kill -0 $(cat `+dir+`/pid) || exit 1; sleep 0.1; done; exit 1`,
		`P=$(cat `+dir+`/pid 2>/dev/null) || exit 0; kill $P 2>/dev/null; while kill -0 $P 2>/dev/null; do sleep 0.05; done`)
	shell := func(command string) string {
		out, err := exec.Command("bash", "-c", command).CombinedOutput()
		if err != nil {
			return string(out) + err.Error()
		}
		return strings.TrimSpace(string(out))
	}
	m.write = func() string { return shell(patient(fmt.Sprintf("put k%06d v", m.written)) + ` >/dev/null`) }
	m.count = func() string { return shell(patient("get k --prefix --keys-only") + ` | grep -c k; true`) }

	m.systemctl("start")
	m.property("etcd", "etcd-wal-apart")
}
