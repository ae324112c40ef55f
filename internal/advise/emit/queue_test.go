package emit_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/advise/emit"
)

// sysfs creates the files of disks in /sys/block that the script uses.
func sysfs(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, "block", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The script sets a disk's queue and keeps it with a rule; a second run changes nothing; --undo
// restores the values from before the first run.
func TestQueueScript(t *testing.T) {
	needs(t, "bash")
	l := layoutOf(t, "telemetry.yaml", "host.wbt_lat_usec=0")
	dir := t.TempDir()
	script := filepath.Join(dir, "queue.sh")

	if err := os.WriteFile(script, []byte(filesOf(t, l, emit.Options{}, "udev")["udev/queue.sh"]), 0o700); err != nil {
		t.Fatal(err)
	}

	sys := sysfs(t, map[string]string{
		"disk1/queue/wbt_lat_usec": "2000\n", "disk1/queue/scheduler": "[none] mq-deadline bfq\n",
		"disk2/queue/wbt_lat_usec": "0\n", "disk2/queue/scheduler": "none [bfq]\n",
		"disk3/queue/scheduler":  "[none]\n",
		"dm-0/queue/scheduler":   "[none]\n",
		"dm-0/slaves/disk1/size": "1\n",
	})

	rules, saved := filepath.Join(dir, "rules"), filepath.Join(dir, "state", "queue")
	run := func(args ...string) (string, error) {
		c := exec.Command("bash", append([]string{script}, args...)...)
		c.Env = append(os.Environ(), "SYS="+sys, "RULES="+rules, "SAVED="+saved)
		out, err := c.CombinedOutput()
		return string(out), err
	}

	read := func(path string) string {
		b, _ := os.ReadFile(path)
		return strings.TrimSpace(string(b))
	}

	setting := filepath.Join(sys, "block/disk1/queue/wbt_lat_usec")

	if out, err := run("--dry-run", "disk1"); err != nil || !strings.Contains(out, "would set wbt_lat_usec of disk1 from 2000 to 0") || read(setting) != "2000" {
		t.Errorf("--dry-run: %v, %s", err, out)
	}

	for range 2 {
		if out, err := run("disk1"); err != nil || read(setting) != "0" {
			t.Fatalf("%v: %s", err, out)
		}
	}

	const line = `ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", KERNEL=="disk1", ATTR{queue/wbt_lat_usec}="0"`
	if got := read(rules); got != line {
		t.Errorf("the rule is %q, not %q", got, line)
	}

	if out, err := run("--look", "disk1"); err != nil || out != "disk1 wbt_lat_usec 0\n" {
		t.Errorf("--look: %v, %q", err, out)
	}

	if out, err := run("--undo", "disk1"); err != nil || read(setting) != "2000" || read(rules) != "" {
		t.Errorf("--undo: %v, %s: %q, %q", err, out, read(setting), read(rules))
	}

	for device, why := range map[string]string{"disk2": "its scheduler is bfq", "disk3": "this kernel has no setting wbt_lat_usec", "dm-0": "name /dev/disk1", "nothing": "is not a whole disk"} {
		if out, err := run(device); err == nil || !strings.Contains(out, why) {
			t.Errorf("%s: %v, %s", device, err, out)
		}
	}
}
