package catalog

import (
	"testing"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/volume"
)

func machineOf(t *testing.T, name string) *InstanceType {
	t.Helper()
	i, err := Embedded().Instance(name)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// Each volume reaches the limit that, according to its provider, it shares.
func TestWhatAMachineLetsPass(t *testing.T) {
	premium := &Order{Type: "premium-ssd", Size: 2 * units.TiB}
	readOnly := &Order{Type: "premium-ssd", Size: 2 * units.TiB, Caching: CachedReads}
	for _, c := range []struct {
		machine string
		order   *Order
		share   string
		base    volume.Rate
	}{
		// openshift/installer#4326: 128 MB/s with ReadOnly, 192 with None.
		{"Standard_D8s_v3", premium, "", volume.Rate{IOPS: 12_800, Throughput: 192 * units.MBps}},
		{"Standard_D8s_v3", readOnly, "cached", volume.Rate{IOPS: 16_000, Throughput: 128 * units.MBps}},
		{"Standard_D8s_v6", premium, "", volume.Rate{IOPS: 12_800, Throughput: 424 * units.MBps}},
		{"Standard_D8s_v6", &Order{Type: "ultra", Size: units.TiB}, "premium-v2 ultra", volume.Rate{IOPS: 16_667, Throughput: 496 * units.MBps}},
		{"n2-standard-8", &Order{Type: "pd-ssd", Size: units.TiB}, "pd-ssd", volume.Rate{IOPS: 15_000, Throughput: 838_860_000}},
		{"n2-standard-16", &Order{Type: "pd-balanced", Size: units.TiB}, "pd-balanced", volume.Rate{IOPS: 20_000, Throughput: 1_258_291_000}},
		{"m8gb.48xlarge", &Order{Type: "gp3", Size: units.TiB, Card: 1}, "card 1", volume.Rate{IOPS: 720_000, Throughput: 18_750 * units.MBps}},
	} {
		share, ok := machineOf(t, c.machine).ShareOf(c.order)
		if !ok || share.Name != c.share || share.Baseline != c.base {
			t.Errorf("%s, %v: %+v, %v", c.machine, c.order, share, ok)
		}
	}

	if s, ok := machineOf(t, "n2-standard-8").ShareOf(&Order{Type: "hyperdisk-balanced", Size: units.TiB}); ok {
		t.Errorf("a limit of Hyperdisk Balanced on N2 that nobody says: %+v", s)
	}
}

// A weighting that favours EBS adds a quarter to the bandwidth and nothing to the IOPS, on machines
// that have it.
func TestWeighted(t *testing.T) {
	was := machineOf(t, "m8g.xlarge")
	w, err := was.Weighted("ebs-1")
	if err != nil || w.Baseline.Throughput != was.Baseline.Throughput*5/4 || w.Baseline.IOPS != was.Baseline.IOPS || w.Maximum != was.Maximum {
		t.Errorf("m8g.xlarge: %+v, %v", w, err)
	}
	if same, err := was.Weighted("default"); err != nil || same != was {
		t.Errorf("default: %v, %v", same, err)
	}
	for machine, weighting := range map[string]string{"m6i.xlarge": "ebs-1", "m8g.xlarge": "vpc-9"} {
		if _, err := machineOf(t, machine).Weighted(weighting); err == nil {
			t.Errorf("%s has %s", machine, weighting)
		}
	}
}

// Every machine's row passes the checks of an imported one, and machines have their listed prices.
func TestMachinesOfOtherClouds(t *testing.T) {
	of := map[string]int{}
	for _, i := range machines() {
		of[i.Of()]++
		if err := i.check(); err != nil {
			t.Errorf("%s: %v", i.Name, err)
		}
	}

	if of["azure"] < 40 || of["gcp"] < 100 {
		t.Errorf("%v", of)
	}

	usd, err := machineOf(t, "Standard_D8s_v5").Monthly("")
	if err != nil || usd != 0.384*Hours {
		t.Errorf("Standard_D8s_v5 in eastus: %v, %v", usd, err)
	}

	for region, hourly := range map[string]units.USD{"": 0.388472, "us-central1": 0.388472, "asia-southeast1": 0.479224} {
		if usd, err := machineOf(t, "n2-standard-8").Monthly(region); err != nil || !near(usd, hourly*Hours) {
			t.Errorf("n2-standard-8 in %q: %v, %v", region, usd, err)
		}
	}

	if _, err := machineOf(t, "n2-standard-8").Monthly("me-west1"); err == nil {
		t.Error("a price of n2-standard-8 in me-west1, of which none is embedded")
	}
}

// Orders that no machine of their provider accepts are refused.
func TestAttached(t *testing.T) {
	for _, c := range []struct {
		order *Order
		on    string
		field string
	}{
		{&Order{Type: "gp3", Size: units.TiB, Caching: CachedReads}, "m6i.large", "caching"},
		{&Order{Type: "premium-v2", Size: units.TiB, Caching: CachedReads}, "Standard_D8s_v5", "caching"},
		{&Order{Type: "premium-ssd", Size: units.TiB, Caching: "write"}, "Standard_D8s_v5", "caching"},
		{&Order{Type: "premium-ssd", Size: 4 * units.TiB, Caching: CachedReads}, "Standard_D8s_v5", "caching"},
		{&Order{Type: "gp3", Size: units.TiB, Card: 1}, "m6i.large", "card"},
		{&Order{Type: "pd-ssd", Size: units.TiB, Card: 1}, "n2-standard-8", "card"},
		{&Order{Type: "pd-ssd", Size: units.TiB}, "Standard_D8s_v5", "type"},
	} {
		problems := c.order.Check()
		if len(problems) == 0 {
			problems = c.order.CheckOn(machineOf(t, c.on))
		}
		if len(problems) != 1 || problems[0].Field != c.field {
			t.Errorf("%v on %s: %v", c.order, c.on, problems)
		}
	}
	if l := (&Order{Type: "premium-ssd", Size: units.TiB, Caching: CachedReads}).CheckOn(machineOf(t, "Standard_D8s_v3")); len(l) > 0 {
		t.Error(l)
	}
}
