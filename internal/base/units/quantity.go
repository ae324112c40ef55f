package units

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// The quantities that users write. Each has its own type, so that a size is not mistaken for a
// rate. Each needs a unit: a bare number is an error, because tools have read "throughput: 125" as
// MB/s and as MiB/s. All of them implement encoding.TextUnmarshaler and TextMarshaler, which YAML
// and JSON use.
type (
	// Size is a number of bytes: "5GB", "800 GiB", "4KiB", "300B".
	Size int64
	// Throughput is bytes per second: "125MiB/s", "48MB/s".
	Throughput int64
	// Duration is a length of time: "60s", "600us", "2m30s", "30min", "14d".
	Duration time.Duration
	// Frequency is events per second: "2000/s", "120/min".
	Frequency float64
	// Ratio is a share, where 1 is the whole: "5%", "0.05".
	Ratio float64
	// USD is United States dollars; the field's name shows what the amount pays for.
	USD float64
)

// Multiples of bytes. Decimal and binary multiples are different units: 125 MiB/s is 131.072 MB/s.
const (
	KB Size = 1e3
	MB Size = 1e6
	GB Size = 1e9
	TB Size = 1e12

	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
	TiB Size = 1 << 40

	MBps  Throughput = 1e6
	MiBps Throughput = 1 << 20
)

var sizeUnits = map[string]float64{
	"b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "pb": 1e15,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40, "pib": 1 << 50,
	// Kubernetes' spelling.
	"ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30, "ti": 1 << 40,
}

// ungrouped removes thousands separators from a number.
var ungrouped = strings.NewReplacer(",", "", "_", "")

// number splits "125 MiB/s" into 125 and "MiB/s".
func number(s string) (float64, string, error) {
	s = strings.TrimSpace(s)
	end := strings.IndexFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && r != '.' && r != ',' && r != '_' && r != '-' && r != '+'
	})
	if end < 0 {
		end = len(s)
	}
	// Thousands separators are accepted, because Plimsoll prints them.
	text := ungrouped.Replace(s[:end])
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
		return 0, "", fmt.Errorf("%q does not start with a number", s)
	}
	return x, strings.TrimSpace(s[end:]), nil
}

var errNegative = errors.New("may not be negative")

// scaled parses a number with a unit from a table. Its errors show the example.
func scaled(s string, table map[string]float64, example string) (float64, error) {
	x, unit, err := number(s)
	if err != nil {
		return 0, fmt.Errorf("%w: write it as %s", err, example)
	}

	// Zero means the same in every unit.
	if unit == "" && x != 0 {
		return 0, fmt.Errorf("%q has no unit: write it as %s", s, example)
	}

	k, ok := table[strings.ToLower(unit)]
	if !ok && unit != "" {
		return 0, fmt.Errorf("unknown unit in %q: write it as %s", s, example)
	}

	if unit == "" {
		k = 1
	}

	if x < 0 {
		return 0, fmt.Errorf("%q %w", s, errNegative)
	}

	return x * k, nil
}

// ParseSize parses a Size. Its errors show how to write one.
func ParseSize(s string) (Size, error) {
	x, err := scaled(s, sizeUnits, "5GB, 800GiB or 300B")
	// Half the range, so that a sum of two sizes cannot overflow.
	if err == nil && x > math.MaxInt64/2 {
		err = fmt.Errorf("%q is larger than any storage", s)
	}
	if err != nil {
		return 0, err
	}
	return Size(math.Round(x)), nil
}

// ParseThroughput parses a Throughput. Its errors show how to write one.
func ParseThroughput(s string) (Throughput, error) {
	base, ok := strings.CutSuffix(strings.TrimSpace(s), "/s")
	if !ok {
		return 0, fmt.Errorf("%q is not a throughput: write it as 125MiB/s or 48MB/s", s)
	}
	n, err := ParseSize(base)
	if err != nil {
		return 0, fmt.Errorf("%q is not a throughput: write it as 125MiB/s or 48MB/s", s)
	}
	return Throughput(n), nil
}

var durationUnits = map[string]float64{
	"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "m": 60e9, "h": 3600e9, "d": 86400e9,
}

// ParseDuration parses a Duration. It also accepts Go's notation ("2m30s").
func ParseDuration(s string) (Duration, error) {
	// "0" needs no unit here either, but goes through scaled like the other bare numbers.
	if d, err := time.ParseDuration(strings.TrimSpace(s)); err == nil && d >= 0 && strings.TrimSpace(s) != "0" {
		return Duration(d), nil
	}
	x, err := scaled(s, durationUnits, "60s, 600us, 10ms, 30min or 2m30s")
	if err == nil && x > math.MaxInt64/2 {
		err = fmt.Errorf("%q is longer than a century", s)
	}
	if err != nil {
		return 0, err
	}
	return Duration(math.Round(x)), nil
}

var frequencyUnits = map[string]float64{"/s": 1, "/min": 1.0 / 60, "/h": 1.0 / 3600, "/d": 1.0 / 86400}

// ParseFrequency parses a rate, such as 2000/s or 120/min.
func ParseFrequency(s string) (Frequency, error) {
	x, err := scaled(s, frequencyUnits, "2000/s or 120/min")
	return Frequency(x), err
}

// ParseRatio parses a Ratio: a percentage, or a plain number from 0 to 1.
func ParseRatio(s string) (Ratio, error) {
	x, unit, err := number(s)
	switch {
	case err != nil:
	case unit == "%":
		x /= 100
	case unit != "" || x > 1:
		err = fmt.Errorf("%q is not a ratio: write it as 5%% or 0.05", s)
	}
	if err == nil && x < 0 {
		err = fmt.Errorf("%q %w", s, errNegative)
	}
	return Ratio(x), err
}

// ParseUSD parses dollars: "500USD", "500 USD", "$500".
func ParseUSD(s string) (USD, error) {
	t := strings.TrimPrefix(strings.TrimSpace(s), "$")
	x, unit, err := number(t)
	if err != nil || x < 0 || (unit != "" && !strings.EqualFold(unit, "usd")) ||
		(unit == "" && t == strings.TrimSpace(s)) {
		return 0, fmt.Errorf("%q is not an amount of money: write it as 500USD or $500", s)
	}
	return USD(x), nil
}

// UnmarshalText is ParseSize.
func (q *Size) UnmarshalText(b []byte) error { return set(q, ParseSize, b) }

// UnmarshalText is ParseThroughput.
func (q *Throughput) UnmarshalText(b []byte) error { return set(q, ParseThroughput, b) }

// UnmarshalText is ParseDuration.
func (q *Duration) UnmarshalText(b []byte) error { return set(q, ParseDuration, b) }

// UnmarshalText is ParseFrequency.
func (q *Frequency) UnmarshalText(b []byte) error { return set(q, ParseFrequency, b) }

// UnmarshalText is ParseRatio.
func (q *Ratio) UnmarshalText(b []byte) error { return set(q, ParseRatio, b) }

// UnmarshalText is ParseUSD.
func (q *USD) UnmarshalText(b []byte) error { return set(q, ParseUSD, b) }

func set[T any](q *T, parse func(string) (T, error), b []byte) error {
	v, err := parse(string(b))
	if err == nil {
		*q = v
	}
	return err
}

// MarshalText returns text that ParseSize parses to the same value.
func (q Size) MarshalText() ([]byte, error) { return []byte(q.Exact()), nil }

// MarshalText returns text that ParseThroughput parses to the same value.
func (q Throughput) MarshalText() ([]byte, error) { return []byte(Size(q).Exact() + "/s"), nil }

// MarshalText returns text that ParseDuration parses to the same value.
func (q Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(q).String()), nil }

// MarshalText returns text that ParseFrequency parses to the same value.
func (q Frequency) MarshalText() ([]byte, error) {
	return append(strconv.AppendFloat(nil, float64(q), 'f', -1, 64), "/s"...), nil
}

// MarshalText returns text that ParseRatio parses to the same value.
func (q Ratio) MarshalText() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(q), 'g', -1, 64), nil
}

// MarshalText returns text that ParseUSD parses to the same value.
func (q USD) MarshalText() ([]byte, error) {
	return append(strconv.AppendFloat(nil, float64(q), 'f', -1, 64), "USD"...), nil
}

// Exact formats a size in the largest unit, binary or decimal, that loses nothing: "125MiB",
// "48MB", "301B".
func (q Size) Exact() string {
	for _, u := range []struct {
		size Size
		name string
	}{{TiB, "TiB"}, {TB, "TB"}, {GiB, "GiB"}, {GB, "GB"}, {MiB, "MiB"}, {MB, "MB"}, {KiB, "KiB"}, {KB, "kB"}} {
		if q != 0 && q%u.size == 0 {
			return strconv.FormatInt(int64(q/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(q), 10) + "B"
}

// String formats a quantity for people, rounded; MarshalText is exact.
func (q Size) String() string       { return Bytes(float64(q)) }
func (q Throughput) String() string { return Bytes(float64(q)) + "/s" }
func (q Duration) String() string   { return Seconds(float64(q) / 1e9) }
func (q Frequency) String() string  { return Number(float64(q)) + "/s" }
func (q Ratio) String() string      { return Percent(float64(q)) }
func (q USD) String() string        { return Number(float64(q)) + " USD" }

// Std returns the duration as the standard library's type.
func (q Duration) Std() time.Duration { return time.Duration(q) }
