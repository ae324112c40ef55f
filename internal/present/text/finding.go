package text

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/present/document"
)

// Limits of a short text.
const (
	fullMax         = 4 // findings
	observationsMax = 5 // numbers of one finding
	windowsMax      = 3 // windows of one finding
	amongMax        = 6 // databases of one finding
)

const (
	findingIndent = 3
	bodyColumn    = 13
	valueColumns  = 9 // at least
)

// findings writes the first few findings in full, the others in two lines. Refutations are always
// in full, because they say what not to do.
func (p *page) findings(all []document.Finding) {
	for i, f := range all {
		if i > 0 {
			p.blank()
		}

		// A refutation has an x in place of its number, because there is nothing to act on.
		if f.Level == document.Not {
			p.finding(p.paint("x", red)+"  ", f)
			if p.verbose && f.Cause != "" {
				p.labelled(findingIndent, bodyColumn, "because", f.Cause, plain)
			}
			p.observations(f)
			p.fixes(f)
			continue
		}

		p.finding(p.pad(strconv.Itoa(f.Number), findingIndent)+
			p.paint(strings.ToUpper(p.clean(f.Word)), styleOf(f.Level))+"  ", f)
		switch {
		case p.verbose || f.Full || f.Number <= fullMax && f.Word != string(document.Info):
			if f.Cause != "" {
				p.labelled(findingIndent, bodyColumn, "cause", f.Cause, plain)
			}
			p.windows(f)
			p.observations(f)
			p.fixes(f)
		default:
			p.shortened = true
			// Here the observations are the finding: without them its title says nothing.
			if f.Essential {
				p.observations(f)
			}
		}
	}
}

// finding writes the parts that every finding has.
func (p *page) finding(lead string, f document.Finding) {
	indent := strings.Repeat(" ", findingIndent)
	p.para(lead, indent, f.Title, bold)
	about := slices.DeleteFunc([]string{f.Subject, f.Rule, f.Weight}, func(s string) bool { return s == "" })
	p.para(indent, indent, strings.Join(about, ", "), dim)
	p.para(indent, indent, f.Summary, plain)
	if names := f.Among; len(names) > 0 {
		more := ""
		// "and 1 more" takes as much room as the name.
		if len(names) > amongMax+1 && !p.verbose {
			more = fmt.Sprintf(" and %d more", len(names)-amongMax)
			names, p.shortened = names[:amongMax], true
		}
		p.labelled(findingIndent, bodyColumn, "in", strings.Join(names, ", ")+more, plain)
	}
}

// windows says when a finding held.
func (p *page) windows(f document.Finding) {
	if len(f.When) == 0 {
		return
	}

	var parts []string
	for i, w := range f.When {
		if i == windowsMax && !p.verbose && len(f.When) > windowsMax+1 {
			parts = append(parts, fmt.Sprintf("and %d more", len(f.When)-i))
			p.shortened = true
			break
		}
		parts = append(parts, w.Text)
	}

	text := strings.Join(parts, ", ")
	if f.Period != "" {
		text += "; " + f.Period
	}

	p.labelled(findingIndent, bodyColumn, "when", text, plain)
}

// observations writes the numbers in a separate column before the text.
func (p *page) observations(f document.Finding) {
	wide := valueColumns
	for _, o := range f.Observations {
		wide = max(wide, columns(p.clean(o.Value)))
	}

	for i, observation := range f.Observations {
		label := ""
		if i == 0 {
			label = "evidence"
		}

		// As above, only two or more are summarised.
		if i == observationsMax && !p.verbose && len(f.Observations) > observationsMax+1 {
			p.labelled(findingIndent, bodyColumn, label, fmt.Sprintf("and %d more", len(f.Observations)-i), dim)
			p.shortened = true
			return
		}

		text := observation.Text
		if observation.When.Text != "" && !observation.Whole {
			text += " (" + observation.When.Text + ")"
		}

		if p.verbose && observation.Metric != "" {
			text += " [" + observation.Metric + "]"
		}

		// Evidence without a number uses the column of numbers too.
		if observation.Value == "" {
			p.labelled(findingIndent, bodyColumn, label, text, plain)
			continue
		}

		// Values are right-aligned to the longest one, but a long one must leave room for the
		// text.
		value := right(p.fit(observation.Value, p.width/3), min(wide, p.width/3))
		column := bodyColumn + columns(value) + 2
		pad := strings.Repeat(" ", max(1, bodyColumn-findingIndent-len(label)))
		first := strings.Repeat(" ", findingIndent) + p.paint(label, dim) + pad + p.paint(value, bold) + "  "
		p.para(first, strings.Repeat(" ", column), text, plain)
	}
}

func (p *page) fixes(f document.Finding) {
	for i, x := range f.Fixes {
		label := "fix"
		if len(f.Fixes) > 1 {
			label = fmt.Sprintf("fix %d", i+1)
		}
		p.labelled(findingIndent, bodyColumn, label, x.Summary, green)
		if x.Expect != "" {
			p.labelled(findingIndent+2, bodyColumn+2, "expect", x.Expect, plain)
		}
		if x.Cost != "" {
			p.labelled(findingIndent+2, bodyColumn+2, "costs", x.Cost, plain)
		}
	}
}

// gaps writes which rules could not be judged, grouped by what to record. If brief, it only counts
// them.
func (p *page) gaps(all []document.Gap, brief bool) {
	if brief && !p.verbose && len(all) > 1 {
		rules := 0
		for _, gap := range all {
			rules += len(gap.Rules)
		}
		p.shortened = true
		p.para(indent3, indent3, fmt.Sprintf("%d rules: -v lists them, with what to record next time",
			rules), plain)
		return
	}
	for i, gap := range all {
		if i > 0 && p.verbose {
			p.blank()
		}

		var ids []string
		for _, m := range gap.Rules {
			ids = append(ids, m.Rule)
		}

		p.para(indent3, indent3, strings.Join(ids, ", "), plain)
		p.labelled(5, bodyColumn, "record", gap.Advice, dim)
		if !p.verbose {
			p.shortened = true
			continue
		}

		for _, m := range gap.Rules {
			p.labelled(5, bodyColumn, "metrics", m.Rule+": "+strings.Join(m.Missing, "; "), dim)
		}
	}
}
