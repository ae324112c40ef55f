package workload

import (
	"fmt"
	"math"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/units"
)

// Bounds of a specification.
const (
	connectionsMax            = 1_000_000
	clientsMax                = 100_000
	stepsMax                  = 10_000
	quantilesMax              = 1_000
	sensorsMax                = 1_000_000  // 16 B of memory each
	growingMax                = 16_000_000 // documents whose growth is remembered, 2 B each
	durationMax               = 31 * 24 * 60 * minute
	documentMax    units.Size = units.GiB
	bsonMax        units.Size = 16 * units.MiB
	stepMin                   = units.Duration(1e6)
	periodMin                 = minute
	sharesTolerant            = 1e-4 // by how much shares may miss 100 %, for three times 33.33 %
)

// Sources of the bounds.
const (
	// PostgreSQL 15 documentation, appendix K: 1 GB a field, the largest of the engines'.
	sourceField = "1 GB a field, the largest of the engines'"
	// MongoDB manual, limits and thresholds, 2026: BSON document size.
	sourceBSON    = "limits and thresholds, 2026: BSON document size"
	sourceProgram = "this program's own bound"
)

// A checker collects the problems of a specification with its defaults filled in.
type checker struct {
	*Spec
	problems *inputerror.List
}

func (c *checker) add(p inputerror.Problem) { *c.problems = append(*c.problems, p) }

// parts checks that the required parts are there.
func (c *checker) parts() {
	if c.Arrivals == nil {
		c.problems.Addf(
			"arrivals", "missing: set when operations arrive, for example {poisson: 2000/s}, or name a preset")
	}

	if c.Mix == nil {
		c.problems.Addf("mix", "missing: set what operations do, for example {insert: 100%%}, or name a preset")
	}

	if c.Document == nil && c.Buckets == nil {
		c.problems.Addf(
			"document", "missing: set how large documents are, for example {size: 1kB}, or name a preset")
	}

	c.between("connections", c.Connections, connectionsMax)
	if d := c.Duration; d < 0 || d > durationMax {
		c.add(inputerror.Problem{Field: "duration", Text: d.String() + " is longer than a month", Limit: "31 days",
			Source: sourceProgram, Nearest: "31d"})
	}
}

func (c *checker) between(field string, n, most int) {
	if n >= 1 && n <= most {
		return
	}
	near := 1
	if n > most {
		near = most
	}
	c.add(inputerror.Problem{Field: field, Text: fmt.Sprintf("%d out of range: want 1 to %d", n, most),
		Source: sourceProgram, Nearest: fmt.Sprint(near)})
}

// rate checks a rate; a pause is a rate of 0.
func (c *checker) rate(field string, f units.Frequency, pause bool) {
	switch {
	case f == 0 && pause:
	case !(f >= RateMin):
		text := fmt.Sprintf("%s is too rare to occur in a run", f)
		if f == 0 {
			text = "a rate of 0 makes no requests"
		}
		c.add(inputerror.Problem{Field: field, Text: text, Limit: "at least 1/d", Source: sourceProgram,
			Nearest: "1/d"})
	case f > RateMax:
		c.add(inputerror.Problem{Field: field, Text: f.String() + " is more than a single server can serve",
			Limit: "at most 10,000,000/s", Source: sourceProgram, Nearest: "10000000/s"})
	}
}

func (c *checker) arrivals() {
	chosen := c.Arrivals
	if chosen == nil {
		return
	}

	kinds := 0
	for _, given := range []bool{chosen.Poisson != nil, chosen.Constant != nil, len(chosen.Steps) > 0,
		chosen.Ramp != nil,
		chosen.Daily != nil, chosen.Recorded != "", chosen.Clients != 0} {
		if given {
			kinds++
		}
	}

	if kinds != 1 {
		c.problems.Addf(
			"arrivals", "%d kinds of arrivals: set only one of poisson, constant, steps, ramp, daily, recorded and clients",
			kinds)
		return
	}

	switch chosen.Spacing {
	case "", poissonSpacing, constantSpacing:
	default:
		c.add(inputerror.Problem{
			Field: "arrivals.spacing", Text: chosen.Spacing + " is neither poisson nor constant",
			Nearest: inputerror.Nearest(chosen.Spacing, []string{poissonSpacing, constantSpacing}),
		})
	}

	switch {
	case chosen.Poisson != nil:
		c.rate("arrivals.poisson", *chosen.Poisson, false)
	case chosen.Constant != nil:
		c.rate("arrivals.constant", *chosen.Constant, false)
	case chosen.Ramp != nil:
		c.rate("arrivals.ramp.from", chosen.Ramp.From, true)
		c.rate("arrivals.ramp.to", chosen.Ramp.To, true)
		c.length("arrivals.ramp.over", chosen.Ramp.Over, second)
		if chosen.Ramp.From == 0 && chosen.Ramp.To == 0 {
			c.problems.Addf("arrivals.ramp", "a ramp from 0 to 0 makes no requests")
		}
	case chosen.Daily != nil:
		c.rate("arrivals.daily.low", chosen.Daily.Low, true)
		c.rate("arrivals.daily.high", chosen.Daily.High, false)
		c.length("arrivals.daily.period", chosen.Daily.Period, periodMin)
		if chosen.Daily.Low > chosen.Daily.High {
			c.problems.Addf("arrivals.daily.low", "%s is more than high, %s", chosen.Daily.Low, chosen.Daily.High)
		}
	}

	c.steps(chosen)
	c.closed(chosen)
}

func (c *checker) length(field string, d, least units.Duration) {
	switch {
	case d < least:
		c.add(inputerror.Problem{Field: field, Text: d.String() + " is too short",
			Limit: "at least " + least.String(), Source: sourceProgram, Nearest: least.Std().String()})
	case d > durationMax:
		c.add(inputerror.Problem{Field: field, Text: d.String() + " is longer than a month", Limit: "31 days",
			Source: sourceProgram, Nearest: "31d"})
	}
}

func (c *checker) steps(a *Arrivals) {
	if len(a.Steps) > stepsMax {
		c.add(inputerror.Problem{Field: "arrivals.steps",
			Text: fmt.Sprintf("%d steps: give a recorded rate as a file", len(a.Steps)), Limit: fmt.Sprint(stepsMax),
			Source: sourceProgram})
		return
	}

	clients, pauses := 0, 0
	for i, s := range a.Steps {
		field := fmt.Sprintf("arrivals.steps[%d]", i)
		c.length(field+".for", s.For, stepMin)

		switch {
		case s.Rate != nil && s.Clients != 0, s.Rate == nil && s.Clients == 0:
			c.problems.Addf(field, "a step is either a rate or a number of clients")
		case s.Rate != nil:
			c.rate(field+".rate", *s.Rate, true)
			if *s.Rate == 0 {
				pauses++
			}
		default:
			clients++
			c.between(field+".clients", s.Clients, clientsMax)
		}
	}

	switch {
	case clients > 0 && clients < len(a.Steps):
		c.problems.Addf(
			"arrivals.steps", "mixes rates (an open loop) and numbers of clients (a closed loop): use only one of them")
	case len(a.Steps) > 0 && pauses == len(a.Steps):
		c.problems.Addf("arrivals.steps", "all steps are pauses")
	case len(a.Steps) > 0 && c.stepsLast() > durationMax:
		c.problems.Addf("arrivals.steps", "the steps last longer than 31 days in total")
	}
}

// closed checks what only a closed loop has.
func (c *checker) closed(a *Arrivals) {
	if a.Clients != 0 {
		c.between("arrivals.clients", a.Clients, clientsMax)
	}

	closed := a.Clients != 0 || (len(a.Steps) > 0 && a.Steps[0].Rate == nil)
	if a.Rate != nil && closed {
		c.rate("arrivals.rate", *a.Rate, false)
	}

	if a.Rate != nil && !closed {
		c.problems.Addf(
			"arrivals.rate", "limits the rate of a closed loop and needs clients; an open loop has poisson or constant")
	}

	if a.Think != 0 && !closed {
		c.problems.Addf("arrivals.think", "is the pause of a closed loop and needs clients; no client waits in an open loop")
	}

	if a.Think < 0 || a.Think > durationMax {
		c.length("arrivals.think", a.Think, 0)
	}
}

func (c *checker) mix() {
	if c.Mix == nil {
		return
	}

	var sum float64
	for k, share := range c.Mix.shares() {
		if !(share >= 0 && share <= 1) {
			c.add(inputerror.Problem{Field: "mix." + Kind(k).String(), Text: share.String() + " is not a share",
				Limit: "0 % ... 100 %", Nearest: "100%"})
			return
		}
		sum += float64(share)
	}

	if math.Abs(sum-1) > sharesTolerant {
		c.add(inputerror.Problem{Field: "mix", Text: "shares sum to " + units.Percent(sum) + ", not 100 %"})
	}

	if n := c.Mix.ScanDocuments; n > 1_000_000 {
		c.add(inputerror.Problem{Field: "mix.scan_documents", Text: n.String() + " documents are too many for a short scan",
			Limit: "1M", Source: sourceProgram, Nearest: "1M"})
	}
}
