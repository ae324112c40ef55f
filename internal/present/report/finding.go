package report

import (
	"fmt"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
)

// What a report that is not verbose shows in full.
const (
	fullMax     = 4 // findings
	evidenceMax = 5 // numbers of one finding
	windowsMax  = 3 // windows of one finding
)

// evidenceRule is the rule about the sources themselves.
const evidenceRule = "evidence/gap"

const (
	findingIndent = 3
	bodyColumn    = 13
	valueColumns  = 9 // at least
)

// findings writes the causes, then the symptoms: the first few in full, the
// others in two lines.
func (p *page) findings(r *diagnose.Report) {
	causes, symptoms := ofKind(r.Findings, diagnose.Cause), ofKind(r.Findings, diagnose.Symptom)
	if len(causes)+len(symptoms) == 0 {
		if r.Stalls.Of > 0 {
			p.section("FINDINGS", "")
			p.para("   ", "   ", "None: no rule of those that could be judged found a cause or a symptom.", plain)
		}
		return
	}
	n := 0
	for _, part := range []struct {
		title    string
		findings []diagnose.Finding
	}{{"WHY", causes}, {"WHAT HURTS", symptoms}} {
		if len(part.findings) == 0 {
			continue
		}
		p.section(part.title, "")
		for i, f := range part.findings {
			if i > 0 {
				p.blank()
			}
			n++
			full := p.verbose || n <= fullMax && f.Severity != diagnose.Info
			if !full {
				p.shortened = true
			}
			p.finding(fmt.Sprintf("%d", n), f, full)
		}
	}
}

func ofKind(all []diagnose.Finding, k diagnose.Kind) []diagnose.Finding {
	var out []diagnose.Finding
	for _, f := range all {
		if f.Kind == k {
			out = append(out, f)
		}
	}
	return out
}

func severityStyle(s diagnose.Severity) style {
	switch s {
	case diagnose.Critical:
		return red
	case diagnose.Warning:
		return yellow
	}
	return cyan
}

func (p *page) finding(number string, f diagnose.Finding, full bool) {
	indent := strings.Repeat(" ", findingIndent)
	lead := p.pad(number, findingIndent) + p.paint(strings.ToUpper(p.clean(string(f.Severity))), severityStyle(f.Severity)) + "  "
	p.para(lead, indent, f.Title, bold)
	p.about(f)
	p.para(indent, indent, f.Summary, plain)
	if !full {
		if f.Rule == evidenceRule {
			p.evidence(f) // what is missing, and in which file, is the finding
		}
		return
	}
	if f.Cause != "" {
		p.labelled(findingIndent, bodyColumn, "cause", f.Cause, plain)
	}
	p.windows(f)
	p.evidence(f)
	p.fixes(f)
}

// about names what a finding is about and what it explains.
func (p *page) about(f diagnose.Finding) {
	parts := []string{f.Rule}
	if f.Subject != "" {
		parts = []string{f.Subject, f.Rule}
	}
	if f.Kind == diagnose.Cause && f.Weight > 0 && p.stalled {
		parts = append(parts, "in "+units.Percent(f.Weight)+" of the stall")
	}
	indent := strings.Repeat(" ", findingIndent)
	p.para(indent, indent, strings.Join(parts, ", "), dim)
}

// windows says when a finding held.
func (p *page) windows(f diagnose.Finding) {
	if len(f.Windows) == 0 {
		return
	}
	var parts []string
	for i, s := range f.Windows {
		if i == windowsMax && !p.verbose && len(f.Windows) > windowsMax+1 {
			parts = append(parts, fmt.Sprintf("and %d more", len(f.Windows)-i))
			p.shortened = true
			break
		}
		parts = append(parts, p.clock.Window(s.From, s.To))
	}
	text := strings.Join(parts, ", ")
	if f.PeriodS > 0 {
		text += "; every " + units.Seconds(f.PeriodS)
	}
	p.labelled(findingIndent, bodyColumn, "when", text, plain)
}

// evidence writes the numbers in a column of their own, before the words.
func (p *page) evidence(f diagnose.Finding) {
	wide := valueColumns
	for _, e := range f.Evidence {
		if e.Value != nil {
			wide = max(wide, columns(p.clean(Figure(e))))
		}
	}
	for i, e := range f.Evidence {
		label := ""
		if i == 0 {
			label = "evidence"
		}
		if i == evidenceMax && !p.verbose && len(f.Evidence) > evidenceMax+1 {
			p.labelled(findingIndent, bodyColumn, label, fmt.Sprintf("and %d more", len(f.Evidence)-i), dim)
			p.shortened = true
			return
		}
		text := e.Text
		if w := p.clock.Window(e.From, e.To); w != "" && !p.throughout(e) {
			text += " (" + w + ")"
		}
		if p.verbose && e.Metric != "" {
			text += " [" + e.Metric + "]"
		}
		if e.Value == nil {
			p.labelled(findingIndent, bodyColumn, label, text, plain)
			continue
		}
		value := right(p.fit(Figure(e), p.width/3), min(wide, p.width/3))
		column := bodyColumn + columns(value) + 2
		pad := strings.Repeat(" ", max(1, bodyColumn-findingIndent-len(label)))
		first := strings.Repeat(" ", findingIndent) + p.paint(label, dim) + pad + p.paint(value, bold) + "  "
		p.para(first, strings.Repeat(" ", column), text, plain)
	}
}

// throughout tells evidence of as good as the whole span: its window would be no news.
func (p *page) throughout(e diagnose.Evidence) bool {
	slack := p.span.To.Sub(p.span.From) / 50
	return e.From.Sub(p.span.From).Abs() <= slack && e.To.Sub(p.span.To).Abs() <= slack
}

// Figure prints a number of evidence with its unit; requests a second of a device are IOPS. It is empty
// where the text alone tells.
func Figure(e diagnose.Evidence) string {
	if e.Value == nil {
		return ""
	}
	if e.Unit == "1/s" && strings.Contains(e.Metric, "disk_") {
		return units.Number(*e.Value) + " IOPS"
	}
	return units.Value(*e.Value, e.Unit)
}

func (p *page) fixes(f diagnose.Finding) {
	for i, x := range f.Fixes {
		label := "fix"
		if len(f.Fixes) > 1 {
			label = fmt.Sprintf("fix %d", i+1)
		}
		p.labelled(findingIndent, bodyColumn, label, x.Summary, green)
		if x.Expect != "" {
			p.labelled(findingIndent+2, bodyColumn+2, "expect", x.Expect, plain)
		}
		if x.TradeOff != "" {
			p.labelled(findingIndent+2, bodyColumn+2, "costs", x.TradeOff, plain)
		}
	}
}

// refutations are kept apart: they say what not to do.
func (p *page) refutations(r *diagnose.Report) {
	all := ofKind(r.Findings, diagnose.Refutation)
	if len(all) == 0 {
		return
	}
	p.section("WHAT IT IS NOT", "")
	indent := strings.Repeat(" ", findingIndent)
	for i, f := range all {
		if i > 0 {
			p.blank()
		}
		p.para(p.paint("x", red)+"  ", indent, f.Title, bold)
		p.about(f)
		p.para(indent, indent, f.Summary, plain)
		if p.verbose && f.Cause != "" {
			p.labelled(findingIndent, bodyColumn, "because", f.Cause, plain)
		}
		p.evidence(f)
		p.fixes(f)
	}
}
