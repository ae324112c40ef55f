package plan

import (
	"slices"
	"testing"
)

// The risk that a machine's own disks are empty after a stop is reported under each of their names.
func TestLocalDisksAreARisk(t *testing.T) {
	for _, name := range []string{"nvme", "instance-store", "local-nvme"} {
		sc := parsed(t, small, "host.instance=m6id.large", "volumes.data={type: "+name+", size: 100GiB}")
		p := &planner{now: sc, opt: &every}
		risks := p.risks(sc, &outcome{})
		if !slices.ContainsFunc(risks, func(r Risk) bool { return r.Kind == "ephemeral" }) {
			t.Errorf("%s: %+v", name, risks)
		}
	}
}
