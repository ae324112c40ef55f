//go:build linux

package trace_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/lab/blockdev"
	"plimsoll/internal/lab/disk"
	"plimsoll/internal/model/volume"
	"plimsoll/internal/trace/probe"
)

var costOn = flag.String("cost-on", "memory", "where the loads' files are: memory, a folder (its disk), or a duration (an emulated volume each of whose requests takes so long)")

// costVolume is a folder on the file system that -cost-on names.
func costVolume(t *testing.T) string {
	t.Helper()
	if *costOn == "memory" {
		return inMemory(t)
	}
	if !filepath.IsAbs(*costOn) {
		return emulatedFor(t, *costOn)
	}
	dir, err := os.MkdirTemp(*costOn, "plimsoll-cost-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })  // it has a name that says whose it is
	if err := os.Chmod(dir, 0o755); err != nil { // engines are not root
		t.Fatal(err)
	}
	return dir
}

// inMemory is an ext4 on a loop device over a file in memory: as fast as requests can be.
func inMemory(t *testing.T) string {
	t.Helper()
	f, err := os.CreateTemp("/dev/shm", "plimsoll-cost-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = os.Remove(f.Name()) }) // or the next start of the machine does
	if err := errors.Join(f.Truncate(6<<30), f.Close()); err != nil {
		t.Fatal(err)
	}
	need(t, "losetup")
	text, err := exec.CommandContext(t.Context(), "losetup", "--find", "--show", f.Name()).Output()
	if err != nil {
		t.Skip("losetup: ", err)
	}
	device := strings.TrimSpace(string(text))
	t.Cleanup(func() { program(t, "losetup", "--detach", device) })
	return formatted(t, device)
}

// formatted mounts a new ext4 on a device.
func formatted(t *testing.T, device string) string {
	t.Helper()
	need(t, "mkfs.ext4", "mount")
	program(t, "mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", device)
	dir := filepath.Join(t.TempDir(), "volume")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	program(t, "mount", device, dir)
	t.Cleanup(func() { unmount(t, dir) })
	return dir
}

// emulatedFor is an ext4 on an emulated volume, which a process of its own serves: each request takes so
// long, and no number of them is too many.
func emulatedFor(t *testing.T, latency string) string {
	t.Helper()
	if err := errors.Join(blockdev.Available(), probe.Available()); err != nil {
		t.Skip(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), self, t.TempDir())
	cmd.Env = append(os.Environ(), "PLIMSOLL_TEST_VOLUME="+latency)
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			t.Error(err)
		}
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("no volume was made")
	}
	return formatted(t, lines.Text())
}

// serveVolume serves such a volume until its input ends.
func serveVolume(latency string) (err error) {
	each, err := time.ParseDuration(latency)
	if err != nil {
		return err
	}
	blockdev.Prioritize()
	cfg := volume.Config{Name: "cost", Size: 6 * units.GiB, Operation: 256 * units.KiB, Sustained: volume.Rate{IOPS: 1e6, Throughput: 16 << 30}}
	for op := range cfg.Latency {
		cfg.Latency[op] = volume.Constant(units.Duration(each))
	}
	h, err := disk.NewHost(disk.Options{Path: blockdev.DefaultPath})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	d, err := h.Add(disk.Config{Name: cfg.Name, Size: cfg.Size, Volume: volume.MustNew(cfg, 1, nil)})
	if err != nil {
		return err
	}
	v, err := blockdev.Attach(context.Background(), d, os.Args[1], blockdev.Options{MaxRequest: 256 * units.KiB})
	if err != nil {
		return err
	}
	fmt.Println(v.Path())
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, v.Detach(context.Background()))
}
