//go:build linux

package trace_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/lab/blockdev"
	"plimsoll/internal/trace/tracer"
)

// costVolumes are where the loads' files are: in memory, as fast as requests can be; on the disk of temporary
// files; and on a volume that takes this long for each request, which is gp3's mean in docs/models.md.
var costVolumes = []struct {
	name string
	make func(testing.TB) string
}{
	{"memory", inMemory},
	{"disk", onDisk},
	{"700us", func(t testing.TB) string { return delayed(t, "700us") }},
}

// onDisk returns a folder on the disk of temporary files.
func onDisk(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "plimsoll-cost-")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = os.RemoveAll(dir) })  // best effort: its name identifies the owner
	if err := os.Chmod(dir, 0o755); err != nil { // engines do not run as root
		t.Fatal(err)
	}

	return dir
}

// inMemory returns a folder on an ext4 on a loop device over a file in memory, as fast as requests
// can be.
func inMemory(t testing.TB) string {
	t.Helper()
	f, err := os.CreateTemp("/dev/shm", "plimsoll-cost-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = os.Remove(f.Name()) }) // best effort: memory is cleared at reboot
	if err := errors.Join(f.Truncate(6<<30), f.Close()); err != nil {
		t.Fatal(err)
	}
	return formatted(t, looped(t, f.Name()))
}

// looped attaches a loop device to a file.
func looped(t testing.TB, file string, options ...string) string {
	t.Helper()
	need(t, "losetup")
	text, err := exec.CommandContext(t.Context(), "losetup", append(options, "--find", "--show", file)...).Output()
	if err != nil {
		t.Skip("losetup: ", err)
	}
	device := strings.TrimSpace(string(text))
	t.Cleanup(func() { program(t, "losetup", "--detach", device) })
	return device
}

// formatted creates an ext4 on a device and mounts it.
func formatted(t testing.TB, device string) string {
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

// delayed returns a folder on an ext4 on a volume with a fixed latency for each request: a loop
// device over a file that a separate process serves.
func delayed(t testing.TB, latency string) string {
	t.Helper()
	need(t, "losetup")
	if err := errors.Join(blockdev.Available(), tracer.Available()); err != nil {
		t.Skip(err)
	}

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	cmd := exec.CommandContext(context.Background(), self, dir)
	cmd.Env = append(os.Environ(), "PLIMSOLL_TEST_VOLUME="+latency)
	cmd.Stderr = os.Stderr

	out, err := cmd.StdoutPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		unmount(t, dir) // ends it
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})

	if !bufio.NewScanner(out).Scan() {
		t.Fatal("no volume was created")
	}

	return formatted(t, looped(t, filepath.Join(dir, delayedName), "--direct-io=on"))
}
