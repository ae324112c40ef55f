package catalog

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/volume"
)

func TestInstances(t *testing.T) {
	all := Embedded().Instances()
	if len(all) < 1300 || !slices.IsSortedFunc(all, func(a, b InstanceType) int { return strings.Compare(a.Name, b.Name) }) {
		t.Fatalf("%d instances, want some 1,370 in the order of names", len(all))
	}

	priced, limited := 0, 0
	for i := range all {
		if err := all[i].check(); err != nil {
			t.Error(err)
		}
		if len(all[i].Prices) > 0 {
			priced++
		}
		if all[i].HasEBS {
			limited++
		}
	}

	if priced < 1300 || limited != 1354+86 {
		t.Errorf("%d with a price, %d with limits; want over 1,300, and 1,354 of AWS and 86 of Azure", priced, limited)
	}

	// The machines of cases 3 and 5, and one that does not burst.
	m6i, err := Embedded().Instance("m6i.xlarge")
	if err != nil {
		t.Fatal(err)
	}

	want := volume.InstanceConfig{
		Name: "m6i.xlarge", Baseline: volume.Rate{IOPS: 6000, Throughput: 156_250_000}, Maximum: volume.Rate{IOPS: 40_000, Throughput: 1250 * units.MBps},
	}
	if got := m6i.Config(); got != want || !m6i.Bursts() || m6i.VCPU != 4 || m6i.Memory != 16*units.GiB {
		t.Errorf("m6i.xlarge is %+v, %+v", *m6i, got)
	}

	r5n, err := Embedded().Instance("r5n.8xlarge")
	if err != nil {
		t.Fatal(err)
	}

	if got, want := r5n.Config(), (volume.InstanceConfig{Name: "r5n.8xlarge", Baseline: volume.Rate{IOPS: 30_000, Throughput: 850 * units.MBps}}); got != want || r5n.Bursts() {
		t.Errorf("r5n.8xlarge is %+v, want %+v", got, want)
	}

	for name, meant := range map[string]string{"m6i.xlarg": "m6i.xlarge", "m6i.4xlrage": "m6i.4xlarge", "r5n.8large": "r5n.8xlarge", "D4s_v5": "standard_d4s_v5", "D4s v5": "standard_d4s_v5", "zzz.q": ""} {
		_, err := Embedded().Instance(name)
		if err == nil || !strings.Contains(err.Error(), meant) || (meant != "") != strings.Contains(err.Error(), "did you mean") {
			t.Errorf("%s: %v, want a hint at %q", name, err, meant)
		}
	}
}

func TestTableRefuses(t *testing.T) {
	for _, text := range []string{"", "a,b\n", tableHeader + "\nx,1,2,three\n", tableHeader + "\nx,1,2,3,,,,,,,,,,,,free\n", tableHeader + "\n\"x"} {
		if rows, err := decodeTable([]byte(text)); err == nil {
			t.Errorf("%q: %v", text, rows)
		}
	}
	if rows := EncodeTable(embedded()); string(rows) != string(table) {
		t.Error("the table does not survive reading and writing")
	}
}

func BenchmarkDecodeTable(b *testing.B) {
	for b.Loop() {
		if _, err := decodeTable(table); err != nil {
			b.Fatal(err)
		}
	}
}
