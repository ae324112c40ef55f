package brief

import (
	"math"
	"strings"

	"plimsoll/internal/present/document"
)

// timeline has the first series, the clients' latency, and below it the one that goes with the cause.
func (s *screen) timeline(section document.Section) document.Section {
	all := section.Parts[0].Timeline
	// A copy: the full document has all charts.
	t := *all
	t.Charts = nil
	if !s.axis {
		t.From, t.To = "", ""
	}
	if len(all.Charts) > 0 {
		t.Charts = append(t.Charts, all.Charts[0])
	}

	causes := s.all(document.Cause)
	if len(causes) > 0 && len(all.Charts) > 1 {
		if c := companion(all, &causes[0]); c != nil {
			t.Charts = append(t.Charts, *c)
		}
	}

	section.Parts = []document.Part{{Timeline: &t}}
	return section
}

// contrastLeast is the least difference of a series between the times in which a cause held and the
// others, as a share of its highest value, for the series to show that cause.
const contrastLeast = 0.2

// companion is the chart that differs most between the times in which a cause held and the others;
// nil if none does. A chart that names the cause's subject is preferred.
func companion(t *document.Timeline, cause *document.Finding) *document.Chart {
	var best *document.Chart
	most := contrastLeast
	for i := range t.Charts[1:] {
		c := &t.Charts[i+1]
		x := contrast(c, cause.When)
		if x < contrastLeast {
			continue
		}
		// A contrast of values that are not negative is at most 1, so any chart of the subject wins.
		if cause.Subject != "" && strings.Contains(c.Title, cause.Subject) {
			x++
		}
		if x > most {
			best, most = c, x
		}
	}

	return best
}

// contrast is the difference of the means inside and outside of the windows, as a share of the
// highest value; 0 if one of them is unknown.
func contrast(c *document.Chart, when []document.Cell) float64 {
	// With several series it is not clear which one the cause is about.
	if len(c.Series) != 1 {
		return 0
	}

	var in, out, inside, outside, high float64
	for k, v := range c.Series[0].Values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		high = max(high, v)
		// The middle of the interval decides on which side it counts.
		at := c.FromS + (float64(k)+0.5)*c.StepS
		if within(at, when) {
			in, inside = in+v, inside+1
		} else {
			out, outside = out+v, outside+1
		}
	}

	if inside == 0 || outside == 0 || high <= 0 {
		return 0
	}
	return (in/inside - out/outside) / high
}

func within(at float64, when []document.Cell) bool {
	for _, w := range when {
		if w.Zoom != nil && at >= w.Zoom.From && at < w.Zoom.To {
			return true
		}
	}
	return false
}
