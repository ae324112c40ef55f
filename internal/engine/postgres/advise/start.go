package advise

import (
	"plimsoll/internal/advise/starter"
	"plimsoll/internal/base/units"
)

// Start is the first scenario of a user who has none.
var Start = starter.Template{
	Settings: `shared_buffers: 4GiB
max_wal_size: 8GiB
checkpoint_timeout: 5min
checkpoint_completion_target: 0.9
`,
	Workload: `arrivals: {poisson: {{.Writes}}}   # transactions of one update each
mix: {update: 100%}
keys: {count: 10M}   # rows
document: {size: {{.Document}}}   # a row without its header
connections: 64
`,
	Run:    "{duration: 11min, warmup: 5min}",
	Writes: 1000, Document: 200, P99: 25e6, Data: 200 * units.GiB,
}
