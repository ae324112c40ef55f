package catalog

import "testing"

// Under any name for a machine's own disks, an order of them is local.
func TestLocal(t *testing.T) {
	for name, want := range map[string]bool{"nvme": true, "instance-store": true, "Local-NVMe": true, "gp3": false, "custom": false, "": false, "unheard-of": false} {
		o := Order{Type: name}
		if o.Local() != want {
			t.Errorf("%q: local is %v", name, o.Local())
		}
	}
}
