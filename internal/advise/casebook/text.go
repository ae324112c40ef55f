package casebook

import (
	"fmt"
	"io"
	"strings"

	"plimsoll/internal/base/units"
)

// Text writes a walk for a person, in width columns.
func Text(w io.Writer, k *Walk, width int) error {
	p := &printer{width: width}
	c := k.Case
	p.line("%s", strings.ToUpper(c.Title[:1])+c.Title[1:])
	p.para("  ", c.Published)
	p.blank()
	for _, s := range k.Steps {
		p.line("%s", strings.ToUpper(s.Step))
		p.para("  ", s.Text)
		if s.Step == "cause" && k.Diagnosis != nil {
			p.para("  ", "Diagnosing the simulated recording says: "+k.Diagnosis.Verdict)
			p.para("  ", "Rules that hold: "+strings.Join(k.Diagnosis.Rules, ", ")+".")
		}
		p.figures(s.Figures)
		p.blank()
	}
	p.layout(k)
	if len(k.Corrections) > 0 {
		p.line("WHERE THE PUBLISHED CLAIM IS WRONG")
		for _, x := range k.Corrections {
			p.para("  - ", "Claimed: "+x.Claim)
			p.para("    ", x.Truth)
			p.figures(x.Figures)
		}
		p.blank()
	}
	p.tried(k.Tried)
	p.line("HOW FAR TO TRUST IT")
	if c.Calibrated == "" {
		p.para("  ", "No parameter of the model was set with this case's figures: each deviation is the model's, or the publication's.")
	} else {
		p.para("  ", "Calibrated on this very case: "+c.Calibrated)
	}
	if len(k.Results) > 0 && k.Results[0].ModelError != "" {
		p.para("  ", "Error bar: "+k.Results[0].ModelError)
	}
	for _, a := range c.Assumed {
		p.para("  - assumed: ", a)
	}
	_, err := io.WriteString(w, p.b.String())
	return err
}

type printer struct {
	b     strings.Builder
	width int
}

func (p *printer) line(format string, args ...any) { fmt.Fprintf(&p.b, format+"\n", args...) }
func (p *printer) blank()                          { p.b.WriteByte('\n') }

// para writes text wrapped behind an indent; later lines are indented by as much.
func (p *printer) para(indent, text string) {
	room := max(p.width-len(indent), 20)
	line := ""
	flush := func() {
		p.line("%s%s", indent, line)
		indent, line = strings.Repeat(" ", len(indent)), ""
	}
	for _, word := range strings.Fields(text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > room {
			flush()
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		flush()
	}
}

// figures writes a table: published | model | deviation.
func (p *printer) figures(figures []WalkedFigure) {
	if len(figures) == 0 {
		return
	}
	const columns = 3 * 16
	name := 24
	for _, f := range figures {
		name = max(name, len([]rune(label(f.Figure))))
	}
	name = min(name, max(p.width-columns-4, 24))
	p.line("    %-*s%16s%16s%16s", name, "", "published", "model", "deviation")
	for _, f := range figures {
		published, got, dev := "-", "not modelled", "-"
		if len(f.Published) > 0 {
			var ends []string
			for _, x := range f.Published {
				ends = append(ends, units.Value(x, f.Unit))
			}
			published = shorten(ends)
		}
		if f.Got != nil {
			got = units.Value(*f.Got, f.Unit)
		} else if f.Model != "" {
			got = "not measurable"
		}
		if f.Deviation != nil {
			dev = fmt.Sprintf("%+.0f %%", 100**f.Deviation)
			if len(f.Published) == 2 && *f.Deviation == 0 {
				dev = "within"
			}
		}
		p.line("    %-*s%16s%16s%16s", name, clip(label(f.Figure), name), published, got, dev)
		if f.Note != "" {
			p.para("      ", f.Note)
		}
	}
}

// shorten joins the ends of a range, writing a unit they share once.
func shorten(ends []string) string {
	if len(ends) < 2 {
		return strings.Join(ends, "")
	}
	a, au, _ := strings.Cut(ends[0], " ")
	b, bu, _ := strings.Cut(ends[1], " ")
	if au == bu {
		return strings.TrimSpace(a + "-" + b + " " + bu)
	}
	return ends[0] + "-" + ends[1]
}

func label(f Figure) string {
	if f.Variant == "" {
		return f.Name
	}
	return f.Name + ", " + f.Variant
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "~"
	}
	return s
}
