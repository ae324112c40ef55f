package diagnosis

import (
	"math"
	"slices"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/document"
)

// percentiles makes a chart one of percentiles: on a logarithmic axis, with what its points stand
// on.
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

	c.About = "of " + units.Seconds(c.StepS) + " each"
	if len(known) > 0 {
		slices.Sort(known)
		c.About += ", " + document.Counted(known[len(known)/2]) + " operations at the median"
	}
}
