package fit

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/base/units"
)

// Known says how a value is known.
type Known string

// The kinds of evidence.
const (
	Measured Known = "measured" // a counter or a setting tells it
	Inferred Known = "inferred" // it follows from what was measured, by the reasoning in its evidence
	Assumed  Known = "assumed"  // it is not in the recording
)

// A Value is one value of the scenario and how it is known.
type Value struct {
	// Key is its path of keys in the scenario: "volumes.data.iops".
	Key string `json:"key"`
	// Text is the value as the YAML has it: "2998", "5GB".
	Text string `json:"value"`
	// Number is the same as a number in Unit, which is a base unit (bytes, bytes/s, seconds, 1/s, ratio, or "" for a count); nil of words.
	Number *float64 `json:"number"`
	Unit   string   `json:"unit,omitempty"`
	Known  Known    `json:"known"`
	// Evidence is what it rests on, or why it is not known.
	Evidence string `json:"evidence"`
	// Low and High bound what it may be, in Unit, where there is a bound.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// Measure is how to find out what is assumed.
	Measure string `json:"measure,omitempty"`
	// Or are other values that would do as well: whole volumes, where this is a volume's type.
	Or []string `json:"or,omitempty"`
	// Default says that the scenario leaves it to the default, which Text is: in the YAML the line is commented out. Without a Text there
	// is no default either.
	Default bool `json:"default"`
}

// between gives a value its range; a bound that is not finite is none.
func (v *Value) between(low, high float64) *Value {
	if !math.IsNaN(low) && !math.IsInf(low, 0) {
		v.Low = &low
	}
	if !math.IsNaN(high) && !math.IsInf(high, 0) {
		v.High = &high
	}
	return v
}

// measure says how to find out.
func (v *Value) measure(how string) *Value {
	v.Measure = how
	return v
}

// left leaves the value to the scenario's default.
func (v *Value) left() *Value {
	v.Default = true
	return v
}

// A quantity is a value before it is known how it is known.
type quantity struct {
	text   string
	number float64 // NaN: it is a word
	unit   string
}

// word is a value that is no number.
func word(text string) quantity { return quantity{text: text, number: math.NaN()} }

// yes and no are words as well.
func boolean(b bool) quantity { return word(strconv.FormatBool(b)) }

// significant rounds to four digits: a rate that was measured over some minutes has no more.
func significant(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 3, 64), 64)
	if err != nil {
		return x
	}
	return y
}

func plain(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

func count(x float64) quantity {
	return quantity{plain(math.Round(x)), math.Round(x), ""}
}

func rate(x float64) quantity {
	x = significant(x)
	return quantity{plain(x) + "/s", x, "1/s"}
}

// exactly is a size that was told as such; about is one that was computed.
func exactly(x float64) quantity {
	s := units.Size(math.Round(x))
	return quantity{s.Exact(), float64(s), "bytes"}
}

func about(x float64) quantity {
	x = significant(math.Round(x))
	for _, u := range []struct {
		name string
		of   units.Size
	}{{"TB", units.TB}, {"GB", units.GB}, {"MB", units.MB}, {"kB", units.KB}} {
		if x >= float64(u.of) {
			return quantity{plain(significant(x/float64(u.of))) + u.name, x, "bytes"}
		}
	}
	return quantity{plain(x) + "B", x, "bytes"}
}

func throughput(x float64) quantity {
	q := about(x)
	return quantity{q.text + "/s", q.number, "bytes/s"}
}

func ratio(x float64) quantity {
	x = math.Round(x*1e4) / 1e4
	return quantity{plain(math.Round(x*1e4)/100) + "%", x, "ratio"}
}

// factor is a percentage without decimals, which may be over 100.
func factor(x float64) quantity {
	x = math.Round(x*100) / 100
	return quantity{plain(math.Round(x*100)) + "%", x, "ratio"}
}

// duration is rounded to three digits.
func duration(seconds float64) quantity {
	d := time.Duration(seconds * 1e9)
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
	return quantity{text, d.Seconds(), "seconds"}
}

// add enters a value.
func (f *fitting) add(key string, q quantity, known Known, evidence string, args ...any) *Value {
	v := &Value{Key: key, Text: q.text, Unit: q.unit, Known: known, Evidence: fmt.Sprintf(evidence, args...)}
	if !math.IsNaN(q.number) {
		v.Number = &q.number
	}
	f.values = append(f.values, v)
	return v
}
