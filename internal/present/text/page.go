package text

import (
	"strings"
)

// A style is an SGR parameter. Colour never carries a meaning that the text does not.
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "1;31"
	yellow style = "1;33"
	cyan   style = "36"
	green  style = "32"
)

// A page collects lines of at most width columns.
type page struct {
	out       strings.Builder
	width     int
	color     bool
	ascii     bool
	verbose   bool
	indent    string // of a section's parts
	short     bool   // a first screen, whose headings have no rule
	shortened bool   // something was omitted that verbose would show
}

func (p *page) paint(s string, st style) string {
	if !p.color || st == plain || s == "" {
		return s
	}
	return "\x1b[" + string(st) + "m" + s + "\x1b[0m"
}

// line writes one line of parts that already fit.
func (p *page) line(parts ...string) {
	p.out.WriteString(strings.TrimRight(strings.Join(parts, ""), " "))
	p.out.WriteByte('\n')
}

func (p *page) blank() { p.out.WriteByte('\n') }

// para writes wrapped text. The first line starts with first, the others with rest, both printed
// unchanged.
func (p *page) para(first, rest, text string, st style) {
	lines := wrap(p.clean(text), p.width-columns(first), p.width-columns(rest))
	for i, l := range lines {
		lead := rest
		if i == 0 {
			lead = first
		}
		p.line(lead, p.paint(l, st))
	}
}

// labelled writes text next to a label, wrapped in its own column. indent and column count from the
// left edge.
func (p *page) labelled(indent, column int, label, text string, st style) {
	pad := max(1, column-indent-columns(label))
	first := strings.Repeat(" ", indent) + p.paint(label, dim) + strings.Repeat(" ", pad)
	p.para(first, strings.Repeat(" ", column), text, st)
}

// heading starts a section.
func (p *page) heading(title, aside string) {
	if p.out.Len() > 0 {
		p.blank()
	}
	if aside == "" {
		p.line(p.paint(title, bold))
	} else {
		p.para(p.paint(title, bold)+"  ", "  ", aside, dim)
	}
	if p.short {
		return
	}

	rule := "─"
	if p.ascii {
		rule = "-"
	}
	p.line(p.paint(strings.Repeat(rule, p.width), dim))
}
