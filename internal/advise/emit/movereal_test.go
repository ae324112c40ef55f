package emit_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/engine"
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

	files, err2 := emit.MoveFiles(engine.All().Deployments(), m)
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

// killing are the programs of the scripts at which a test kills them. Each counts its calls, and just
// before call number KILL_AT it kills the whole process group.
var killing = []string{"cp", "mv", "ln", "rm", "sync", "umount", "mkfs.xfs"}

const killStandIn = `#!/bin/bash
n=$(($(cat "$CALLS" 2>/dev/null) + 1)); echo "$n" >"$CALLS"
[[ $n != "${KILL_AT:-}" ]] || kill -9 -- "-$KILL_GROUP"
`

// assertions is what systemd checks before it starts a unit.
const assertions = `for f in "$UNITS"/*.service.d/*.conf; do [[ -e $f ]] || continue
	P=$(sed -n 's/^AssertPathExists=//p' "$f"); [[ -e ${P//%%/%} ]] || { echo "no $P" >&2; exit 1; }; done; `

func newRealMove(t *testing.T, key, data, logIn, start, stop string) *realMove {
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
	files, err := emit.MoveFiles(engine.All().Deployments(),
		emit.MoveRequest{Engine: key, Data: data, Unit: unit, Mount: m.mount, Filesystem: "xfs"})
	if err != nil {
		t.Fatal(err)
	}

	for _, f := range files {
		m.file(f.Path, string(f.Text))
	}

	// The last line has no line end, as users leave it.
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
