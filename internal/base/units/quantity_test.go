package units

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Size{"5GB": 5 * GB, "800 GiB": 800 * GiB, "4KiB": 4096, "300B": 300, "10Gi": 10 * GiB, "1.5 TB": 1500 * GB, "2,300 B": 2300, "0": 0} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("size %q: %d, %v", text, got, err)
		}
	}

	for text, want := range map[string]Duration{"60s": Duration(time.Minute), "600us": 600e3, "2m30s": 150e9, "30min": 1800e9, "14d": 14 * 86400e9, "0": 0} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("duration %q: %d, %v", text, got, err)
		}
	}

	if got, err := ParseThroughput("125MiB/s"); err != nil || got != 125*MiBps {
		t.Errorf("throughput: %d, %v", got, err)
	}

	if got, err := ParseFrequency("2000/s"); err != nil || got != 2000 {
		t.Errorf("frequency: %v, %v", got, err)
	}

	if got, err := ParseRatio("5%"); err != nil || got != 0.05 {
		t.Errorf("ratio: %v, %v", got, err)
	}

	if got, err := ParseUSD("$500"); err != nil || got != 500 {
		t.Errorf("money: %v, %v", got, err)
	}
}

func TestBareNumbersAreErrors(t *testing.T) {
	var (
		size       Size
		throughput Throughput
		duration   Duration
		frequency  Frequency
		ratio      Ratio
		usd        USD
	)
	for _, c := range []struct {
		text string
		into interface{ UnmarshalText([]byte) error }
	}{
		{"125", &size}, {"125", &throughput}, {"125MB", &throughput}, {"60", &duration}, {"2000", &frequency},
		{"5", &ratio}, {"500", &usd}, {"-1GB", &size}, {"9e99GB", &size}, {"GB", &size}, {"5 parsec", &duration},
		{"", &size}, {"1.2.3GB", &size}, {"99999999999PB", &size},
	} {
		err := c.into.UnmarshalText([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%T %q: %v", c.into, c.text, err)
		}
	}
}

// The text of a quantity parses to the same value.
func TestTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := Size(rapid.Int64Range(0, 1<<53).Draw(t, "bytes"))
		text, _ := size.MarshalText()
		if got, err := ParseSize(string(text)); err != nil || got != size {
			t.Fatalf("%d -> %s -> %d, %v", size, text, got, err)
		}

		d := Duration(rapid.Int64Range(0, 1<<60).Draw(t, "ns"))
		text, _ = d.MarshalText()
		if got, err := ParseDuration(string(text)); err != nil || got != d {
			t.Fatalf("%d -> %s -> %d, %v", d, text, got, err)
		}

		f := Frequency(rapid.Float64Range(0, 1e9).Draw(t, "per second"))
		text, _ = f.MarshalText()
		if got, err := ParseFrequency(string(text)); err != nil || got != f {
			t.Fatalf("%v -> %s -> %v, %v", f, text, got, err)
		}
	})
}
