package html

import (
	"math"
	"slices"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
)

// percentiles makes a chart one of percentiles: on a logarithmic axis, with what its points stand on.
func (c *chart) percentiles(p diagnose.Plot) {
	c.Log = true
	var known []float64
	if p.Operations != nil && p.Operations.StepS == c.StepS {
		c.Counts = make(points, len(p.Operations.Values))
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
		c.About += ", " + counted(known[len(known)/2]) + " operations at the median"
	}
}
