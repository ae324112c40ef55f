package catalog

import "testing"

// An order is local under any name that a machine's own disks have.
func TestLocal(t *testing.T) {
	for name, want := range map[string]bool{"nvme": true, "instance-store": true, "Local-NVMe": true, "gp3": false, "custom": false, "": false, "unheard-of": false} {
		o := Order{Type: name}
		if o.Local() != want {
			t.Errorf("%q: local is %v", name, o.Local())
		}
	}
}
