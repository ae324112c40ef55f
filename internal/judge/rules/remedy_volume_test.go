package rules

import "testing"

// The order is twice the cap that binds, within what the volume's type offers, and never less than the
// volume has.
func TestSizeVolume(t *testing.T) {
	for _, c := range []struct {
		cap                 Cap
		iops, mibs, dollars string
		raises              bool
	}{
		{Cap{IOPS: 3000}, "6000", "125", "15.0", true},
		{Cap{IOPS: 50_000}, "80000", "125", "150", true},
		{Cap{IOPS: 100_133}, "199500", "125", "", true}, // only an io2 offers that much
		{Cap{IOPS: 256_000}, "256000", "125", "", false},
		{Cap{Throughput: 125 * mib}, "3000", "250", "5.00", true},
		{Cap{Throughput: 750 * mib}, "6000", "1500", "45.0", true}, // 3,000 IOPS allow 750 MiB/s
		{Cap{Throughput: 2000 * mib}, "8000", "2000", "25.0", false},
	} {
		v := sizeVolume(nil, &Finding{Cap: &c.cap})
		if string(v["iops"]) != c.iops || string(v["mibs"]) != c.mibs || string(v["dollars"]) != c.dollars || raises(nil, v) != c.raises {
			t.Errorf("%+v: %s IOPS, %s MiB/s, USD %s, raises %v; want %+v", c.cap, v["iops"], v["mibs"], v["dollars"], raises(nil, v), c)
		}
	}
}

func TestCloudOf(t *testing.T) {
	for machine, want := range map[string]Cloud{
		"m6i.xlarge": AWS, "u-6tb1.112xlarge": AWS, "Standard_D8s_v5": Azure, "standard_d8s_v5": Azure,
		"n2-standard-8": Google, "e2-medium": Google, "c4-highmem-8-lssd": Google, "": "", "something": "",
	} {
		c := NewCase(nil, Time{}.Grid, nil)
		if machine != "" {
			c.Facts[FactMachine] = machine
		}
		if got := CloudOf(c); got != want {
			t.Errorf("%q: cloud %q, want %q", machine, got, want)
		}
		if c.Facts[FactCloud] = "none"; CloudOf(c) != NoCloud {
			t.Errorf("%q: the firmware's report must take precedence", machine)
		}
	}
}
