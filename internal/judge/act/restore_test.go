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
	"testing"

	"plimsoll/internal/judge/act"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/lab/mount"
)

// A bench runs printed commands in a separate home folder, with stand-ins for programs that cannot
// run in a test, and with folders of the machine replaced by others.
type bench struct {
	t        *testing.T
	way      act.Way
	home     string
	env      []string
	replaced *strings.Replacer
	boot     func() // restarts what the steps change; nil if nothing can be
	brief    bool   // without interruptions (another case covers them), unless CI_FULL is set
}

func newBench(t *testing.T, remedy string, place rules.Place, values rules.Values, programs map[string]string, replaced ...string) *bench {
	t.Helper()
	return newBenchIn(t, remedy, place, "", values, programs, replaced...)
}

func newBenchIn(t *testing.T, remedy string, place rules.Place, cloud rules.Cloud, values rules.Values, programs map[string]string, replaced ...string) *bench {
	t.Helper()
	bin := t.TempDir()
	programs["sudo"] = "#!/bin/sh\nexec \"$@\"\n"

	for name, text := range programs {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}

	b := &bench{t: t, home: t.TempDir(), replaced: strings.NewReplacer(replaced...)}
	b.env = append(os.Environ(), "HOME="+b.home, "PATH="+bin+":"+os.Getenv("PATH"))

	for _, m := range pack.Remedies() {
		if m.Name != remedy {
			continue
		}
		for _, w := range act.Describe(pack, "", m, values).Ways {
			if w.Place == string(place) && (cloud == "" && len(w.Clouds) == 0 || slices.Contains(w.Clouds, string(cloud))) {
				b.way = w
				return b
			}
		}
	}

	t.Fatalf("no remedy %s in %s", remedy, place)
	return nil
}

// killing runs a program after counting its calls; before the call KILL_AT it kills the shell and all that the
// shell runs.
const killing = `#!/bin/bash
printf x >>"$CALLS" # of a pipe, several run at the same time
n=$(<"$CALLS")
[[ ${#n} != "${KILL_AT:-}" ]] || kill -9 -- "-$KILL_GROUP"
PATH=${PATH#*:} exec NAME "$@"
`

// killable makes the bench's programs killable and returns a function that runs lines up to a call of one of
// them, and reports how many calls there were and whether it came to that call.
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
		_ = cmd.Run() // what it ends with is up to the step
		return len(read(b.t, counter)), cmd.ProcessState.ExitCode() == -1
	}
}

// interrupted kills the steps before each call of a program (some of them, unless CI_FULL is set). Afterwards
// the machine may boot. Then a user either continues, or gives up and runs the undo. In the end the state is as
// before.
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

// full runs the steps on a full disk: no step may change anything whose former state it could not save.
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

// run runs lines in one shell, as if pasted.
func (b *bench) run(lines ...[]string) string {
	b.t.Helper()
	out, err := b.try(lines...)
	if err != nil {
		b.t.Fatalf("%v\n%s\nof\n%s", err, out, slices.Concat(lines...))
	}
	return out
}

// try is like run for lines that may fail.
func (b *bench) try(lines ...[]string) (string, error) {
	b.t.Helper()
	cmd := exec.CommandContext(b.t.Context(), "sh", "-c", b.replaced.Replace(strings.Join(slices.Concat(lines...), "\n")))
	cmd.Env = b.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// restores is like undoes. Nor may a full disk or a kill lose the previous state.
func (b *bench) restores(state func() string) {
	b.t.Helper()
	b.undoes(state)
	if !b.brief || os.Getenv("CI_FULL") != "" {
		b.full(state)
		b.interrupted(state)
	}
}

// undoes checks that Do changes the state, that Undo restores it, and that both can be repeated.
// Looking again after the change must not lose the previous state.
func (b *bench) undoes(state func() string) {
	b.t.Helper()
	was := state()
	for _, looks := range []int{1, 2} {
		for range looks {
			b.run(b.way.Look)
		}

		b.run(b.way.Look, b.way.Do)
		done := state()
		if done == was {
			b.t.Fatalf("Do changes nothing: %s", was)
		}

		b.run(b.way.Look, b.way.Check)
		b.run(b.way.Keep)
		b.run(b.way.Undo)

		if got := state(); got != was {
			b.t.Fatalf("it was %q, then %q, and after undo %q", was, done, got)
		}

		if left, _ := os.ReadDir(b.home); len(left) > 0 {
			b.t.Fatalf("undo leaves %s behind, which the next change would mistake for the previous state", left[0].Name())
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// The kernel's limits for dirty pages come back exactly: bytes, or a ratio, or a ratio of 0.
func TestDirtyBytesRestored(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: sets vm.dirty_background_*")
	}

	unlock, err := mount.Lock(t.Context(), "settings", nil)
	if err != nil {
		t.Fatal(err)
	}

	defer unlock()
	state := func() string {
		return read(t, "/proc/sys/vm/dirty_background_bytes") + " bytes, " + read(t, "/proc/sys/vm/dirty_background_ratio") + " %"
	}
	set := func(name, value string) {
		if err := os.WriteFile("/proc/sys/vm/dirty_background_"+name, []byte(value), 0o644); err != nil {
			t.Skipf("the machine's settings cannot be changed here: %v", err)
		}
	}

	bytes, ratio := read(t, "/proc/sys/vm/dirty_background_bytes"), read(t, "/proc/sys/vm/dirty_background_ratio")
	defer func() {
		if bytes != "0" {
			set("bytes", bytes)
			return
		}
		set("ratio", ratio)
	}()

	for _, former := range [][2]string{{"bytes", "67108864"}, {"ratio", "7"}, {"ratio", "0"}} {
		set(former[0], former[1])
		kept := filepath.Join(t.TempDir(), "99-zz-plimsoll.conf")
		b := newBench(t, "dirty-bytes", rules.Host, nil, map[string]string{}, "/etc/sysctl.d/99-zz-plimsoll.conf", kept, "grep -s", "true ")
		b.restores(state)
		if _, err := os.Stat(kept); err == nil {
			t.Error("undo leaves the file that makes it permanent")
		}
	}
}

// kubectlDebug runs the node's programs here, and prints as kubectl does: its own line first, and a
// terminal's line ends. It does not report how the program ended.
const kubectlDebug = `#!/bin/sh
case "$*" in
"debug node/n1 -it --profile=sysadmin --image=busybox -- chroot /host "*) ;;
*) echo "unknown: $*" >&2; exit 1 ;;
esac
shift 8
echo "Creating debugging pod node-debugger-n1-x with container debugger on node n1."
"$@" | sed 's/$/\r/'
`

// The same on a Kubernetes node, by a debugging pod.
func TestNodeRestored(t *testing.T) {
	disk := t.TempDir()
	file := filepath.Join(disk, "wbt_lat_usec")
	for _, former := range []string{"0", "75000"} {
		if err := os.WriteFile(file, []byte(former+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		b := newBench(t, "writeback-throttling", rules.Kubernetes, rules.Values{"disk": "sdb"}, map[string]string{"kubectl": kubectlDebug}, "/sys/block/sdb/queue/wbt_lat_usec", file)
		b.env = append(b.env, "NODE=n1")
		b.restores(func() string { return read(t, file) })
	}

	// sysctl keeps two figures, of which writing one sets the other to 0.
	const sysctl = `#!/bin/sh
. "$STATE"
if [ "$1" = -w ]; then
	case "$2" in
	vm.dirty_background_bytes=0) exit 1 ;;
	vm.dirty_background_bytes=*) BYTES=${2#*=} RATIO=0 ;;
	*) BYTES=0 RATIO=${2#*=} ;;
	esac
	echo "BYTES=$BYTES RATIO=$RATIO" >"$STATE"
	echo "${2%=*} = ${2#*=}"
	exit
fi
printf 'vm.dirty_background_bytes = %s\nvm.dirty_background_ratio = %s\n' "$BYTES" "$RATIO"
`
	for _, former := range []string{"BYTES=67108864 RATIO=0", "BYTES=0 RATIO=7", "BYTES=0 RATIO=0"} {
		state := filepath.Join(disk, "state")
		if err := os.WriteFile(state, []byte(former+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		b := newBench(t, "dirty-bytes", rules.Kubernetes, nil, map[string]string{"kubectl": kubectlDebug, "sysctl": sysctl})
		b.env = append(b.env, "NODE=n1", "STATE="+state)
		b.restores(func() string { return read(t, state) })
	}
}

// A real loop device's writeback throttling comes back, whatever it was.
func TestWritebackThrottlingRestored(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: creates a loop device")
	}

	image := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(image, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}

	out, err := exec.CommandContext(t.Context(), "losetup", "--find", "--show", image).Output()
	if err != nil {
		t.Skipf("cannot create a loop device here: %v", err)
	}

	device := strings.TrimSpace(string(out))
	defer func() { _ = exec.Command("losetup", "--detach", device).Run() }()

	disk := filepath.Base(device)
	file := "/sys/block/" + disk + "/queue/wbt_lat_usec"
	usual, err := os.ReadFile(file)
	if err != nil {
		t.Skipf("this kernel has no writeback throttling: %v", err)
	}

	defer func() { _ = os.WriteFile(file, usual, 0o644) }()

	for _, former := range []string{"0", "75000"} {
		if err := os.WriteFile(file, []byte(former), 0o644); err != nil {
			t.Skipf("the device's settings cannot be changed here: %v", err)
		}

		kept := t.TempDir()
		b := newBench(t, "writeback-throttling", rules.Host, rules.Values{"disk": rules.Called(disk)},
			map[string]string{"udevadm": "#!/bin/sh\necho ID_SERIAL=vol0a1b2c3d\n"}, "/etc/udev/rules.d", kept)
		b.restores(func() string { return read(t, file) })

		b.run(b.way.Keep)
		rule := read(t, filepath.Join(kept, "61-plimsoll-wbt-"+disk+".rules"))
		if rule != `ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", ENV{ID_SERIAL}=="vol0a1b2c3d", ATTR{queue/wbt_lat_usec}="2000"` {
			t.Errorf("%s", rule)
		}
	}
}

// docker keeps a container's limits as Docker does: --cpus is rejected if --cpu-quota set the limit
// (moby, daemon/daemon_unix.go), and 0 changes nothing.
const docker = `#!/bin/sh
. "$LIMITS"
case "$1" in
inspect)
	case "$3" in
	*Nano*) echo "$NANO $QUOTA $PERIOD" ;;
	*) echo "$MEMORY $SWAP" ;;
	esac
	exit ;;
stats) exit ;;
update) shift ;;
esac
while [ $# -gt 1 ]; do
	case "$1" in
	--cpus)
		if [ "$QUOTA" -gt 0 ]; then echo 'Conflicting options: CPU Quota already set' >&2; exit 1; fi
		NANO=$(awk -v n="$2" 'BEGIN { printf "%.0f", n * 1e9 }') ;;
	--cpu-quota) QUOTA=$2 ;;
	--cpu-period) [ "$2" = 0 ] || PERIOD=$2 ;;
	--memory) case "$2" in *m) MEMORY=$((${2%m} * 1048576)) ;; *) MEMORY=$2 ;; esac ;;
	--memory-swap) [ "$2" = 0 ] || SWAP=$2 ;;
	*) echo "unknown: $1" >&2; exit 1 ;;
	esac
	shift 2
done
if [ "$SWAP" -gt 0 ] && [ "$SWAP" -lt "$MEMORY" ]; then echo 'memory-swap under memory' >&2; exit 1; fi
printf 'NANO=%s QUOTA=%s PERIOD=%s MEMORY=%s SWAP=%s\n' "$NANO" "$QUOTA" "$PERIOD" "$MEMORY" "$SWAP" >"$LIMITS"
`

func TestDockerLimitsRestored(t *testing.T) {
	for _, c := range []struct{ remedy, limits, done string }{
		{"cpu-limit", "NANO=1500000000 QUOTA=0 PERIOD=0 MEMORY=0 SWAP=0", "NANO=4000000000 QUOTA=0 "},
		{"cpu-limit", "NANO=0 QUOTA=50000 PERIOD=20000 MEMORY=0 SWAP=0", "NANO=0 QUOTA=400000 PERIOD=100000"},
		{"memory-limit", "NANO=0 QUOTA=0 PERIOD=0 MEMORY=8589934592 SWAP=17179869184", "MEMORY=12884901888 SWAP=21474836480"},
		{"memory-limit", "NANO=0 QUOTA=0 PERIOD=0 MEMORY=8589934592 SWAP=8589934592", "MEMORY=12884901888 SWAP=12884901888"},
		{"memory-limit", "NANO=0 QUOTA=0 PERIOD=0 MEMORY=8589934592 SWAP=-1", "MEMORY=12884901888 SWAP=-1"},
	} {
		limits := filepath.Join(t.TempDir(), "limits")
		if err := os.WriteFile(limits, []byte(c.limits+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		b := newBench(t, c.remedy, rules.Docker, rules.Values{"name": "db"}, map[string]string{"docker": docker})
		b.env = append(b.env, "LIMITS="+limits)
		b.restores(func() string { return read(t, limits) })

		if b.run(b.way.Look, b.way.Do); !strings.Contains(read(t, limits), c.done) {
			t.Errorf("%s: after Do it is %s, want %s", c.limits, read(t, limits), c.done)
		}
	}
}

// systemctl writes drop-ins as systemd does for set-property.
const systemctl = `#!/bin/sh
[ "$1" = set-property ] || exit 0
shift
root=$ETC
if [ "$1" = --runtime ]; then root=$RUN; shift; fi
dir=$root/systemd/system.control/$1.d
shift
mkdir -p "$dir"
for p; do printf '[Service]\n%s\n' "$p" >"$dir/50-${p%%=*}.conf"; done
`

// A unit's drop-ins come back as they were: none, or those of an earlier set-property.
func TestUnitLimitsRestored(t *testing.T) {
	for _, former := range []map[string]string{
		{},
		{"etc/systemd/system.control/db.service.d/50-MemoryMax.conf": "[Service]\nMemoryMax=4G\n", "etc/systemd/system.control/db.service.d/50-CPUQuota.conf": "[Service]\nCPUQuota=150%\n"},
		{"run/systemd/system.control/db.service.d/50-MemoryMax.conf": "[Service]\nMemoryMax=5G\n", "run/systemd/system.control/db.service.d/50-IOWeight.conf": "[Service]\nIOWeight=10\n"},
	} {
		for _, remedy := range []string{"cpu-limit", "memory-limit"} {
			root := t.TempDir()
			for path, text := range former {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}

			b := newBench(t, remedy, rules.Host, rules.Values{"unit": "db.service"}, map[string]string{"systemctl": systemctl},
				"/etc/systemd", root+"/etc/systemd", "/run/systemd", root+"/run/systemd", "free -m", "true")
			b.env = append(b.env, "ETC="+root+"/etc", "RUN="+root+"/run")
			b.restores(func() string { return files(t, root) })
		}
	}
}

// files lists the files of a folder with their contents.
func files(t *testing.T, root string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			name, _ := filepath.Rel(root, path)
			all.WriteString(name + ": " + read(t, path) + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// A cgroup's I/O limit comes back. The kernel's file is replaced by one with a single device.
func TestIOLimitRestored(t *testing.T) {
	group := t.TempDir()
	for name, text := range map[string]string{"io.max": "259:1 rbps=max wbps=max riops=max wiops=3000\n", "io.pressure": ""} {
		if err := os.WriteFile(filepath.Join(group, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := newBench(t, "io-limit", rules.Host, rules.Values{"cgroup": "/db.scope", "device": "/dev/nvme1n1"},
		map[string]string{"lsblk": "#!/bin/sh\necho ' 259:1 '\n"}, "/sys/fs/cgroup/db.scope", group)
	b.restores(func() string { return read(t, filepath.Join(group, "io.max")) })
}

// The speed of a resync is restored: the limit of all arrays, or the array's own.
func TestSyncSpeedRestored(t *testing.T) {
	// The kernel shows the written value with its scope; "system" removes the array's own limit.
	const tee = `#!/bin/sh
read -r SPEED
case "$SPEED" in
system) echo '200000 (system)' >"$1" ;;
*) echo "$SPEED (local)" >"$1" ;;
esac
`
	for _, former := range []string{"200000 (system)", "50000 (local)"} {
		md := t.TempDir()
		for _, name := range []string{"sync_speed_max", "sync_speed_min", "sync_speed", "sync_action", "sync_completed"} {
			if err := os.WriteFile(filepath.Join(md, name), []byte(former+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		b := newBench(t, "sync-speed", rules.Host, rules.Values{"disk": "md0"}, map[string]string{"tee": tee}, "/sys/block/md0/md", md, "/proc/mdstat", "")
		b.restores(func() string { return read(t, filepath.Join(md, "sync_speed_max")) })
	}
}
