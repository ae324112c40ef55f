package advise

import (
	"plimsoll/internal/advise/starter"
	"plimsoll/internal/base/units"
)

// Start is the first scenario of a user who has none.
var Start = starter.Template{
	Settings: `members: 3
rtt: 500us   # between members: 0.1 to 0.5 ms in a zone, up to 2 ms between zones
`,
	Workload: `arrivals: {poisson: {{.Writes}}}   # puts
mix: {insert: 100%}
document: {size: {{.Document}}}   # a key with its value
`,
	Writes: 200, Document: units.KiB, P99: 10e6, Data: 50 * units.GiB,
}
