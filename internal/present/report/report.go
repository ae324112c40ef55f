// Package report writes a diagnosis for those who read it: [Text] for a person,
// [JSON] for a program.
//
// The text is made for somebody tired. What is wrong comes first, in two or three
// lines. Then what was looked at and when, drawn over time; each cause with the
// numbers it rests on, what to do, what to expect of it and what it costs; where the
// stalled time went; apart from these what it is not; and last what
// could not be judged, with how to record it the next time. Every number
// carries its unit, every window its clock time, and the zone is told once.
//
// What sources call themselves (paths, hosts, devices) is printed but never obeyed:
// control characters are shown as escapes, so that no file name can move the cursor.
//
// The JSON is a contract: fields are added, never renamed or removed. [Schema] describes it.
package report

import (
	"fmt"
	"io"
	"time"

	"plimsoll/internal/judge/diagnose"
)

// Options say how a text is set.
type Options struct {
	// Width is the number of columns; 0 means 80, and no less than 40 are used.
	Width int
	// Color adds ANSI colours (SGR sequences).
	Color bool
	// ASCII keeps to 7-bit characters, for terminals that are not UTF-8.
	ASCII bool
	// Verbose writes every finding in full, with all evidence and metric names.
	Verbose bool
	// Location is the time zone of the times printed; nil means UTC.
	Location *time.Location
}

const (
	widthDefault = 80
	widthMin     = 40
)

// Text writes a report for a person.
func Text(w io.Writer, r *diagnose.Report, opt Options) error {
	if opt.Width == 0 {
		opt.Width = widthDefault
	}
	p := &page{width: max(opt.Width, widthMin), color: opt.Color, ascii: opt.ASCII, verbose: opt.Verbose,
		span: r.Span, stalled: r.Stalls.Seconds > 0, clock: NewClock(r.Span, opt.Location)}
	p.para("", "", r.Verdict, bold)
	p.blank()
	p.header(r)
	p.tracks(r)
	p.findings(r)
	p.account(r)
	p.refutations(r)
	p.notMeasured(r)
	p.footer(r)
	if _, err := io.WriteString(w, p.out.String()); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// footer says how to go on reading.
func (p *page) footer(r *diagnose.Report) {
	if len(r.Findings) == 0 {
		return
	}
	p.blank()
	text := "More on a finding: plimsoll rules show " + r.Findings[0].Rule
	if p.shortened {
		text += ". All of it: add -v."
	}
	p.para("", "", text, dim)
}
