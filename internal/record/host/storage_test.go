package host

import (
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
