//go:build linux

package blockdev

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"plimsoll/internal/lab/disk"
)

// Attaching a volume resets an nr_requests left over on the loop device.
func TestSlots(t *testing.T) {
	for slots, want := range map[int]string{0: "128", 4: "4"} {
		if all := queueSettings(&disk.Disk{}, Options{Slots: slots}); !slices.Contains(all, setting{"nr_requests", want}) {
			t.Errorf("%d slots: %v, want nr_requests of %s", slots, all, want)
		}
	}
}

// Attaching a volume resets a limit of dirty pages left over on the loop device.
func TestUnbound(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bdi"), 0o755); err != nil {
		t.Fatal(err)
	}

	left := map[string][2]string{"max_ratio": {"0", "100"}, "strict_limit": {"1", "0"}}
	for name, v := range left {
		if err := os.WriteFile(filepath.Join(dir, "bdi", name), []byte(v[0]), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	if err := unbound(dir); err != nil {
		t.Fatal(err)
	}

	for name, v := range left {
		if got, err := os.ReadFile(filepath.Join(dir, "bdi", name)); err != nil || string(got) != v[1] {
			t.Errorf("%s is %q (%v), not %s", name, got, err, v[1])
		}
	}

	if err := os.Remove(filepath.Join(dir, "bdi", "strict_limit")); err != nil {
		t.Fatal(err)
	}

	if err := unbound(dir); err != nil {
		t.Errorf("a kernel without strict_limit: %v", err)
	}
}
