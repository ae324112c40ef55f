package plan

import (
	"slices"
	"testing"
)

// That a machine's own disks are empty after a stop is said under each of their names.
func TestLocalDisksAreARisk(t *testing.T) {
	file := language.NewFile("small.yaml", []byte(small))
	for _, name := range []string{"nvme", "instance-store", "local-nvme"} {
		sc, err := file.Parse([]string{"host.instance=m6id.large", "volumes.data={type: " + name + ", size: 100GiB}"})
		if err != nil {
			t.Fatal(err)
		}
		p := &planner{now: sc, file: file, opt: &Options{}}
		risks := p.risks(sc, &outcome{})
		if !slices.ContainsFunc(risks, func(r Risk) bool { return r.Kind == "ephemeral" }) {
			t.Errorf("%s: %+v", name, risks)
		}
	}
}
