package units

import (
	"math"
	"testing"
)

func TestPrint(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Number(3000), "3,000"},
		{Number(1466668), "1,466,668"},
		{Number(-12345), "-12,345"},
		{Number(99.96), "100"},
		{Number(0.51234), "0.51"},
		{Number(math.NaN()), "?"},
		{Seconds(0.0000625), "62.5 us"},
		{Seconds(0.0047), "4.70 ms"},
		{Seconds(0.99996), "1.00 s"},
		{Seconds(8.13), "8.13 s"},
		{Seconds(119.9), "120 s"},
		{Seconds(120), "2m"},
		{Seconds(342.4), "5m42s"},
		{Seconds(-342.4), "-5m42s"},
		{Seconds(3599.7), "1h"},
		{Seconds(4829), "1h20m"},
		{Seconds(1e12), "277,777,778h"},
		{Seconds(600), "10m"},
		{Seconds(86400), "24h"},
		{Bytes(48e6), "48.0 MB"},
		{Bytes(999_999), "1.00 MB"},
		{Bytes(512), "512 B"},
		{Percent(0.516), "52 %"},
		{Percent(0.005), "0.5 %"},
		{Percent(1), "100 %"},
		{Value(3000, "1/s"), "3,000/s"},
		{Value(131072000, "bytes/s"), "131 MB/s"},
		{Value(32, "requests"), "32.0 requests"},
		{Value(math.Inf(1), "seconds"), "?"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int64]string{0: "0", -7: "-7", 999: "999", 1000: "1,000", -123456: "-123,456", 12390000: "12,390,000"} {
		if got := Count(n); got != want {
			t.Errorf("%d is printed %s, want %s", n, got, want)
		}
	}
}

func TestDeviation(t *testing.T) {
	for r, want := range map[float64]string{-0.12: "-12 %", -0.004: "0 %", 0: "0 %", 0.005: "0 %", 0.006: "+1 %", 1: "+100 %"} {
		if got := Deviation(r); got != want {
			t.Errorf("%g is %q, want %q", r, got, want)
		}
	}
}
