package report

import (
	"fmt"
	"math"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
)

const (
	shareColumns  = 34 // of a share's name
	barColumnsMax = 20
	smallShare    = 0.01 // of the whole: told by name alone
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
	var small []string
	for _, s := range r.Account {
		if !p.verbose && s.Of > 0 && s.Seconds < smallShare*s.Of && s.Share != "unexplained" {
			small = append(small, s.Share)
			continue
		}
		mark := " "
		if s.Overlaps {
			mark, overlaps = "*", true
		}
		part := 0.0
		if s.Of > 0 {
			part = s.Seconds / s.Of
		}
		p.line(indent3, p.pad(s.Share, names), " ", mark, " ", p.paint(p.bar(part, bars), cyan), " ",
			right(p.fit(units.Percent(part), 6), 6), "  ", right(p.fit(units.Value(s.Seconds, unit), 10), 10))
		if s.Note != "" {
			p.para("     ", "     ", s.Note, dim)
		}
	}
	if len(small) > 0 {
		p.shortened = true
		p.para(indent3, indent3, "under "+units.Percent(smallShare)+" each: "+strings.Join(small, ", "), dim)
	}
	if overlaps {
		p.para(indent3+"* ", indent3+"  ", "may be counted in another share too: these do not add up to the whole", dim)
	}
}

// fixedColumns is what a row takes beside its name and its bar.
const fixedColumns = len(indent3) + 3 + 1 + 6 + 2 + 10

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
