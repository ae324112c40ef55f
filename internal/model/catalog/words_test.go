package catalog

import (
	"strings"
	"testing"

	"plimsoll/internal/base/units"
)

func TestParseOrder(t *testing.T) {
	for text, want := range map[string]Order{
		"gp3,500GiB,6000IOPS,250MiB/s":        {Type: "gp3", Size: 500 * units.GiB, IOPS: 6000, Throughput: units.Throughput(250 * units.MiB)},
		"premium-v2, 512GiB, 5kiops, 200MB/s": {Type: "premium-v2", Size: 512 * units.GiB, IOPS: 5000, Throughput: 200e6},
		"50GiB":                               {Size: 50 * units.GiB},
	} {
		if got, err := ParseOrder(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"": "neither a type nor a size", "floppy": "neither", "gp3,gp2": "two types", "1GiB,2GiB": "two sizes", "gp3,1IOPS,2IOPS": "IOPS twice",
		"1MiB/s,2MiB/s": "throughput twice", "custom": "leave it out", "-1GiB": "size",
	} {
		if _, err := ParseOrder(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, not %s", text, err, want)
		}
	}
}
