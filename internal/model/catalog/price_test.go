package catalog

import (
	"errors"
	"math"
	"strings"
	"testing"

	"plimsoll/internal/base/units"
)

func monthly(t *testing.T, text string) Bill {
	t.Helper()
	b, err := Embedded().Monthly(order(t, text), "")
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return b
}

func near(a, b units.USD) bool { return math.Abs(float64(a-b)) < 1e-6 }

// A published case prices 13,000 IOPS above gp3's 3,000 at 104 USD in one table and at 65 in another.
// 65 is right, or 195 for three volumes; the throughput that it also needs costs 5.
func TestCheckpointCaseCosts(t *testing.T) {
	plain := monthly(t, "{type: gp3, size: 2500GiB}").Total
	iops := monthly(t, "{type: gp3, size: 2500GiB, iops: 16000}").Total
	both := monthly(t, "{type: gp3, size: 2500GiB, iops: 16000, throughput: 250MiB/s}").Total
	three := monthly(t, "{type: gp3, size: 2500GiB, iops: 16000, stripe: 3}").Total - monthly(t, "{type: gp3, size: 2500GiB, stripe: 3}").Total
	if !near(plain, 200) || !near(iops-plain, 65) || !near(both-iops, 5) || !near(three, 195) {
		t.Errorf("2,500 GiB %v, 13,000 IOPS %v, of three volumes %v, 125 MiB/s %v; want 200, 65, 195, 5", plain, iops-plain, three, both-iops)
	}
}

func TestMonthly(t *testing.T) {
	for text, want := range map[string]units.USD{
		"{type: gp2, size: 300GiB}":                                                    30,
		"{type: gp2, size: 300GB}":                                                     28, // 279.4 GiB, rounded up
		"{type: io1, size: 100GiB, iops: 1000}":                                        12.5 + 65,
		"{type: io2, size: 100GiB, iops: 32000}":                                       12.5 + 2080,
		"{type: io2, size: 100GiB, iops: 64000}":                                       12.5 + 2080 + 32_000*.046,
		"{type: io2, size: 1TiB, iops: 100000}":                                        128 + 2080 + 32_000*.046 + 36_000*.032,
		"{type: io2, size: 50GiB, iops: 32k, stripe: 2}":                               12.5 + 4160, // striping loses the discount
		"{type: st1, size: 1000GiB}":                                                   45,
		"{type: sc1, size: 1000GiB}":                                                   15,
		"{type: nvme}":                                                                 0,
		"{type: hyperdisk-balanced, size: 1000GiB, iops: 10000, throughput: 500MiB/s}": 80 + 7000*.005 + 360*.04,
	} {
		b := monthly(t, text)
		var sum units.USD
		for _, l := range b.Lines {
			sum += l.Amount
		}
		if !near(b.Total, want) || !near(sum, want) {
			t.Errorf("%s costs %v, its lines %v, want %v: %v", text, float64(b.Total), float64(sum), float64(want), b.Lines)
		}
	}

	for size, want := range map[string]units.USD{"128GiB": 19.71, "129GiB": 38.012142, "1TiB": 135.17} {
		if b, err := Embedded().Monthly(order(t, "{type: premium-ssd, size: "+size+"}"), ""); err != nil || b.Total != want {
			t.Errorf("a Premium SSD disk of %s costs %v (%v), want %v", size, b.Total, err, want)
		}
	}

	// Unknown prices are not zero.
	var no *NoPriceError
	for _, c := range []struct{ text, region string }{
		{"{type: gp3, size: 1TiB}", "eu-west-1"}, {"{type: hyperdisk-balanced, size: 1TiB}", "europe-west3"}, {"{type: ultra, size: 1TiB, iops: 100, throughput: 1MB/s}", "westeurope"}, {"{type: custom}", ""},
		{"{type: premium-ssd, size: 64GiB}", ""}, {"{type: premium-ssd, size: 16TiB}", ""}, {"{type: hyperdisk-ml, size: 1TiB, throughput: 400MiB/s}", ""},
	} {
		if _, err := Embedded().Monthly(order(t, c.text), c.region); !errors.As(err, &no) || !strings.Contains(no.Hint(), "import") {
			t.Errorf("%s in %q: %v, want an error that no price is known", c.text, c.region, err)
		}
	}

	partial := Prices{Region: "eu-west-1", PerGiB: .09}
	g, err := Type("gp3")
	if err != nil {
		t.Fatal(err)
	}

	if _, err := partial.bill(g, order(t, "{type: gp3, size: 1TiB, iops: 4000}")); !errors.As(err, &no) {
		t.Errorf("IOPS without a price: %v", err)
	}

	if b, err := partial.bill(g, order(t, "{type: gp3, size: 100GiB}")); err != nil || !near(b.Total, 9) {
		t.Errorf("100 GiB at 0.09: %v, %v", b, err)
	}

	m6i, err := Embedded().Instance("M6i.xlarge ")
	if err != nil {
		t.Fatal(err)
	}

	if usd, err := m6i.Monthly(""); err != nil || !near(usd, .192*730) {
		t.Errorf("m6i.xlarge a month: %v, %v; want 140.16", usd, err)
	}

	if _, err := m6i.Monthly("eu-west-1"); !errors.As(err, &no) {
		t.Errorf("m6i.xlarge in eu-west-1: %v", err)
	}
}
