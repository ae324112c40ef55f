package advise

import (
	"plimsoll/internal/advise/starter"
	"plimsoll/internal/base/units"
)

// Start is the first scenario of a user who has none.
var Start = starter.Template{
	Settings: `# storage.wiredTiger.engineConfig.cacheSizeGB: 7.5   # the default: half of memory less 1 GiB
checkpoint: 60s   # storage.syncPeriodSecs
`,
	Workload: `arrivals: {poisson: {{.Writes}}}
mix: {insert: 50%, update: 50%}   # or with read: 50%
document: {size: {{.Document}}}
working_set: 20GB   # the documents that are in use
`,
	Writes: 1000, Document: 2 * units.KB, P99: 25e6, Data: 500 * units.GiB,
}
