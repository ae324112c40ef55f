package results

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/base/units"
	"plimsoll/internal/check/golden"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/volume"
	"plimsoll/internal/present/document"
	"plimsoll/internal/present/text"
)

// machine is a made-up instance type with a burst, weighting and local disks.
func machine() *catalog.InstanceType {
	docs := catalog.Source{Text: "EC2 documentation", Date: "2026-07-20"}
	return &catalog.InstanceType{
		Name:        "x9.large",
		VCPU:        2,
		Memory:      8 * units.GiB,
		HasEBS:      true,
		Attachments: 28,
		Cards:       2,
		Weighting:   true,
		Source:      docs,
		Baseline: volume.Rate{
			IOPS:       3600,
			Throughput: 81_250_000,
		},
		Maximum: volume.Rate{IOPS: 40_000, Throughput: 1_250_000_000},
		Disk:    catalog.LocalDisk{Count: 2, Size: 474 * units.GB},
		Prices: []catalog.InstancePrice{
			{Region: "us-east-1", Hourly: 0.1234, Source: catalog.Source{Text: "price list", Date: "2026"}},
			{Region: "eu-west-1", Hourly: 0.2, Source: docs},
		},
	}
}

// An instance's page numbers its sources, and computes which of its limits is reached first.
func TestInstance(t *testing.T) {
	d, err := Instance(machine())
	if err != nil {
		t.Fatal(err)
	}
	golden.Inline(t, set(t, d, text.Options{Width: 100}), `
x9.large: 2 vCPU, 8GiB

FIGURES
────────────────────────────────────────────────────────────────────────────────────────────────────
  EBS, sustained                 3,600 IOPS, 81.25 MB/s [1]
                                 (all volumes together)
  EBS, 30 minutes                40,000 IOPS, 1250 MB/s [1]
                                 (at least once in 24 hours; a benchmark shorter than 30 minutes
                                 sees only this)
  EBS cards                      2 [1]
                                 (each provides an equal share of this to the volumes attached to
                                 it: card in a scenario)
  with bandwidth weighting ebs-1 3,600 IOPS, 101.562 MB/s [1]
                                 (free, but at the expense of network bandwidth:
                                 host.bandwidth_weighting in a scenario)
  volumes                        28 at most [1]
                                 (on some types network interfaces also count)
  local disks                    2 x 474GB [1]
                                 (lost when the instance stops)

PRICES, ON DEMAND WITH LINUX
────────────────────────────────────────────────────────────────────────────────────────────────────
  us-east-1  0.1234 USD an hour, 90.08 a month of 730 hours [2]
  eu-west-1  0.2 USD an hour, 146.00 a month of 730 hours [1]

EXAMPLE: ALL VOLUMES TOGETHER, SUSTAINED
────────────────────────────────────────────────────────────────────────────────────────────────────
      each  a second     MB/s  limited by
     4 KiB     3,600  14.7456  IOPS
     8 KiB     3,600  29.4912  IOPS
    16 KiB     3,600  58.9824  IOPS
    64 KiB     1,239  81.1991  throughput
   256 KiB       309  81.0025  throughput

SOURCES
────────────────────────────────────────────────────────────────────────────────────────────────────
  [1]  EC2 documentation, 2026-07-20
  [2]  price list, 2026
`)
}

// Unknown figures are reported as unknown, not as zero.
func TestInstanceWithoutFigures(t *testing.T) {
	d, err := Instance(
		&catalog.InstanceType{Name: "n9-standard-4", Provider: "gcp", VCPU: 4, Memory: 16 * units.GiB,
			Lanes: []catalog.Lane{
				{
					Volumes:  "pd-ssd pd-balanced",
					Baseline: volume.Rate{IOPS: 15_000, Throughput: 240_000_000},
					Maximum:  volume.Rate{IOPS: 15_000, Throughput: 240_000_000},
				},
			}},
	)
	if err != nil {
		t.Fatal(err)
	}
	golden.Inline(t, set(t, d, text.Options{Width: 100}), `
n9-standard-4: 4 vCPU, 16GiB

FIGURES
────────────────────────────────────────────────────────────────────────────────────────────────────
  pd-ssd and pd-balanced, sustained 15,000 IOPS, 240 MB/s
                                 (all of them together)

PRICES, ON DEMAND WITH LINUX
────────────────────────────────────────────────────────────────────────────────────────────────────
   Unknown price: plimsoll catalog import reads price lists.
`)

	bare, err := Instance(
		&catalog.InstanceType{Name: "standard_d4s_v9", Provider: "azure", VCPU: 4, Memory: 16 * units.GiB},
	)
	if err != nil {
		t.Fatal(err)
	}
	golden.Inline(t, set(t, bare, text.Options{Width: 100}), `
standard_d4s_v9: 4 vCPU, 16GiB

FIGURES
────────────────────────────────────────────────────────────────────────────────────────────────────
  managed disks (uncached) limits unknown

PRICES, ON DEMAND WITH LINUX
────────────────────────────────────────────────────────────────────────────────────────────────────
   Unknown price: plimsoll catalog import reads price lists.
`)
}

// The list of instances has a dash for each figure that a type does not have.
func TestInstances(t *testing.T) {
	steady, bare := machine(), &catalog.InstanceType{Name: "bare", VCPU: 1, Memory: units.GiB}
	steady.Name, steady.Maximum, steady.Disk, steady.Prices = "x9.steady", steady.Baseline, catalog.LocalDisk{}, nil
	golden.Inline(
		t,
		set(t, Instances([]*catalog.InstanceType{machine(), steady, bare}), text.Options{Width: 110}),
		`
instance   vCPU  memory   IOPS   MB/s  30 min IOPS  30 min MB/s  local disks   USD/h
x9.large      2    8GiB  3,600  81.25       40,000         1250    2 x 474GB  0.1234
x9.steady     2    8GiB  3,600  81.25            –            –            –       –
bare          1    1GiB      –      –            –            –            –       –
`,
	)
}

// Up to its ratio of throughput to IOPS a machine is limited by one, above it by the other.
func TestFirstLimits(t *testing.T) {
	i := &catalog.InstanceType{Baseline: volume.Rate{IOPS: 4000, Throughput: 4000 * 16 * 1024}}
	var got []string
	for _, row := range firstLimits(i).Rows {
		got = append(got, row[0].Text+" "+row[1].Text+" "+row[3].Text)
	}
	want := "4 KiB 4,000 IOPS; 8 KiB 4,000 IOPS; 16 KiB 4,000 IOPS; 64 KiB 1,000 throughput; 256 KiB 250 throughput"
	if strings.Join(got, "; ") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, "; "), want)
	}
}

// types are all volume types.
func types(t *testing.T) (out []*catalog.VolumeType) {
	t.Helper()
	for _, name := range catalog.TypeNames() {
		kind, err := catalog.Type(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, kind)
	}
	return out
}

// The page of a volume type has its figures, prices and an order worked out.
func TestVolume(t *testing.T) {
	known := catalog.Embedded()
	for _, c := range []struct{ name, prices string }{
		{"gp3", "us-east-1"}, {"custom", "Custom limits have no price."}, {catalog.LocalType, "Included in the price of the instance."},
	} {
		kind, err := catalog.Type(c.name)
		if err != nil {
			t.Fatal(err)
		}
		d, err := Volume(known, kind)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, s := range d.Sections {
			ids = append(ids, s.ID)
		}
		if got := strings.Join(ids, " "); !strings.HasPrefix(got, "figures prices example") {
			t.Errorf("%s: sections %s", c.name, got)
		}
		if got := set(t, d, text.Options{Width: 120}); !strings.Contains(got, c.prices) {
			t.Errorf("%s: no %q in\n%s", c.name, c.prices, got)
		}
	}
}

// The amounts of an order's example add up to its total.
func TestVolumeExampleAddsUp(t *testing.T) {
	for _, kind := range types(t) {
		d, err := Volume(catalog.Embedded(), kind)
		if err != nil {
			t.Fatal(err)
		}
		tab := tableOf(d, "example")
		if tab == nil || len(tab.Rows) < 2 {
			continue // one amount has no total
		}
		sum, total := 0.0, 0.0
		for i, row := range tab.Rows {
			var x float64
			if _, err := fmt.Sscan(row[0].Text, &x); err != nil {
				t.Fatal(err)
			}
			if total = x; i < len(tab.Rows)-1 {
				sum += x
			}
		}
		if diff := sum - total; diff > 0.01*float64(len(tab.Rows)) || diff < -0.01*float64(len(tab.Rows)) ||
			tab.Rows[len(tab.Rows)-1][1].Text != "total" {
			t.Errorf("%s: the parts are %.2f, the total %.2f", kind.Name, sum, total)
		}
	}
}

// tableOf is the first table of a section; nil if there is none.
func tableOf(d *document.Document, id string) *document.Table {
	for _, s := range d.Sections {
		for _, p := range s.Parts {
			if s.ID == id && p.Table != nil {
				return p.Table
			}
		}
	}
	return nil
}

// The list of volume types has the price of the provider's default region.
func TestVolumes(t *testing.T) {
	known := catalog.Embedded()
	tab := tableOf(Volumes(known, types(t)), "list")
	if len(tab.Rows) != len(types(t)) {
		t.Errorf("%d rows of %d types", len(tab.Rows), len(types(t)))
	}
	for _, row := range tab.Rows {
		name, price, region := row[0].Text, row[5].Text, row[6].Text
		switch {
		case name == "custom" && (price != "–" || region != "–"),
			name == catalog.LocalType && price != "included in the instance price",
			name == "gp3" && (region != "us-east-1" || !strings.Contains(price, "GiB")):
			t.Errorf("%s costs %s in %s", name, price, region)
		}
		for i, c := range row {
			if c.Text == "" {
				t.Errorf("%s has nothing in the column %s", name, tab.Columns[i].Text)
			}
		}
	}
}

// An import lists what it added and changed, up to twenty of each, and counts the rest.
func TestImport(t *testing.T) {
	r := catalog.ImportReport{
		File:    "prices.json",
		Skipped: 3,
		Changes: []catalog.Change{
			{Kind: "changed", Of: "gp3 in eu-west-1", Was: "0.08", IsNow: "0.09"},
			{Kind: "same", Of: "io2"},
		},
	}
	for i := range changesShown + 2 {
		r.Changes = append(r.Changes, catalog.Change{Kind: "added", Of: fmt.Sprint("x", i)})
	}
	d := Import([]catalog.ImportReport{r, {File: "empty.json"}})
	got := set(t, d, text.Options{Width: 100})
	for _, want := range []string{"prices.json: 22 added, 1 changed, 1 unchanged; 3 entries skipped", "changed  gp3 in eu-west-1  0.09  0.08", "and 2 more added", "empty.json: 0 added, 0 changed, 0 unchanged; 0 entries skipped"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "x20") || len(d.Sections[1].Parts) != 1 {
		t.Errorf("an import shows more than it should:\n%s", got)
	}
}
