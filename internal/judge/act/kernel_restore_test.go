package act_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/lab/mount"
)

// The kernel's limits for dirty pages are restored exactly: bytes, a ratio, or a ratio of 0.
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

// kubectlDebug runs the node's programs here and prints as kubectl does: its own line first, and line
// ends as on a terminal. Like kubectl, it does not report how the program ended.
const kubectlDebug = `#!/bin/sh
case "$*" in
"debug node/n1 -it --profile=sysadmin --image=busybox -- chroot /host "*) ;;
*) echo "unknown: $*" >&2; exit 1 ;;
esac
shift 8
echo "Creating debugging pod node-debugger-n1-x with container debugger on node n1."
"$@" | sed 's/$/\r/'
`

// The same on a Kubernetes node, through a debugging pod.
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

	// sysctl keeps two settings; writing one resets the other to 0.
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

// A real loop device's writeback throttling is restored, whatever it was.
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

// The speed of a resync is restored: the limit of all arrays, or the array's own.
func TestSyncSpeedRestored(t *testing.T) {
	// The kernel shows the current value with its scope; writing "system" removes the array's own limit.
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
