package host

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// The firmware of an EC2 instance names its type; that of another machine names a product.
func TestMachineFacts(t *testing.T) {
	for _, c := range []struct{ vendor, product, want string }{
		{"Amazon EC2\n", "m6i.xlarge\n", "m6i.xlarge"},
		{"Amazon EC2\n", "u-6tb1.112xlarge\n", "u-6tb1.112xlarge"},
		{"Amazon EC2\n", "HVM domU\n", ""},
		{"Dell Inc.\n", "m6i.xlarge\n", ""},
		{"", "", ""},
	} {
		root := t.TempDir()
		dir := filepath.Join(root, "sys", "class", "dmi", "id")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}

		for name, text := range map[string]string{"sys_vendor": c.vendor, "product_name": c.product} {
			if text == "" {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}

		f := map[string]string{}
		if machineFacts(root, f); f["instance_type"] != c.want {
			t.Errorf("%q of %q is taken for %q, not %q", c.product, c.vendor, f["instance_type"], c.want)
		}
	}
}

// A device on top of others names the disks below it, not their partitions, and its type.
func TestLayerFacts(t *testing.T) {
	root := t.TempDir()
	block := filepath.Join(root, "sys", "block")
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(block, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	for name, text := range map[string]string{"sda/size": "8", "sdb/size": "8", "nvme0n1/size": "8",
		"md0/md/level": "raid5", "md0/md/sync_action": "check", "dm-0/dm/uuid": "CRYPT-LUKS2-0123-data", "dm-0/dm/name": "data"} {
		write(name, text)
	}

	for link, to := range map[string]string{
		"md0/slaves/sda1":     "../../../../pci0000:00/ata1/block/sda/sda1",
		"md0/slaves/sdb1":     "../../../../pci0000:00/ata2/block/sdb/sdb1",
		"dm-0/slaves/nvme0n1": "../../../../pci0000:00/nvme/nvme0/nvme0n1",
	} {
		path := filepath.Join(block, link)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, path); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
	}

	f := map[string]string{}
	for _, device := range []string{"sda", "md0", "dm-0"} {
		layerFacts(root, device, f)
	}

	want := map[string]string{"parts.md0": "2", "below.md0": "sda sdb", "layer.md0": "raid5", "sync.md0": "check",
		"below.dm-0": "nvme0n1", "layer.dm-0": "crypt", "called.dm-0": "data"}
	if !maps.Equal(f, want) {
		t.Errorf("the facts are %v, want %v", f, want)
	}
}
