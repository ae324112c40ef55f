package diagnosis

import (
	"math"
	"time"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/document"
)

// Long gaps are cut out of the time axis. There may be months between two runs of a server, and on
// a chart of months the recorded hour is invisible.

// seconds converts a time to a position on the charts' axis.
func (d *diagnosed) seconds(t time.Time) float64 {
	at := document.ClockSeconds(t, d.Location)
	for i := 1; i < len(d.Runs); i++ {
		from := document.ClockSeconds(d.Runs[i-1].To, d.Location)
		to := document.ClockSeconds(d.Runs[i].From, d.Location)
		switch real := document.ClockSeconds(t, d.Location); {
		case real >= to:
			at -= to - from
		// A time within a gap is placed where the gap was cut.
		case real > from:
			at -= real - from
		}
	}
	return at
}

// cuts lists the gaps that the axis leaves out.
func (d *diagnosed) cuts() (out []document.Cut) {
	for i := 1; i < len(d.Runs); i++ {
		out = append(out, document.Cut{AtS: d.seconds(d.Runs[i].From),
			SkippedS: d.Runs[i].From.Sub(d.Runs[i-1].To).Seconds()})
	}
	return out
}

// series turns a plot's tracks into a chart's series: one for each name, or one for each run.
func (d *diagnosed) series(c *document.Chart, tracks []diagnose.Track, toS float64) {
	slots := int(math.Ceil((toS-c.FromS)/c.StepS)) + 1
	at := map[string]int{}
	for _, x := range tracks {
		if x.StepS != c.StepS || !(x.StepS > 0) || len(d.Runs) == 0 && !x.From.Equal(tracks[0].From) {
			continue // from another grid, so it does not line up with this axis
		}

		i, ok := at[x.Name]
		// Without cuts, tracks of the same name are separate series: they are concurrent, not
		// one after the other.
		if !ok || len(d.Runs) == 0 {
			i = len(c.Series)
			at[x.Name] = i
			s := document.Series{Name: x.Name, Style: i%document.SeriesStyles + 1}
			if len(d.Runs) == 0 {
				slots = len(x.Values)
			}
			s.Values = make([]float64, slots)
			for k := range s.Values {
				s.Values[k] = math.NaN()
			}
			c.Series = append(c.Series, s)
		}

		first := int(math.Round((d.seconds(x.From) - c.FromS) / c.StepS))
		for k, v := range x.Values {
			if v == nil || first+k < 0 || first+k >= len(c.Series[i].Values) {
				continue
			}
			// Where one run ends and the next begins, both may have a value for a point.
			if was := &c.Series[i].Values[first+k]; math.IsNaN(*was) || *v > *was {
				*was = *v
			}
		}
	}
}

// titled merges the tracks with the same name, one for each run, in order.
func titled(all []diagnose.Track) (out []diagnose.Plot) {
	at := map[string]int{}
	for _, x := range all {
		i, ok := at[x.Name]
		if !ok {
			i = len(out)
			at[x.Name] = i
			out = append(out, diagnose.Plot{Title: x.Name, Unit: x.Unit})
		}
		out[i].Tracks = append(out[i].Tracks, x)
	}
	return out
}
