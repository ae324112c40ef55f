package advise

import (
	"fmt"

	"plimsoll/internal/advise/budget"
	"plimsoll/internal/advise/emit"
)

// ioBudget tells the storage engine how much it may write: io_capacity bounds what eviction,
// checkpoints and the log take together, at least 1 MB (WiredTiger's documentation of
// wiredtiger_open, io_capacity).
func ioBudget(l *emit.Layout, data budget.Budget) (files []emit.File, apply string) {
	mib := max(int64(data.BytesPerSec/(1<<20)), 1)
	text := l.Head("#", "WiredTiger's I/O budget, for mongod.conf.") + fmt.Sprintf(`
storage:
  wiredTiger:
    engineConfig:
      # What the data's volume gives for ever, in MB (2^20) a second.
      configString: "io_capacity=(total=%dMB)"
`, mib)
	return []emit.File{emit.Text("budget/mongod.conf", text)},
		"`budget/mongod.conf`: merge it into mongod.conf and restart one member after another. It paces eviction, checkpoints and the journal together; without it a checkpoint writes as fast as it can. Try it on a secondary first: a bound below what the load needs lets the cache fill."
}
