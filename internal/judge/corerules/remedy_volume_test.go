package corerules

import (
	"testing"

	"plimsoll/internal/judge/rules"
)

// The order is twice the cap that binds, within what the volume's type offers, and never less than the
// volume has.
func TestSizeVolume(t *testing.T) {
	for _, c := range []struct {
		cap                 rules.Cap
		iops, mibs, dollars string
		raises              bool
	}{
		{rules.Cap{IOPS: 3000}, "6000", "125", "15.0", true},
		{rules.Cap{IOPS: 50_000}, "80000", "125", "150", true},
		{rules.Cap{IOPS: 100_133}, "199500", "125", "", true}, // only an io2 offers that much
		{rules.Cap{IOPS: 256_000}, "256000", "125", "", false},
		{rules.Cap{Throughput: 125 * rules.MiB}, "3000", "250", "5.00", true},
		{rules.Cap{Throughput: 750 * rules.MiB}, "6000", "1500", "45.0", true}, // 3,000 IOPS allow 750 MiB/s
		{rules.Cap{Throughput: 2000 * rules.MiB}, "8000", "2000", "25.0", false},
	} {
		v := sizeVolume(nil, &rules.Finding{Cap: &c.cap})
		if string(v["iops"]) != c.iops || string(v["mibs"]) != c.mibs || string(v["dollars"]) != c.dollars || raises(nil, v) != c.raises {
			t.Errorf("%+v: %s IOPS, %s MiB/s, USD %s, raises %v; want %+v", c.cap, v["iops"], v["mibs"], v["dollars"], raises(nil, v), c)
		}
	}
}

func TestCloudOf(t *testing.T) {
	for machine, want := range map[string]rules.Cloud{
		"m6i.xlarge": rules.AWS, "u-6tb1.112xlarge": rules.AWS, "Standard_D8s_v5": rules.Azure, "standard_d8s_v5": rules.Azure,
		"n2-standard-8": rules.Google, "e2-medium": rules.Google, "c4-highmem-8-lssd": rules.Google, "": "", "something": "",
	} {
		c := rules.NewCase(nil, rules.Time{}.Grid, nil)
		if machine != "" {
			c.Facts[rules.FactMachine] = machine
		}
		if got := rules.CloudOf(c); got != want {
			t.Errorf("%q: cloud %q, want %q", machine, got, want)
		}
		if c.Facts[rules.FactCloud] = "none"; rules.CloudOf(c) != rules.NoCloud {
			t.Errorf("%q: the firmware's report must take precedence", machine)
		}
	}
}
