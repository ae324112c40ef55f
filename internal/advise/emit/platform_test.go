package emit

import (
	"errors"
	"strings"
	"testing"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
)

// A platform gives a plan the same answer as its targets give for the same change.
func TestPlatformSaysWhatItsTargetsDo(t *testing.T) {
	gp3 := func(stripe int) *catalog.Order {
		return &catalog.Order{Type: "gp3", Size: 500 * units.GiB, Stripe: stripe}
	}
	local := &catalog.Order{Type: "nvme", Size: 100 * units.GiB}
	for _, c := range []struct {
		platform      string
		before, after *catalog.Order
		refused       string // part of the reason; "" if it can be carried out
	}{
		{"kubernetes", gp3(0), &catalog.Order{Type: "io2", Size: 500 * units.GiB, IOPS: 6000}, ""},
		{"kubernetes", gp3(0), gp3(8), "Kubernetes does not support stripes"},
		{"kubernetes", gp3(8), gp3(8), ""}, // it stays as it is
		{"kubernetes", nil, local, "come with the machine"},
		{"aws", gp3(0), gp3(8), ""},
		{"aws", gp3(0), local, ""}, // lvm makes a file system there
		{"aws", nil, gp3(0), ""},
		{"aws", local, local, ""},
		{"aws", &catalog.Order{Type: "ultra", Size: units.TiB, IOPS: 9000, Throughput: 1000 * units.MBps}, &catalog.Order{Type: "ultra", Size: units.TiB, IOPS: 9000, Throughput: 1000 * units.MBps}, "only supports Amazon EBS volumes"},
		{"bare", gp3(0), gp3(0), ""},
		{"bare", gp3(0), gp3(2), "no network volumes"},
		{"bare", nil, gp3(0), "no network volumes"},
		{"bare", nil, local, ""},
	} {
		p, err := PlatformNamed(c.platform)
		if err != nil {
			t.Fatal(err)
		}

		why := p.Volume(c.before, c.after)
		if (why == "") != (c.refused == "") || !strings.Contains(why, c.refused) {
			t.Errorf("%s: from %v to %v: %q, want %q", c.platform, c.before, c.after, why, c.refused)
		}

		if c.before == c.after || c.before != nil && c.before.String() == c.after.String() {
			continue // targets are not consulted about values that stay the same
		}

		carries := false
		for _, name := range p.volumes {
			d := disk{path: "volumes.data"}
			d.before, _ = specOf(c.before, "xfs")
			d.after, _ = specOf(c.after, "xfs")
			carries = carries || d.carries(name) == nil
		}

		if carries != (c.refused == "") {
			t.Errorf("%s: its targets carry out %v to %v: %v", c.platform, c.before, c.after, carries)
		}
	}
}

// An unknown platform's name gets a suggestion.
func TestPlatformNamed(t *testing.T) {
	input := (*InputError)(nil)
	if _, err := PlatformNamed("kubernets"); !errors.As(err, &input) || !strings.Contains(input.Next, "kubernetes") {
		t.Errorf("kubernets: %v", err)
	}
	if p, err := PlatformNamed("bare"); err != nil || p.Value("host.instance") == "" || p.Value("engine.mongodb.cache") != "" {
		t.Errorf("bare: %v, %v", p, err)
	}
}
