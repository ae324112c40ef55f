package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"plimsoll/internal/advise/prove"
	"plimsoll/internal/base/units"
	"plimsoll/internal/present/text"
)

// A provePage is a comparison as a page of text.
type provePage struct {
	b    strings.Builder
	r    *prove.Report
	opt  text.Options
	zone *time.Location
}

// proveText writes a comparison for a person: the verdict, whether it is one, the table, and what to do to tell more.
func proveText(w io.Writer, r *prove.Report, opt text.Options, zone *time.Location) error {
	p := &provePage{r: r, opt: opt, zone: zone}
	p.para("", p.verdict(), "1")
	for _, text := range r.Warnings {
		p.para("! ", text, "1;33")
	}
	p.line("")
	p.side("before", &r.Before)
	p.side("after", &r.After)
	for i, c := range r.Workload.Checks {
		name := ""
		if i == 0 {
			name = "workload"
		}
		p.para(fmt.Sprintf("  %-9s ", name), c.Name+" "+c.Text, "")
	}
	p.table()
	p.changes()
	p.requirements()
	p.advice()
	p.method()
	_, err := io.WriteString(w, p.b.String())
	return err
}

func (p *provePage) line(text string) { p.b.WriteString(strings.TrimRight(text, " ") + "\n") }

// paint colours text; colour never carries meaning that the words do not.
func (p *provePage) paint(text, style string) string {
	if !p.opt.Color || style == "" || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// para writes text wrapped behind a first word's width. The text may hold what sources call themselves.
func (p *provePage) para(first, text, style string) {
	rest := strings.Repeat(" ", utf8.RuneCountInString(first))
	for i, l := range wrapped(p.safe(text), p.opt.Width-len(rest)) {
		if i > 0 {
			first = rest
		}
		p.line(first + p.paint(l, style))
	}
}

func (p *provePage) safe(text string) string {
	text = printable(text)
	if !p.opt.ASCII {
		return text
	}
	var b strings.Builder
	for _, c := range text {
		if c > 126 {
			fmt.Fprintf(&b, "\\u%04x", c)
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

func (p *provePage) verdict() string {
	text := p.r.Sentence
	if c := p.r.Cost; c != nil && c.ChangeUSD != nil {
		sign := "+"
		if *c.ChangeUSD < 0 {
			sign = "-"
		}
		text += fmt.Sprintf(" %s%s a month.", sign, dollars(math.Abs(*c.ChangeUSD)))
	}
	return text
}

func (p *provePage) side(name string, s *prove.Side) {
	var from []string
	for _, src := range s.Sources {
		from = append(from, fmt.Sprintf("%s (%s)", src.Name, src.Kind))
	}
	at := func(t time.Time) string { return t.In(p.zone).Format("2006-01-02 15:04:05") }
	text := fmt.Sprintf("%s; %s to %s", strings.Join(from, ", "), at(s.Span.From), s.Span.To.In(p.zone).Format("15:04:05 MST"))
	unit := fmt.Sprintf("%s intervals of %s", whole(int64(s.Units)), units.Seconds(s.UnitSeconds))
	if s.CyclesOfOwn {
		unit = fmt.Sprintf("%s whole checkpoint cycles of %s", whole(int64(s.Units)), units.Seconds(s.UnitSeconds))
	}
	if s.LeftSeconds >= s.StepSeconds {
		unit += fmt.Sprintf("; %s outside them not used", units.Seconds(s.LeftSeconds))
	}
	p.para(fmt.Sprintf("  %-9s ", name), text+"; "+unit, "")
}

// Columns of the table; on a narrow page what changed stands on a line of its own.
const (
	proveName    = 18
	proveValue   = 10
	proveChange  = 9
	proveRange   = 20
	proveVerdict = 11 // with the gap before it
)

func (p *provePage) table() {
	p.line("")
	name, narrow := proveName, p.opt.Width < proveName+2*proveValue+proveChange+proveRange+proveVerdict
	row := func(style string, c [6]string) {
		if narrow {
			p.line(fmt.Sprintf("%-*s%*s%*s", name, c[0], proveValue, c[1], proveValue, c[2]))
			p.line("  " + p.paint(strings.TrimSpace(c[3]+"  "+c[4]+"  "+c[5]), style))
			return
		}
		p.line(fmt.Sprintf("%-*s%*s%*s%*s%*s  ", name, c[0], proveValue, c[1], proveValue, c[2], proveChange, c[3], proveRange, c[4]) + p.paint(c[5], style))
	}
	row("", [6]string{"", "before", "after", "change", prove.Percent(p.r.Confidence) + " interval", "verdict"})
	if c := p.r.Cost; c != nil {
		money := func(x *float64) string {
			if x == nil {
				return "-"
			}
			return dollars(*x)
		}
		change := ""
		if c.ChangeUSD != nil {
			if change = "+" + dollars(*c.ChangeUSD); *c.ChangeUSD < 0 {
				change = "-" + dollars(-*c.ChangeUSD)
			}
		}
		row("", [6]string{"cost a month", money(c.BeforeUSD), money(c.AfterUSD), change, "", ""})
	}
	for i := range p.r.Figures {
		f := &p.r.Figures[i]
		style := map[prove.Verdict]string{prove.Better: "32", prove.Worse: "1;31"}[f.Verdict]
		row(style, [6]string{clipName(f.Title, name), f.Before.Text(f.Unit), f.After.Text(f.Unit), changeOf(f), f.Interval(), string(f.Verdict)})
	}
}

// changeOf is the change in percent or as a factor, or the difference where before was nothing.
func changeOf(f *prove.Figure) string {
	switch {
	case f.Difference.Value == nil, *f.Difference.Value == 0:
		return ""
	case f.Ratio.Value == nil:
		return prove.Signed(f.Difference.Value, f.Unit)
	}
	return prove.Change(f.Ratio.Value)
}

func (p *provePage) requirements() {
	if len(p.r.Requirements) == 0 {
		return
	}
	p.line("")
	for i := range p.r.Requirements {
		q := &p.r.Requirements[i]
		text := strings.ToUpper(string(q.Outcome))
		style := "1;31"
		if q.Outcome == prove.Met {
			text, style = string(q.Outcome), "32"
		}
		if q.After.Value != nil {
			text += fmt.Sprintf(": %s", q.After.Text(q.Unit))
		}
		if q.After.Low != nil && q.After.High != nil {
			text += fmt.Sprintf(", between %s and %s", prove.Estimate{Value: q.After.Low}.Text(q.Unit), prove.Estimate{Value: q.After.High}.Text(q.Unit))
		}
		if q.Record != nil {
			text += fmt.Sprintf("; record %s to tell", units.Seconds(q.Record.Seconds))
		}
		p.para("REQUIRED "+p.safe(q.Text)+": ", text, style)
	}
}

// advice says how long to record for the figures that cannot be told, the shortest first.
func (p *provePage) advice() {
	first := true
	for i := range p.r.Figures {
		f := &p.r.Figures[i]
		if f.Record == nil {
			continue
		}
		if first {
			p.line("")
			p.line("TO TELL, RECORD BOTH FOR")
			first = false
		}
		p.line(fmt.Sprintf("  %-18s%11s  %s", f.Title, units.Seconds(f.Record.Seconds), p.paint("for "+f.Record.For, "2")))
	}
}

// method says what the verdicts rest on.
func (p *provePage) method() {
	r := p.r
	p.line("")
	of := "intervals, in runs as long as they depend on each other"
	if r.Method.Units == "checkpoint cycles" {
		of = "whole checkpoint cycles"
	}
	p.para("", fmt.Sprintf("Intervals: a block bootstrap of %s; %s of a figure alone. Verdicts: a permutation test, Holm's correction over %d figures: "+
		"the chance of any false better or worse here is %s at most. No change: within %s. It assumes that %s; and that %s. Seed %d.",
		of, prove.Percent(r.Confidence), r.Method.Family, prove.Percent(1-r.Confidence), prove.Percent(r.Method.Margin),
		r.Method.Assumptions[0], r.Method.Assumptions[1], r.Seed), "2")
	percentiles := map[string]bool{}
	for i := range r.Figures {
		f := &r.Figures[i]
		if strings.HasSuffix(f.Name, "_p50") || strings.HasSuffix(f.Name, "_p99") {
			if text := f.Basis; !percentiles[text] {
				percentiles[text] = true
				p.para("", capital(f.Title)+": "+text+"."+classesOf(f, p.r.Method.Margin), "2")
			}
		}
	}
	if n := len(r.OnlyBefore); n > 0 {
		p.para("", "Told only before: "+strings.Join(r.OnlyBefore, ", ")+".", "2")
	}
	if n := len(r.OnlyAfter); n > 0 {
		p.para("", "Told only after: "+strings.Join(r.OnlyAfter, ", ")+".", "2")
	}
}

// classesOf says how fine a histogram is.
func classesOf(f *prove.Figure, margin float64) string {
	if f.Resolution == 0 {
		return ""
	}
	return fmt.Sprintf(" Its classes are %.0f %% wide there, which the intervals hold; no change is one within %s beside that.", 100*f.Resolution, prove.Percent(margin))
}

func capital(s string) string {
	if s == "" || strings.HasPrefix(s, "etcd") {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
