package catalog

import (
	"math"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/volume"
)

func order(t testing.TB, text string) *Order {
	t.Helper()
	var o Order
	if err := yaml.UnmarshalWithOptions([]byte(text), &o, yaml.Strict()); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return &o
}

// What providers say about orders, one by one.
func TestLimits(t *testing.T) {
	const mib = units.MiBps
	for _, c := range []struct {
		order string
		iops  float64
		rate  units.Throughput
		burst float64 // IOPS while there are credits
	}{
		{"{type: gp3, size: 100GiB}", 3000, 125 * mib, 0},
		{"{type: gp3, size: 2500GiB, iops: 16k, throughput: 250MiB/s}", 16_000, 250 * mib, 0},
		{"{type: gp3, size: 1GiB}", 3000, 125 * mib, 0},
		{"{type: gp3, size: 8GiB, iops: 4000, throughput: 1000MiB/s}", 4000, 1000 * mib, 0}, // full throughput from 4,000 IOPS and 8 GiB
		{"{type: gp3, size: 64TiB, iops: 80000, throughput: 2000MiB/s}", 80_000, 2000 * mib, 0},
		{"{type: gp3, size: 40GiB, iops_per_gb: 100}", 4000, 125 * mib, 0},
		{"{type: gp3, size: 100GiB, iops_per_gb: 600}", 50_000, 125 * mib, 0}, // the CSI driver caps it
		{"{type: gp3, size: 2TiB, iops_per_gb: 50}", 80_000, 125 * mib, 0},
		{"{type: standard-ssd, size: 128GiB}", 500, 60 * units.MBps, 600},
		{"{type: StandardSSD_LRS, size: 1TiB}", 500, 60 * units.MBps, 1000},
		{"{type: standard-ssd, size: 5TiB}", 2000, 400 * units.MBps, 0},
		{"{type: standard-hdd, size: 8193GiB}", 2000, 500 * units.MBps, 0},
		{"{type: gp2, size: 1GiB}", 100, 128 * mib, 3000},
		{"{type: gp2, size: 33GiB}", 100, 128 * mib, 3000},
		{"{type: gp2, size: 100GiB}", 300, 128 * mib, 3000},
		{"{type: gp2, size: 170GiB}", 510, 128 * mib, 3000},
		{"{type: gp2, size: 171GiB}", 513, 250 * mib, 3000},
		{"{type: gp2, size: 300GiB}", 900, 250 * mib, 3000}, // the published etcd case's
		{"{type: gp2, size: 999GiB}", 2997, 250 * mib, 3000},
		{"{type: gp2, size: 1000GiB}", 3000, 250 * mib, 0},
		{"{type: gp2, size: 5334GiB}", 16_000, 250 * mib, 0},
		{"{type: gp2, size: 16TiB}", 16_000, 250 * mib, 0},
		{"{type: io1, size: 400GiB, iops: 1000}", 1000, 250 * mib, 0},
		{"{type: io1, size: 1TiB, iops: 32000}", 32_000, 500 * mib, 0},
		{"{type: io1, size: 2TiB, iops: 48000}", 48_000, 750 * mib, 0},
		{"{type: io1, size: 2TiB, iops: 64000}", 64_000, 1000 * mib, 0},
		{"{type: io2, size: 10GiB, iops: 5000}", 5000, 1280 * mib, 0},
		{"{type: io2, size: 256GiB, iops: 256000}", 256_000, 4000 * mib, 0},
		{"{type: st1, size: 1TiB}", 40, 40 * mib, 250},
		{"{type: st1, size: 125GiB}", 40 * 125 / 1024., units.Throughput(40 * 125 / 1024. * float64(mib)), 250 * 125 / 1024.},
		{"{type: st1, size: 12800GiB}", 500, 500 * mib, 0},
		{"{type: sc1, size: 1TiB}", 12, 12 * mib, 80},
		{"{type: sc1, size: 16TiB}", 192, 192 * mib, 250},
		{"{type: hyperdisk-balanced, size: 100GiB}", 3000, 140 * mib, 0},
		{"{type: hyperdisk-balanced, size: 320GiB, iops: 160000}", 160_000, 625 * mib, 0}, // at least a 256th
		{"{type: hyperdisk-balanced-ha, size: 200GiB, iops: 100000, throughput: 1200MiB/s}", 100_000, 1200 * mib, 0},
		{"{type: hyperdisk-extreme, size: 64GiB, iops: 10000}", 10_000, 2500 * mib, 0},
		{"{type: hyperdisk-extreme, size: 1TiB, iops: 350000}", 350_000, 5000 * mib, 0},
		{"{type: hyperdisk-throughput, size: 32TiB, throughput: 2400MiB/s}", 9600, 2400 * mib, 0},
		{"{type: hyperdisk-ml, size: 1TiB, throughput: 1200MiB/s}", 19_200, 1200 * mib, 0},
		{"{type: pd-ssd, size: 100GiB}", 9000, 288 * mib, 0},
		{"{type: pd-balanced, size: 1000GiB}", 9000, 420 * mib, 0},
		{"{type: premium-v2, size: 100GiB}", 3000, 125 * units.MBps, 0},
		{"{type: ultra, size: 100GiB, iops: 100000, throughput: 2000MB/s}", 100_000, 2000 * units.MBps, 0},
		{"{type: premium-ssd, size: 128GiB}", 500, 100 * units.MBps, 3500},
		{"{type: premium-ssd, size: 129GiB}", 1100, 125 * units.MBps, 3500},
		{"{type: premium-ssd, size: 1TiB}", 5000, 200 * units.MBps, 0},
		{"{type: nvme}", 200_000, 2000 * units.MBps, 0},
		{"{type: custom, iops: 500, throughput: 10MB/s, latency: {like: gp3}}", 500, 10 * units.MBps, 0},
	} {
		o := order(t, c.order)
		if err := o.Check().Err(); err != nil {
			t.Errorf("%s: %v", c.order, err)
			continue
		}

		cfg, err := o.Config("data", nil)
		if err != nil {
			t.Fatal(err)
		}

		if math.Abs(float64(cfg.Sustained.IOPS)-c.iops) > 1e-9 || cfg.Sustained.Throughput != c.rate {
			t.Errorf("%s: %v IOPS, %d B/s; want %v, %d", c.order, float64(cfg.Sustained.IOPS), cfg.Sustained.Throughput, c.iops, c.rate)
		}

		burst := 0.0
		if cfg.Burst != nil {
			burst = float64(cfg.Burst.At.IOPS)
		}

		if math.Abs(burst-c.burst) > 1e-9 {
			t.Errorf("%s: bursts to %v IOPS, want %v", c.order, burst, c.burst)
		}
	}
}

// How long full buckets last, as published: Amazon's examples, and Azure's 30 minutes.
func TestBurstsLast(t *testing.T) {
	for _, c := range []struct {
		order   string
		seconds float64
	}{
		{"{type: gp2, size: 100GiB}", 2000},
		{"{type: gp2, size: 334GiB}", 2703},
		{"{type: st1, size: 1TiB}", 1 << 20 / (250. - 40)},
		{"{type: premium-ssd, size: 64GiB}", 1800},
		{"{type: custom, throughput: 10MB/s, burst: {throughput: 30MB/s, for: 5min}, latency: {like: gp3}}", 300},
		{"{type: custom, iops: 100, burst: {iops: 300, for: 5min, left: 50%}, latency: {like: gp3}}", 150},
	} {
		cfg, err := order(t, c.order).Config("data", nil)
		if err != nil {
			t.Fatal(err)
		}

		b := cfg.Burst
		rate := float64(b.At.IOPS - cfg.Sustained.IOPS)
		if b.Bytes {
			rate = float64(b.At.Throughput - cfg.Sustained.Throughput)
		}

		if got := float64(b.Initial) / rate; math.Abs(got-c.seconds) > 1 {
			t.Errorf("%s: lasts %.1f s, want %v", c.order, got, c.seconds)
		}
	}
}

// Every problem names its field and the nearest valid value, and that value removes it.
func TestProblems(t *testing.T) {
	for _, c := range []struct {
		order, field, says, nearest string
	}{
		{"{type: gp4, size: 1TiB}", "type", `no volume type is called "gp4"`, "gp3"},
		{"{size: 1TiB}", "type", "missing: one of gp3", ""},
		{"{type: gp3}", "size", "missing", ""},
		{"{type: gp3, size: 65TiB}", "size", "at most 64TiB; Amazon EBS user guide", "64TiB"},
		{"{type: gp2, size: 20TiB}", "size", "at most 16TiB", "16TiB"},
		{"{type: st1, size: 100GiB}", "size", "at least 125GiB", "125GiB"},
		{"{type: gp3, size: 10GiB, iops: 10000}", "iops", "they need 20 GiB (limit: 500 IOPS per GiB; Amazon", "5000"},
		{"{type: gp3, size: 1TiB, iops: 100k}", "iops", "at most 80,000 IOPS; Amazon EC2 API", "80000"},
		{"{type: gp3, size: 10GiB, iops: 100k}", "iops", "at most 80,000 IOPS", "5000"},
		{"{type: gp3, size: 1TiB, iops: 1000}", "iops", "at least 3,000 IOPS", "3000"},
		{"{type: gp3, size: 1TiB, iops: 4000, iops_per_gb: 5}", "iops_per_gb", "set in addition to iops", ""},
		{"{type: gp3, size: 100GiB, iops_per_gb: 3}", "iops_per_gb", "at least 3,000", "30"},
		{"{type: gp3, size: 1TiB, throughput: 2TiB/s}", "throughput", "at most 2,000 MiB/s", "750MiB/s"},
		{"{type: gp3, size: 1TiB, iops: 80k, throughput: 2TiB/s}", "throughput", "at most 2,000 MiB/s", "2000MiB/s"},
		{"{type: gp3, size: 1TiB, throughput: 1000MiB/s}", "throughput", "1,000 MiB/s with 3,000 IOPS: it needs 4,000 IOPS (limit: 0.25 MiB/s for each IOPS", "750MiB/s"},
		{"{type: gp3, size: 1TiB, throughput: 100MiB/s}", "throughput", "at least 125 MiB/s", "125MiB/s"},
		{"{type: gp2, size: 1TiB, iops: 5000}", "iops", "cannot be set on gp2: 3 IOPS per GiB", ""},
		{"{type: gp2, size: 1TiB, throughput: 250MiB/s}", "throughput", "cannot be set on gp2: throughput 128 MiB/s", ""},
		{"{type: io2, size: 10GiB, iops: 20000}", "iops", "1,000 IOPS per GiB", "10000"},
		{"{type: io2, size: 10GiB}", "iops", "missing: io2 has no default", "100"},
		{"{type: io2, size: 10GiB, iops: 5000, throughput: 1GiB/s}", "throughput", "0.256 MiB/s per IOPS", ""},
		{"{type: io1, size: 100GiB, iops: 6000}", "iops", "50 IOPS per GiB", "5000"},
		{"{type: io1, size: 16TiB, iops: 65000}", "iops", "at most 64,000", "64000"},
		{"{type: ultra, size: 4GiB, iops: 5000, throughput: 20MB/s}", "iops", "1,000 IOPS per GiB", "4000"},
		{"{type: ultra, size: 100GiB, iops: 1000, throughput: 300MB/s}", "throughput", "0.25 MB/s for each IOPS", "250MB/s"},
		{"{type: hyperdisk-balanced, size: 10GiB, iops: 6000}", "iops", "500 IOPS per GiB", "5000"},
		{"{type: hyperdisk-balanced, size: 100GiB, throughput: 800MiB/s}", "throughput", "0.25 MiB/s for each IOPS", "750MiB/s"},
		{"{type: hyperdisk-balanced, size: 320GiB, iops: 160000, throughput: 140MiB/s}", "throughput", "1 MiB/s for each 256 IOPS", "625MiB/s"},
		{"{type: hyperdisk-extreme, size: 64GiB, iops: 100000}", "iops", "1,200 IOPS per GiB", "76800"},
		{"{type: hyperdisk-extreme, size: 1TiB, iops: 2000}", "iops", "at least 2 IOPS per GiB", "2048"},
		{"{type: hyperdisk-extreme, size: 1TiB, iops_per_gb: 1}", "iops_per_gb", "at least 2 IOPS per GiB", "2"},
		{"{type: hyperdisk-extreme, size: 1TiB}", "iops", "missing: hyperdisk-extreme has no default", "2048"},
		{"{type: hyperdisk-throughput, size: 1TiB, throughput: 100MiB/s}", "size", "at least 2TiB", "2TiB"},
		{"{type: hyperdisk-throughput, size: 32TiB, throughput: 200MiB/s}", "throughput", "10 MiB/s for each TiB", "320MiB/s"},
		{"{type: hyperdisk-throughput, size: 4TiB}", "throughput", "missing: hyperdisk-throughput has no default", "40MiB/s"},
		{"{type: hyperdisk-throughput, size: 4TiB, iops: 100, throughput: 100MiB/s}", "iops", "4 IOPS per MiB/s", ""},
		{"{type: hyperdisk-ml, size: 1TiB, throughput: 300MiB/s}", "throughput", "at least 400 MiB/s", "400MiB/s"},
		{"{type: premium-v2, size: 5GiB, iops: 3100}", "iops", "500 IOPS per GiB", "3000"},
		{"{type: gp3, size: 1TiB, stripe: 200}", "stripe", "from 1 to 128", "128"},
		{"{type: gp3, size: 1TiB, stripe: 2, stripe_unit: 100B}", "stripe_unit", "from 512B", "512B"},
		{"{type: gp3, size: 1TiB, stripe_unit: 64KiB}", "stripe_unit", "needs a stripe", ""},
		{"{type: gp3, size: 1TiB, queue_slots: -1}", "queue_slots", "from 0", "0"},
		{"{type: gp3, size: 1TiB, merge: true}", "merge", "type: custom", ""},
		{"{type: gp3, size: 1TiB, latency: {like: gp5}}", "latency.like", "no volume type", "gp3"},
		{"{type: gp3, size: 1TiB, latency: {write: {p50: 2ms, p99: 1ms}}}", "latency.write", "ascend", ""},
		{"{type: gp3, size: 1TiB, latency: {write: {}}}", "latency.write", "no quantile given", ""},
		{"{type: gp3, size: 1TiB, episodes: {every: 1ms}}", "episodes", "want 1.00 s", ""},
		{"{type: custom, iops: 100}", "latency", "like: gp3", ""},
		{"{type: custom, latency: {like: custom}}", "latency.like", "no default latency", "gp3"},
		{"{type: custom, iops: 100, latency: {like: gp3}, merge: true}", "merge", "needs operation", ""},
		{"{type: custom, latency: {like: gp3}, burst: {iops: 10, for: 1min}}", "burst.iops", "must be more than iops", ""},
		{"{type: custom, iops: 5, latency: {like: gp3}, burst: {for: 1min}}", "burst", "one of iops and throughput", ""},
		{"{type: custom, iops: 5, latency: {like: gp3}, burst: {iops: 10, for: 30h}}", "burst.for", "to 24h", "30min"},
	} {
		l := order(t, c.order).Check()
		if len(l) != 1 {
			t.Errorf("%s: %d problems, want one: %v", c.order, len(l), l)
			continue
		}

		p := l[0]
		if p.Field != c.field || !strings.Contains(p.Error(), c.says) || p.Nearest != c.nearest {
			t.Errorf("%s:\ngot  %s\nwant %s: ... %s ...; nearest %q", c.order, p.Error(), c.field, c.says, c.nearest)
		}

		if p.Nearest == "" || strings.Contains(p.Field, ".") {
			continue
		}

		// The nearest valid value is valid.
		var fields map[string]any
		if err := yaml.Unmarshal([]byte(c.order), &fields); err != nil {
			t.Fatal(err)
		}

		fields[p.Field] = p.Nearest
		text, err := yaml.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}

		if err := order(t, string(text)).Check().Err(); err != nil {
			t.Errorf("%s with %s: %s: %v", c.order, p.Field, p.Nearest, err)
		}
	}
	if l := order(t, "{type: gp3, size: 65TiB, iops: 90k, throughput: 3GiB/s, stripe: -2}").Check(); len(l) != 4 {
		t.Errorf("four mistakes are %d problems: %v", len(l), l)
	}
}

// Any order gives problems or a volume, never a panic.
func FuzzOrder(f *testing.F) {
	for _, s := range []string{"{type: gp3, size: 8EiB, iops: 4000, throughput: 1000MiB/s}", "{type: custom, iops: 1, burst: {iops: 2, for: 1s, left: 0%}, latency: {scale: 2, like: st1}, episodes: {}}", "{type: st1, size: 125GiB, stripe: 3, iops_per_gb: 1000000000}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var o Order
		if len(text) > 1000 || yaml.Unmarshal([]byte(text), &o) != nil {
			return
		}

		_ = o.CheckOn(&InstanceType{Name: "x"})
		bill, priceErr := Embedded().Monthly(&o, "")
		if o.Check().Err() != nil {
			return
		}

		if priceErr == nil && (bill.Total < 0 || math.IsNaN(float64(bill.Total))) {
			t.Errorf("%s costs %v", text, bill)
		}

		v, err := o.Build("data", 1, Attachment{})
		if err != nil {
			t.Fatalf("%s passes its checks and cannot be built: %v", text, err)
		}

		v.Submit(0, volume.Request{Op: volume.Write, Length: 4096})
	})
}

// IOPS that follow from a size and exceed the type's maximum are capped as the CSI driver caps
// them, and the order says so.
func TestCappedIOPSPerGB(t *testing.T) {
	for text, want := range map[string]string{
		"{type: gp3, size: 2TiB, iops_per_gb: 50}":    "50 per GiB on 2048 GiB are 102,400 IOPS",
		"{type: io1, size: 100GiB, iops_per_gb: 100}": "of this size, 5,000, and you pay for them",
		"{type: gp3, size: 1TiB, iops_per_gb: 10}":    "",
		"{type: gp3, size: 1TiB, iops: 10000}":        "",
	} {
		o := order(t, text)
		if l := o.Check(); len(l) > 0 {
			t.Errorf("%s: %v", text, l)
		}
		l := o.Warnings()
		if want == "" && len(l) > 0 || want != "" && (len(l) != 1 || !strings.Contains(l[0].Text, want)) {
			t.Errorf("%s: %v, want %q", text, l, want)
		}
	}
}
