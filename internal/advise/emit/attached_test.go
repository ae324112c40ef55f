package emit_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/advise/emit"
)

// A disk on db-1-old is not on db-1, regardless of how the provider's tool lists the machines.
func TestAttachedIsExact(t *testing.T) {
	needs(t, "bash")
	begin := strings.Index(emit.AWSScript, "attached() {")
	end := strings.Index(emit.AWSScript[begin:], "\n}\n") + begin + 3
	for machines, want := range map[string]bool{"db-1": true, "db-0 db-1": true, "db-0;db-1": true, "db-0\ndb-1": true, "db-1-old": false, "old-db-1": false, "db-0;db-1-old": false, "": false} {
		script := "unknown() { exit 9; }\nmachines() { printf '%s\\n' \"$LIST\"; }\n" + emit.AWSScript[begin:end] + "\nattached db-1 disk"
		c := exec.Command("bash", "-c", script)
		c.Env = append(os.Environ(), "LIST="+machines)
		err := c.Run()
		if got := err == nil; got != want {
			t.Errorf("on %q: %v (%v), want %v", machines, got, err, want)
		}
	}
}

// A disk may have a different device name after a boot. Undo restores the disk's own old values, and
// does not write them to the disk that now has its old name.
func TestQueueOfARenamedDisk(t *testing.T) {
	needs(t, "bash")
	needs(t, "awk")
	l := layoutOf(t, "telemetry.yaml", "host.wbt_lat_usec=0")
	dir := t.TempDir()
	script := filepath.Join(dir, "queue.sh")

	if err := os.WriteFile(script, []byte(filesOf(t, l, emit.Options{}, "udev")["udev/queue.sh"]), 0o700); err != nil {
		t.Fatal(err)
	}

	// udevadm returns the serial from the file next to the disk.
	fake := "#!/bin/bash\nfor a; do [[ $a != --name=* ]] || cat \"$SYS/block/${a#--name=}/serial\"; done\n"
	if err := os.WriteFile(filepath.Join(dir, "udevadm"), []byte(fake), 0o700); err != nil {
		t.Fatal(err)
	}

	sys := sysfs(t, map[string]string{
		"disk1/queue/wbt_lat_usec": "2000\n", "disk1/queue/scheduler": "[none]\n", "disk1/serial": "ID_SERIAL=vol1\n",
		"disk2/queue/wbt_lat_usec": "7000\n", "disk2/queue/scheduler": "[none]\n", "disk2/serial": "ID_SERIAL=vol2\n",
	})

	run := func(args ...string) {
		t.Helper()
		c := exec.Command("bash", append([]string{script}, args...)...)
		c.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "SYS="+sys, "RULES="+filepath.Join(dir, "rules"), "SAVED="+filepath.Join(dir, "state", "queue"))
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}

	latency := func(disk string) string {
		b, err := os.ReadFile(filepath.Join(sys, "block", disk, "queue/wbt_lat_usec"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(b))
	}

	run("disk1")
	if latency("disk1") != "0" {
		t.Fatalf("not set: %s", latency("disk1"))
	}

	for _, swap := range [][2]string{{"disk1", "x"}, {"disk2", "disk1"}, {"x", "disk2"}} {
		if err := os.Rename(filepath.Join(sys, "block", swap[0]), filepath.Join(sys, "block", swap[1])); err != nil {
			t.Fatal(err)
		}
	}

	run("--undo", "disk1") // another disk now
	if got := latency("disk1"); got != "7000" {
		t.Errorf("the disk that has the name now: %s, want its own 7000", got)
	}

	run("--undo", "disk2")
	if got := latency("disk2"); got != "2000" {
		t.Errorf("the disk that was set: %s, want 2000 again", got)
	}
}
