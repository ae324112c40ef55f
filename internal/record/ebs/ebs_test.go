package ebs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Only a device that identifies itself as an EBS volume is treated as one.
func TestVolumes(t *testing.T) {
	root := t.TempDir()
	for name, is := range map[string][2]string{
		"nvme0n1": {"Amazon Elastic Block Store              \n", "vol0123456789abcdef0\n"},
		"nvme1n1": {"Amazon Elastic Block Store\n", "vol-0aa11bb22cc33dd44\n"},
		"nvme2n1": {"Amazon EC2 NVMe Instance Storage\n", "AWS0123456789ABCDEF0\n"},
		"nvme3n1": {"Samsung SSD 990 PRO\n", "vol0123456789abcdef0\n"},
		"nvme4n1": {"Amazon Elastic Block Store\n", "../../etc/passwd\n"},
		"nvme5n1": {"Amazon Elastic Block Store\n", ""},
		"nvme6n1": {strings.Repeat("Amazon Elastic Block Store", 1<<12), "vol0123456789abcdef0\n"},
		"sda":     {"Amazon Elastic Block Store\n", "vol0123456789abcdef0\n"},
	} {
		dir := filepath.Join(root, "sys", "block", name, "device")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for i, file := range []string{"model", "serial"} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(is[i]), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}

	want := []Volume{{"nvme0n1", "vol-0123456789abcdef0"}, {"nvme1n1", "vol-0aa11bb22cc33dd44"}}
	if got := Volumes(root); !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}

	if got := Volumes(t.TempDir()); got != nil {
		t.Errorf("a machine without /sys has %v", got)
	}
}
