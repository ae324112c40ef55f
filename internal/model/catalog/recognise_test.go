package catalog_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
)

// products are those that can be recognised.
func products() []*catalog.VolumeType {
	var out []*catalog.VolumeType
	for _, t := range catalog.VolumeTypes() {
		if !t.Local && t.Name != "custom" {
			out = append(out, t)
		}
	}
	return out
}

// drawOrder draws a valid order of a product.
func drawOrder(t *rapid.T, kind *catalog.VolumeType) catalog.Order {
	o := catalog.Order{Type: kind.Name, Size: units.Size(rapid.IntRange(130, 16_000).Draw(t, "GiB")) * units.GiB}
	if kind.ChoosesIOPS {
		most := min(int(kind.IOPSMax.Value), 64_000)
		if per := int(kind.IOPSPerGiB.Value); per > 0 {
			most = min(most, per*130)
		}
		o.IOPS = catalog.IOPS(rapid.IntRange(int(kind.IOPSMin.Value), most).Draw(t, "IOPS"))
	}

	if kind.ChoosesThroughput {
		o.Throughput = units.Throughput(rapid.IntRange(140, 700).Draw(t, "MiB/s")) * units.MiBps
	}

	if len(o.Check()) > 0 {
		t.Skip("cannot be ordered")
	}

	return o
}

// Every possible order is recognised by its behaviour: the product is among the results, with figures
// close to the order's.
func TestRecogniseOrders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(products()).Draw(t, "product")
		o := drawOrder(t, kind)
		l, err := o.Limits(nil)
		if err != nil {
			t.Fatal(err)
		}

		s := catalog.Seen{Provider: kind.Provider, Size: o.Size, SizeKnown: rapid.Bool().Draw(t, "size is known"), IOPS: l.Sustained.IOPS, Throughput: l.Sustained.Throughput}
		s.MostIOPS, s.MostThroughput = s.IOPS, s.Throughput
		if kind.Name == "st1" || kind.Name == "sc1" {
			s.IOPS, s.MostIOPS = 0, 0 // their operations are 1 MiB in size
		}

		for _, m := range catalog.Recognise(s) {
			if m.Order.Type != kind.Name {
				continue
			}

			got, err := m.Order.Limits(nil)
			if err != nil {
				t.Fatal(err)
			}

			// A smaller volume may give as much while its credits last: 171 GiB of gp2 look like 1,000 GiB.
			withCredits := got.Sustained
			if got.Burst != nil {
				withCredits = got.Burst.At
			}
			near := func(x, want float64) bool { return x >= 0.97*want && x <= 1.03*want }
			for _, x := range []struct{ sustained, withCredits, want float64 }{
				{float64(got.Sustained.IOPS), float64(withCredits.IOPS), float64(l.Sustained.IOPS)},
				{float64(got.Sustained.Throughput), float64(withCredits.Throughput), float64(l.Sustained.Throughput)},
			} {
				if !near(x.sustained, x.want) && !near(x.withCredits, x.want) {
					t.Errorf("%v gives %v, with credits %v, want %v (of %v)", m.Order.String(), x.sustained, x.withCredits, x.want, o.String())
				}
			}

			return
		}

		t.Errorf("%s is not recognised by %+v", o.String(), s)
	})
}

// A figure whose limit was not reached is left open: it is the lowest that allows what was delivered.
// An order that allows less is not returned.
func TestRecogniseUnreached(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := catalog.Seen{
			Size: 500 * units.GiB, SizeKnown: rapid.Bool().Draw(t, "size is known"),
			MostIOPS:       units.Frequency(rapid.IntRange(1, 50_000).Draw(t, "IOPS")),
			MostThroughput: units.Throughput(rapid.IntRange(1, 1500).Draw(t, "MiB/s")) * units.MiBps,
		}
		for _, m := range catalog.Recognise(s) {
			if m.Order.IOPS != 0 && !m.IOPSLeast || m.Order.Throughput != 0 && !m.ThroughputLeast {
				t.Errorf("%s is reported as known", m.Order.String())
			}

			l, err := m.Order.Limits(nil)
			if err != nil {
				t.Fatal(err)
			}

			most := l.Sustained.IOPS
			if l.Burst != nil {
				most = max(most, l.Burst.At.IOPS)
			}

			if float64(s.MostIOPS) > 1.051*float64(most) {
				t.Errorf("%s has %v IOPS, and %v were delivered", m.Order.String(), most, s.MostIOPS)
			}
		}
	})
}

func TestRecognise(t *testing.T) {
	for _, c := range []struct {
		name string
		seen catalog.Seen
		want string // among the results; "": none
		sold bool
	}{
		{"gp3's baseline", catalog.Seen{Size: 100 * units.GiB, IOPS: 2995, Throughput: 0, MostIOPS: 2999}, "{type: gp3, size: 100GiB}", true},
		{"125 MiB/s are not 128", catalog.Seen{Size: 100 * units.GiB, Throughput: 1305 * units.MBps / 10, MostThroughput: 131 * units.MBps}, "{type: gp3, size: 100GiB}", true},
		{"gp2 by its size", catalog.Seen{Provider: "aws", Size: 2000 * units.GiB, SizeKnown: true, IOPS: 5990, MostIOPS: 6010}, "{type: gp3, size: 2000GiB, iops: 6000}", false},
		{"gp2's burst by its credits", catalog.Seen{Type: "gp2", Size: 100 * units.GiB, SizeKnown: true, IOPS: 3000, MostIOPS: 3000}, "{type: gp2, size: 100GiB}", true},
		{"what is chosen is round", catalog.Seen{Type: "gp3", Size: 100 * units.GiB, SizeKnown: true, IOPS: 6987, Throughput: 251 * units.MiBps}, "{type: gp3, size: 100GiB, iops: 7000, throughput: 250MiB/s}", false},
		{"a stripe", catalog.Seen{Provider: "aws", Size: 100 * units.GiB, SizeKnown: true, Parts: 4, IOPS: 11_980, MostIOPS: 12_000}, "{type: gp3, size: 100GiB, stripe: 4}", true},
		{"P10 by its size", catalog.Seen{Provider: "azure", Size: 128 * units.GiB, SizeKnown: true, IOPS: 499, MostIOPS: 505}, "{type: premium-ssd, size: 128GiB}", true},
		{"io2 by its throughput", catalog.Seen{Type: "io2", Size: 100 * units.GiB, Throughput: 256 * units.MiBps}, "{type: io2, size: 100GiB, iops: 1000}", false},
		{"more than the maximum of anything", catalog.Seen{Provider: "aws", Size: 100 * units.GiB, MostIOPS: 1e6}, "", false},
	} {
		matches := catalog.Recognise(c.seen)
		if c.want == "" {
			if len(matches) > 0 {
				t.Errorf("%s: %v", c.name, matches)
			}
			continue
		}
		i := slices.IndexFunc(matches, func(m catalog.Match) bool { return m.Order.String() == c.want })
		if i < 0 || matches[i].Sold != c.sold {
			t.Errorf("%s: %+v, want %s, sold %v", c.name, matches, c.want, c.sold)
		}
	}
}

func TestModelOf(t *testing.T) {
	for _, name := range []string{"Amazon Elastic Block Store", "Amazon_Elastic_Block_Store", "Amazon Elastic Block Store              "} {
		if m, ok := catalog.ModelOf(name); !ok || m.Provider != "aws" || m.Local {
			t.Errorf("%q: %+v %v", name, m, ok)
		}
	}
	if m, ok := catalog.ModelOf("nvme_card"); !ok || !m.Local {
		t.Errorf("nvme_card: %+v", m)
	}
	if m, ok := catalog.ModelOf("Samsung SSD 990 PRO"); ok {
		t.Errorf("a consumer's disk is %+v", m)
	}
}
