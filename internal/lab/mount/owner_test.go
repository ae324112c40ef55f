//go:build linux

package mount

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// holdLab mounts a volume and changes a setting like lab run, prints the device, and waits to be
// killed.
func holdLab(file string) {
	err := os.Unsetenv("PLIMSOLL_TEST_LAB_OWNER") // for the daemon
	m, startErr := Start(context.Background(), Options{File: file, Command: []string{os.Args[0]}})
	if err = errors.Join(err, startErr); err == nil {
		_, err = SetSysctl(map[string]string{background: "53477376"})
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(m.Devices["data"])
	select {}
}

// machine returns what a lab changes on a machine and has to restore: the settings of dirty pages,
// the loop devices' files and queues, and the mounts below root. It omits rotational, which the
// loop driver itself sets whenever a device gets a file.
func machine(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, pattern := range []string{procSys + "vm/dirty_*", "/sys/block/loop*/loop/backing_file"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if text, err := os.ReadFile(f); err == nil { // a device may have just been cleared
				out[f] = strings.TrimSpace(string(text))
			}
		}
	}

	for _, name := range []string{"nr_requests", "scheduler", "wbt_lat_usec", "max_sectors_kb", "write_cache"} {
		files, err := filepath.Glob("/sys/block/loop*/queue/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err == nil {
				out[f] = strings.TrimSpace(string(text))
			}
		}
	}

	mounts, err := mounted()
	if err != nil {
		t.Fatal(err)
	}

	for _, m := range mounts {
		if below(m.dir, root) {
			out[m.dir] = m.fs
		}
	}

	return out
}

// changed returns the entries that differ, ignoring loop devices that other processes use.
func changed(before, now map[string]string, device string) []string {
	var out []string
	names := maps.Clone(before)
	maps.Copy(names, now)
	for name := range names {
		other := strings.HasPrefix(name, "/sys/block/") && !strings.HasPrefix(name, "/sys/block/"+device+"/")
		if before[name] != now[name] && !other {
			out = append(out, fmt.Sprintf("%s: %q, was %q", name, now[name], before[name]))
		}
	}
	return out
}

// If a lab's owner is killed, its daemon restores everything: settings, queues, devices, mounts. No
// other command is needed.
func TestOwnerIsKilled(t *testing.T) {
	needSettings(t)
	lab(t)
	originals(t)
	before := machine(t, Root)
	owner := exec.CommandContext(t.Context(), os.Args[0])
	owner.Env = append(os.Environ(), "PLIMSOLL_TEST_LAB_OWNER="+write(t, "type: gp3\nsize: 1GiB\n"))

	out, err := owner.StdoutPipe()
	if err == nil {
		err = owner.Start()
	}

	if err != nil {
		t.Fatal(err)
	}

	line, err := bufio.NewReader(out).ReadString('\n')
	device := strings.TrimSpace(line)
	if err != nil || !strings.HasPrefix(line, "loop") {
		t.Fatalf("%q, %v", line, err)
	}

	if now := changed(before, machine(t, Root), device); len(now) < 4 {
		t.Errorf("the lab changed only %q", now)
	}

	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}

	_ = owner.Wait() // its error is the signal
	// The daemon sees the end of its owner. It removes its record last.
	var left []string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		left = changed(before, machine(t, Root), device)
		states, err := os.ReadDir(Root)
		if err != nil {
			t.Fatal(err)
		}
		if len(left) == 0 && len(states) == 0 {
			break
		}
	}

	if len(left) > 0 {
		t.Errorf("after the owner was killed:\n%s", strings.Join(left, "\n"))
	}

	if s, err := recorded(); err != nil || s != nil && s.PID == owner.Process.Pid {
		t.Errorf("the settings are still recorded: %+v, %v", s, err)
	}
}

// Images in something other than a folder are an error, and a record of such images does not block
// a sweep.
func TestImagesInAFile(t *testing.T) {
	command := lab(t)
	file := write(t, "type: gp3\nsize: 1GiB\n")
	_, err := Start(t.Context(), Options{File: file, Command: command, Images: file})
	if err == nil || !strings.Contains(err.Error(), "is not a folder: specify a folder for the images") {
		t.Errorf("started with %v", err)
	}

	if _, err := Start(t.Context(), Options{File: file, Command: command, Images: file + "/none"}); err == nil {
		t.Error("started below a file")
	}

	dir := filepath.Join(Root, "m-1")
	state, err := json.Marshal(State{PID: 1 << 22, Started: "1", Files: []string{filepath.Join(file, "plimsoll-m-1-0.img")}})
	if err := errors.Join(err, os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, stateName), state, 0o600)); err != nil {
		t.Fatal(err)
	}

	if did, err := Sweep(); err != nil || len(did) == 0 || !strings.HasSuffix(did[len(did)-1], "only a state file") {
		t.Errorf("swept %q, %v", did, err)
	}
}
