package diagnosis

import (
	"math"
	"slices"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/document"
)

// percentiles makes a chart one of percentiles: on a logarithmic axis, with the number of
// operations behind each point.
func percentiles(c *document.Chart, p diagnose.Plot) {
	c.Log = true
	var known []float64
	if p.Operations != nil && p.Operations.StepS == c.StepS {
		c.Counts = make([]float64, len(p.Operations.Values))
		for k, v := range p.Operations.Values {
			if c.Counts[k] = math.NaN(); v != nil {
				c.Counts[k] = math.Round(*v)
				known = append(known, *v)
			}
		}
	}

	c.About = "one point per " + units.Seconds(c.StepS)
	if len(known) > 0 {
		slices.Sort(known)
		c.About += ", median " + document.Counted(known[len(known)/2]) + " operations"
	}
}
