package advise

import (
	"plimsoll/internal/advise/starter"
	"plimsoll/internal/base/units"
)

// Start is the scenario that users who have none start from.
var Start = starter.Template{
	Settings: `database: 100GiB
buffers: 8GiB
`,
	Workload: `arrivals: {poisson: {{.Writes}}}   # references to blocks of 8 KiB
mix: {read: 50%, update: 50%}
keys: {distribution: uniform}
`,
	Writes: 2000, Document: 8 * units.KiB, P99: 5e6, Data: 500 * units.GiB,
}
