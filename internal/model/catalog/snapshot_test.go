package catalog

import (
	"strings"
	"testing"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/volume"
)

// What can be ordered for a volume from a snapshot, and for a disk that bursts on demand.
func TestOrdersBesideFigures(t *testing.T) {
	for text, want := range map[string]string{
		"{type: gp3, size: 100GiB, from_snapshot: true}":                                "",
		"{type: gp3, size: 100GiB, from_snapshot: true, initialization_rate: 300MiB/s}": "",
		"{type: gp3, size: 100GiB, from_snapshot: true, initialization_rate: 301MiB/s}": "from 100 to 300 MiB/s",
		"{type: gp3, size: 100GiB, initialization_rate: 300MiB/s}":                      "nothing to initialize",
		"{type: pd-ssd, size: 100GiB, from_snapshot: true}":                             "not known here",
		"{type: premium-ssd, size: 1TiB, on_demand_bursting: true}":                     "",
		"{type: premium-ssd, size: 512GiB, on_demand_bursting: true}":                   "too small",
		"{type: premium-v2, size: 1TiB, on_demand_bursting: true}":                      "premium-v2 has no on-demand bursting",
	} {
		o := order(t, text)
		switch problems := o.Check(); {
		case want == "" && len(problems) > 0:
			t.Errorf("%s: %v", text, problems)
		case want != "" && (len(problems) != 1 || !strings.Contains(problems[0].Error(), want)):
			t.Errorf("%s: %v, want %q", text, problems, want)
		}
	}
}

// A disk that bursts on demand always has the higher figures. It has no price here, because the list
// lacks the cost of bursting.
func TestOnDemandBursting(t *testing.T) {
	o := order(t, "{type: premium-ssd, size: 1TiB, on_demand_bursting: true}")
	l, err := o.Limits(nil)
	if err != nil {
		t.Fatal(err)
	}

	if want := (volume.Rate{IOPS: 30_000, Throughput: 1000 * units.MBps}); l.Sustained != want || l.Burst != nil {
		t.Errorf("%+v", l)
	}

	p := Prices{Region: "eastus", Sizes: []SizePrice{{units.TiB, 100}}}
	kind, err := Type("premium-ssd")
	if err != nil {
		t.Fatal(err)
	}

	if _, err := p.bill(kind, o); err == nil || !strings.Contains(err.Error(), "on-demand bursting") {
		t.Errorf("price: %v", err)
	}
}

// A volume from a snapshot fetches data at first access as its type does.
func TestFromSnapshot(t *testing.T) {
	o := order(t, "{type: io2, size: 100GiB, iops: 4000, from_snapshot: true, initialization_rate: 200MiB/s}")
	cfg, err := o.Config("data", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := volume.Initialization{Rate: 200 * units.MiBps, OnDemand: 700 * units.MBps, Takes: firstTouchTakes}
	if cfg.Initialization == nil || *cfg.Initialization != want {
		t.Errorf("%+v, want %+v", cfg.Initialization, want)
	}
	if cfg, err := order(t, "{type: gp3, size: 100GiB}").Config("data", nil); err != nil || cfg.Initialization != nil {
		t.Errorf("an empty volume: %+v, %v", cfg.Initialization, err)
	}
}
