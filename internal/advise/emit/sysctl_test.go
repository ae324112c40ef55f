package emit_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/lab/mount"
)

// The kernel's limits are restored exactly, whether bytes or ratio, as the README says. Running its
// steps a second time does not treat the new values as the previous ones, and nothing is left behind.
func TestSysctlUndone(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: sets vm.dirty_background_*")
	}

	unlock, err := mount.Lock(t.Context(), "settings", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()

	files := filesOf(t, layoutOf(t, "telemetry.yaml", "host.dirty_background_bytes=8MB"), emit.Options{}, "sysctl")
	dir, home := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "90-plimsoll.conf"), []byte(files["sysctl/90-plimsoll.conf"]), 0o600); err != nil {
		t.Fatal(err)
	}
	var steps []string // to apply, and to go back
	for line := range strings.Lines(files["README.md"]) {
		if line, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "       "); ok && strings.ContainsAny(line, "~/") {
			steps = append(steps, strings.NewReplacer("/etc/sysctl.d", dir, "sysctl/90", dir+"/90").Replace(strings.TrimSpace(line)))
		}
	}

	if len(steps) != 4 {
		t.Fatalf("the steps are %q", steps)
	}

	sh := func(lines ...string) string {
		t.Helper()
		cmd := exec.Command("sh", "-c", strings.Join(lines, "\n"))
		cmd.Env = append(os.Environ(), "HOME="+home)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v: %s", lines, err, out)
		}
		return string(out)
	}

	const state = "sysctl vm.dirty_background_ratio vm.dirty_background_bytes"
	before := sh(state)

	// A container may show the machine's settings and refuse to change them.
	if f, err := os.OpenFile("/proc/sys/vm/dirty_background_ratio", os.O_WRONLY, 0); err != nil {
		t.Skipf("the machine's settings cannot be changed here: %v", err)
	} else if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	defer func() {
		sh("printf '" + strings.ReplaceAll(before, "vm.dirty_background_bytes = 0", "") + "' | sysctl -p -")
	}()
	for _, former := range []string{"vm.dirty_background_bytes=67108864", "vm.dirty_background_ratio=7", "vm.dirty_background_ratio=0"} {
		sh("sysctl -w " + former)
		was := sh(state)
		sh(steps[:2]...)
		if got := sh(state); !strings.Contains(got, "bytes = 8000000") {
			t.Errorf("applied, it is %s", got)
		}
		sh(steps[:2]...)
		sh(steps[2:]...)
		if got := sh(state); got != was {
			t.Errorf("it was %s, and after going back %s", was, got)
		}
		if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
			t.Errorf("left are %v, %v", left, err)
		}
	}
}

// The kernel would round 0.4 % to 0, which turns the limit off.
func TestRatioIsWholePercentage(t *testing.T) {
	l := layoutOf(t, "telemetry.yaml", "host.dirty_background_bytes=", "host.dirty_background_ratio=0.4%")
	if _, err := emit.Files(l, []string{"sysctl"}, emit.Options{}); err == nil || !strings.Contains(err.Error(), "whole percentages") {
		t.Errorf("0.4 %%: %v", err)
	}
	files := filesOf(t, layoutOf(t, "telemetry.yaml", "host.dirty_background_bytes=", "host.dirty_background_ratio=4%"), emit.Options{}, "sysctl")
	if text := files["sysctl/90-plimsoll.conf"]; !strings.Contains(text, "vm.dirty_background_ratio = 4\n") {
		t.Errorf("4 %%: %s", text)
	}
}
