package catalog

import (
	"strings"
	"testing"

	"plimsoll/internal/base/units"
)

// Google Cloud's machines accept the disk types that its documentation lists, and no others.
func TestWhichDisksAMachineTakes(t *testing.T) {
	extreme := Order{Type: "hyperdisk-extreme", Size: units.TiB, IOPS: 50_000}
	balanced := Order{Type: "hyperdisk-balanced", Size: units.TiB}
	for _, c := range []struct {
		machine string
		order   Order
		want    string // "" if the machine accepts it
	}{
		{"c3-standard-44", extreme, "c3-standard-44 has 44 vCPUs, but series C3 supports it only from 88 on"},
		{"c3-standard-88", extreme, ""},
		{"c3d-standard-30", extreme, "supports it only from 60 on"},
		{"c3d-standard-60", extreme, ""},
		{"n2-standard-64", extreme, "supports it only from 80 on"},
		{"n2-standard-80", extreme, ""},
		{"n2d-standard-128", extreme, "series N2D, which does not support it"},
		{"c2-standard-16", balanced, "series C2, which does not support it"},
		{"c3-standard-8", balanced, ""},
		{"n2-standard-8", balanced, ""}, // after an agreement
		{"n2-standard-8", Order{Type: "pd-ssd", Size: units.TiB}, ""},
		{"n4-standard-8", Order{Type: "pd-ssd", Size: units.TiB}, "series N4, which supports only Hyperdisk"},
		{"n4-standard-8", balanced, ""},
		{"c4-standard-8", Order{Type: "pd-balanced", Size: units.TiB}, "series C4, which supports only Hyperdisk"},
		{"e2-standard-4", Order{Type: "pd-balanced", Size: units.TiB}, ""},
		{"n2-standard-8", Order{Type: "hyperdisk-throughput", Size: 2 * units.TiB, Throughput: 100 * units.MiBps}, ""},
		{"n2-standard-8", Order{Type: "gp3", Size: units.TiB}, "gp3 is a volume of aws"},
	} {
		got := c.order.CheckOn(machineOf(t, c.machine))
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0].Error(), c.want)) {
			t.Errorf("%s on %s: %v, want %q", c.order.Type, c.machine, got.Err(), c.want)
		}
	}

	b, _ := Type("hyperdisk-balanced")
	if n2, c3 := machineOf(t, "n2-standard-8"), machineOf(t, "c3-standard-8"); !n2.OnRequest(b) || c3.OnRequest(b) {
		t.Error("Hyperdisk Balanced: N2 takes it after an agreement, C3 at once")
	}

	x, _ := Type("hyperdisk-extreme")
	if none := (*InstanceType)(nil); none.Refuses(x) == "" || none.Refuses(b) != "" || none.OnRequest(b) {
		t.Error("without a machine only Hyperdisk Extreme is refused")
	}
}

// Every Google machine in the catalogue belongs to a series in the table.
func TestSeriesAreKnown(t *testing.T) {
	for _, i := range Embedded().Instances() {
		series, _, _ := strings.Cut(i.Name, "-")
		if _, ok := hyperdiskSeries[series]; i.Of() == "gcp" && !ok {
			t.Errorf("%s: the disks of series %s are not known", i.Name, series)
		}
	}
}
