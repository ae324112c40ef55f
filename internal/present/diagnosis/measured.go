package diagnosis

import (
	"fmt"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/document"
)

// measured reports a trace's measurements in the stalled time.
func (d *diagnosed) measured() document.Section {
	m := d.Measured
	if m == nil {
		return document.Section{}
	}

	shares := &document.Shares{Caption: "Traced waits", Under: units.Percent(smallShare)}
	for _, w := range m.Waits {
		shares.Rows = append(shares.Rows, document.SharePart{Name: w.Text, Part: w.Share,
			Amount: units.Seconds(w.Seconds), Minor: w.Share < smallShare})
	}

	var stages []string
	for _, s := range m.Stages {
		if s.Share >= smallShare {
			stages = append(stages, units.Percent(s.Share)+" "+strings.ReplaceAll(s.Stage, "_", " "))
		}
	}

	return document.Section{ID: "measured", Title: "Traced waits",
		Aside: measuredOf(m, d.Stalls.Seconds),
		Parts: []document.Part{{Shares: shares},
			{Text: "The same time by stage: " + strings.Join(stages, ", ") + "."}}}
}

// measuredOf says which calls were measured, and for how long.
func measuredOf(m *diagnose.Measured, stalledS float64) string {
	return fmt.Sprintf("%s waited by calls of %s that took over %s; a trace ran for %s of the %s stalled",
		units.Seconds(m.WaitedS), m.Who(),
		units.Seconds(m.SlowerS), units.Seconds(m.StalledS), units.Seconds(stalledS))
}
