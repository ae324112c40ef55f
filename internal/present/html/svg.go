package html

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"
	"unicode"

	"plimsoll/internal/base/units"
)

// A drawing builds an SVG. Colours are classes, so that they follow the theme; text is escaped.
type drawing struct {
	b             strings.Builder
	width, height float64
}

// newDrawing starts a drawing with a description for screen readers.
func newDrawing(width, height float64, label string) *drawing {
	d := &drawing{width: width, height: height}
	fmt.Fprintf(&d.b, `<svg viewBox="0 0 %s %s" role="img" aria-label="%s">`, coordinate(width),
		coordinate(height), escaped(label))
	return d
}

func (d *drawing) done() template.HTML {
	d.b.WriteString("</svg>")
	return template.HTML(d.b.String()) //nolint:gosec // made of numbers, this package's classes, and escaped text
}

// escaped returns text for an SVG. XML allows only three control characters, even as references,
// but a device name from a damaged log may contain others.
func escaped(words string) string {
	return html.EscapeString(strings.Map(func(c rune) rune {
		if c == '\t' || c == '\n' || c == '\r' || !unicode.IsControl(c) && c != '\ufffe' && c != '\uffff' {
			return c
		}
		return unicode.ReplacementChar
	}, words))
}

// coordinate prints a coordinate to a tenth of a unit. More digits are invisible and cost bytes.
func coordinate(x float64) string {
	return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64)
}

func number(i int) string { return strconv.Itoa(i) }

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&d.b, `<path class="%s" d="M%s %sL%s %s"/>`, class, coordinate(x1), coordinate(y1),
		coordinate(x2), coordinate(y2))
}

func (d *drawing) rect(class string, x, y, w, h float64) {
	fmt.Fprintf(&d.b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, class, coordinate(x),
		coordinate(y), coordinate(w), coordinate(h))
}

// text writes words at a point; anchor is start, middle or end.
func (d *drawing) text(class, anchor string, x, y float64, words string) {
	fmt.Fprintf(&d.b, `<text class="%s" text-anchor="%s" x="%s" y="%s">%s</text>`, class, anchor, coordinate(x),
		coordinate(y), escaped(words))
}

// rows draws a horizontal line at each value, with the value in front of it.
func (d *drawing) rows(x, y scale, values []float64, unit string) {
	for _, v := range values {
		d.line("grid", x.start, y.at(v), x.end, y.at(v))
		d.text("tick", "end", x.start-6, y.at(v)+4, units.Tick(v, unit))
	}
}

// path draws the path data of a trace.
func (d *drawing) path(class, trace string) {
	if trace != "" {
		fmt.Fprintf(&d.b, `<path class="%s" d="%s"/>`, class, trace)
	}
}

// niceSteps returns round values from 0 to at least high, few enough to label, and the last of
// them.
func niceSteps(high float64, atMost int) (steps []float64, top float64) {
	if !(high > 0) || math.IsInf(high, 0) {
		return []float64{0, 1}, 1
	}

	size := math.Pow(10, math.Floor(math.Log10(high/float64(atMost))))
	for _, m := range []float64{1, 2, 2.5, 5, 10, 20} {
		if step := size * m; high <= step*float64(atMost) {
			for i := 0; ; i++ {
				v := float64(i) * step
				steps = append(steps, v)
				// The slack is for steps such as 0.1, whose multiples are not exact.
				if v >= high*(1-1e-9) {
					return steps, v
				}
			}
		}
	}

	return []float64{0, high}, high
}

// A scale maps values to coordinates.
type scale struct {
	from, to   float64 // values
	start, end float64 // coordinates
	log        bool
	// change makes a scale of ratios from 1/to up to to, with 1 in the middle. Small changes get
	// more room than large ones: the position is the square root of the ratio's logarithm.
	change bool
}

func (s scale) at(x float64) float64 {
	a, b := s.from, s.to
	if s.change {
		far := math.Sqrt(math.Abs(math.Log(x)) / math.Log(b))
		return (s.start+s.end)/2 + math.Copysign(far, x-1)*(s.end-s.start)/2
	}
	// Values below the axis, such as zero, are drawn at its start.
	if s.log {
		a, b, x = math.Log(a), math.Log(b), math.Log(max(x, s.from))
	}
	if b == a {
		return s.start
	}
	return s.start + (x-a)/(b-a)*(s.end-s.start)
}

// decades returns the powers of ten within a logarithmic scale, and 3 times them if there is room.
func (s scale) decades(room float64) []float64 {
	var out []float64
	per := math.Abs(s.end-s.start) / max(1e-9, math.Log10(s.to/s.from))
	for e := math.Floor(math.Log10(s.from)); e <= math.Ceil(math.Log10(s.to)); e++ {
		for _, m := range []float64{1, 3} {
			// per is the length of a decade; 3 is near its middle on a logarithmic scale.
			if m == 3 && per < 2*room {
				continue
			}
			// The slack is for powers that are not exact.
			if v := m * math.Pow(10, e); v >= s.from*0.999 && v <= s.to*1.001 {
				out = append(out, v)
			}
		}
	}
	return out
}
