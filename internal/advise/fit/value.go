package fit

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/base/units"
)

// Known is the kind of evidence for a value.
type Known string

// The kinds of evidence.
const (
	Measured Known = "measured" // from a counter or a setting
	Declared Known = "declared" // specified by a cluster's object, which the evidence names
	Inferred Known = "inferred" // derived from measurements, by the reasoning in its evidence
	Assumed  Known = "assumed"  // not in the recording
)

// A Value is one value of the scenario with its evidence.
type Value struct {
	// Key is its path in the scenario: "volumes.data.iops".
	Key string `json:"key"`
	// Text is the value in the YAML's format: "2998", "5GB".
	Text string `json:"value"`
	// Number is the value as a number in Unit, a base unit (bytes, bytes/s, seconds, 1/s, ratio, or "" for
	// a count); nil for words.
	Number *float64 `json:"number"`
	Unit   string   `json:"unit,omitempty"`
	Known  Known    `json:"known"`
	// Evidence is what it is based on, or why it is unknown.
	Evidence string `json:"evidence"`
	// Low and High are the bounds of the value in Unit, if known.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// Measure is how to measure an assumed value.
	Measure string `json:"measure,omitempty"`
	// Or are other possible values: whole volumes, if this is a volume's type.
	Or []string `json:"or,omitempty"`
	// Default: the scenario uses the default, and Text is that default. The YAML comments out the line.
	// Without a Text there is no default either.
	Default bool `json:"default"`
}

// Between sets a value's range; bounds that are not finite are omitted.
func (v *Value) Between(low, high float64) *Value {
	if !math.IsNaN(low) && !math.IsInf(low, 0) {
		v.Low = &low
	}
	if !math.IsNaN(high) && !math.IsInf(high, 0) {
		v.High = &high
	}
	return v
}

// ToKnow sets how to measure the value.
func (v *Value) ToKnow(how string) *Value {
	v.Measure = how
	return v
}

// AsDefault makes the scenario use the default.
func (v *Value) AsDefault() *Value {
	v.Default = true
	return v
}

// Set replaces the value's quantity.
func (v *Value) Set(q Quantity) {
	v.Text, v.Unit, v.Number = q.text, q.unit, nil
	if !math.IsNaN(q.number) {
		v.Number = &q.number
	}
}

// A Quantity is a value without its evidence.
type Quantity struct {
	text   string
	number float64 // NaN: it is a word
	unit   string
}

// Word returns a value that is not a number, in YAML's syntax.
func Word(text string) Quantity { return Quantity{text: text, number: math.NaN()} }

// Boolean returns true or false as a value.
func Boolean(b bool) Quantity { return Word(strconv.FormatBool(b)) }

// Significant rounds to four digits: a rate measured for some minutes is no more precise.
func Significant(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 3, 64), 64)
	if err != nil {
		return x
	}
	return y
}

func plain(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// notMeasured is the quantity of a figure that is not a number, for example a quotient with divisor 0.
var notMeasured = Quantity{number: math.NaN()}

// largest bounds a figure, so that it fits into 64 bits.
const largest = 1 << 62

// known reports whether a figure is a number that can be written.
func known(x float64) bool { return math.Abs(x) < largest }

// Count returns a whole number.
func Count(x float64) Quantity {
	if !known(x) {
		return notMeasured
	}
	return Quantity{plain(math.Round(x)), math.Round(x), ""}
}

func rate(x float64) Quantity {
	if !known(x) {
		return notMeasured
	}
	x = Significant(x)
	return Quantity{plain(x) + "/s", x, "1/s"}
}

// Exactly returns a size in bytes without rounding, as reported by a source.
func Exactly(x float64) Quantity {
	if !known(x) {
		return notMeasured
	}
	s := units.Size(math.Round(x))
	return Quantity{s.Exact(), float64(s), "bytes"}
}

// About returns a computed size in bytes, rounded to four digits.
func About(x float64) Quantity {
	if !known(x) {
		return notMeasured
	}
	x = Significant(math.Round(x))
	for _, u := range []struct {
		name string
		of   units.Size
	}{{"TB", units.TB}, {"GB", units.GB}, {"MB", units.MB}, {"kB", units.KB}} {
		if x >= float64(u.of) {
			return Quantity{plain(Significant(x/float64(u.of))) + u.name, x, "bytes"}
		}
	}
	return Quantity{plain(x) + "B", x, "bytes"}
}

func throughput(x float64) Quantity {
	if !known(x) {
		return notMeasured
	}
	q := About(x)
	return Quantity{q.text + "/s", q.number, "bytes/s"}
}

// Ratio returns a share as a percentage with at most two decimals.
func Ratio(x float64) Quantity {
	if !known(x) {
		return notMeasured
	}
	x = math.Round(x*1e4) / 1e4
	return Quantity{plain(math.Round(x*1e4)/100) + "%", x, "ratio"}
}

// IOPS returns a whole number of requests per second.
func IOPS(x float64) Quantity {
	q := Count(x)
	q.unit = "1/s"
	return q
}

// factor returns a percentage without decimals, which may exceed 100.
func factor(x float64) Quantity {
	if !known(x) {
		return notMeasured
	}
	x = math.Round(x*100) / 100
	return Quantity{plain(math.Round(x*100)) + "%", x, "ratio"}
}

// Duration returns a duration, rounded to at least three digits.
func Duration(seconds float64) Quantity {
	if !known(seconds) || math.Abs(seconds) > 1e9 {
		return notMeasured
	}

	d := time.Duration(seconds * 1e9)

	// Keep three digits: more would suggest a precision that a mean does not have.
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if d >= 100*unit {
			d = d.Round(unit)
			break
		}
		if d >= unit {
			d = d.Round(unit / 100)
			break
		}
	}

	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}

	if strings.HasSuffix(text, "m") {
		text += "in"
	}

	text = strings.ReplaceAll(strings.ReplaceAll(text, "h0min", "h"), "µ", "u")
	return Quantity{text, d.Seconds(), "seconds"}
}

// Add enters a value with its evidence, a format and its arguments. A quantity without text stands
// for the scenario's default.
func (f *Fitting) Add(key string, q Quantity, known Known, evidence string, args ...any) *Value {
	v := &Value{Key: key, Known: known, Evidence: fmt.Sprintf(evidence, args...)}
	v.Set(q)
	if q.text == "" { // nothing better than the scenario's default is known
		v.Known, v.Default, v.Evidence = Assumed, true, "not measured: "+v.Evidence
	}
	f.values = append(f.values, v)
	return v
}

// Per returns a total divided by a count, NaN if nothing was counted.
func Per(total, count float64) float64 {
	if x := total / count; count > 0 && !math.IsInf(x, 0) {
		return x
	}
	return math.NaN()
}

// Zero returns x, or 0 if x is unknown.
func Zero(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return x
}
