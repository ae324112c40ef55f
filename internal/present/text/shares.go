package text

import (
	"fmt"
	"math"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/present/document"
)

const (
	shareColumns  = 34 // width of a share's name
	barColumnsMax = 20
)

// shares draws the parts of a whole.
func (p *page) shares(s *document.Shares) {
	names := 0
	for _, x := range s.Rows {
		names = max(names, columns(p.clean(x.Name)))
	}

	bars := min(barColumnsMax, p.width/4)
	// The name is shortened to leave room for the bar and the figures.
	names = min(names, shareColumns, p.width-bars-fixedColumns)

	overlaps := false
	for _, x := range s.Rows {
		if x.Minor && !p.verbose {
			continue
		}

		mark := " "
		if x.Overlaps {
			mark, overlaps = "*", true
		}

		p.line(indent3, p.pad(x.Name, names), " ", mark, " ", p.paint(p.bar(x.Part, bars), cyan), " ",
			right(p.fit(units.Percent(x.Part), 6), 6), "  ", right(p.fit(x.Amount, 10), 10))
		if x.Note != "" {
			p.para("     ", "     ", x.Note, dim)
		}
	}

	if minor := s.Minor(); len(minor) > 0 && !p.verbose {
		p.shortened = true
		p.para(indent3, indent3, "under "+s.Under+" each: "+strings.Join(minor, ", "), dim)
	}

	if overlaps {
		p.para(indent3+"* ", indent3+"  ", document.Overlap, dim)
	}
}

// fixedColumns is the width of a row without its name and its bar.
const fixedColumns = len(indent3) + 3 + 1 + 6 + 2 + 10

const indent3 = "   "

// bar draws a share of the whole in the given number of columns, in eighths of a column.
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
