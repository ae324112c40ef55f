package report

import (
	"fmt"
	"math"
	"strings"

	"plimsoll/diagnose"
	"plimsoll/units"
)

const (
	shareColumns  = 34 // of a share's name
	barColumnsMax = 20
)

// account draws where the stalled time went.
func (p *page) account(r *diagnose.Report) {
	if len(r.Account) == 0 {
		return
	}
	aside, unit := "", "seconds"
	if of := r.Account[0].Of; of > 0 {
		if math.Abs(of-r.Stalls.Seconds) > 1e-9 {
			unit = units.OpSeconds
			aside = "of " + units.Value(of, unit) + " of waiting, summed over operations"
		} else {
			aside = "of " + units.Seconds(of)
		}
	}
	p.section("WHERE THE STALLED TIME WENT", aside)
	names := 0
	for _, s := range r.Account {
		names = max(names, columns(p.clean(s.Share)))
	}
	bars := min(barColumnsMax, p.width/4)
	names = min(names, shareColumns, p.width-bars-fixedColumns)
	overlaps := false
	for _, s := range r.Account {
		mark := " "
		if s.Overlaps {
			mark, overlaps = "*", true
		}
		part := 0.0
		if s.Of > 0 {
			part = s.Seconds / s.Of
		}
		p.line(indent3, p.pad(s.Share, names), " ", mark, " ", p.paint(p.bar(part, bars), cyan), " ",
			right(units.Percent(part), 6), "  ", right(units.Value(s.Seconds, unit), 9))
		if s.Note != "" {
			p.para("     ", "     ", s.Note, dim)
		}
	}
	if overlaps {
		p.para(indent3+"* ", indent3+"  ", "may be counted in another share too: these do not add up to the whole", dim)
	}
}

// fixedColumns is what a row takes beside its name and its bar.
const fixedColumns = len(indent3) + 3 + 2 + 5 + 2 + 9

const indent3 = "   "

// bar draws a share of the whole in so many columns, by eighths of one.
func (p *page) bar(part float64, width int) string {
	if math.IsNaN(part) {
		part = 0
	}
	part = min(1, max(0, part))
	if p.ascii {
		n := int(math.Round(part * float64(width)))
		return fmt.Sprintf("%-*s", width, strings.Repeat("#", n))
	}
	eighths := int(math.Round(part * float64(width) * 8))
	out := strings.Repeat("█", eighths/8)
	if e := eighths % 8; e > 0 {
		out += string([]rune("▏▎▍▌▋▊▉")[e-1])
	}
	return out + strings.Repeat(" ", width-columns(out))
}
