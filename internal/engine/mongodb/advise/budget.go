package advise

import (
	"fmt"

	"plimsoll/internal/advise/budget"
	"plimsoll/internal/advise/emit"
	wiredtiger "plimsoll/internal/engine/mongodb/model"
	"plimsoll/internal/model/scenario"
)

// ioBudget writes how much the storage engine may read and write. io_capacity bounds eviction,
// checkpoints, the log and reads of the files together, at least 1 MB (WiredTiger's documentation
// of wiredtiger_open, io_capacity; reads: block_read.c). The total is split into 5 % for
// checkpoints, 50 % for eviction, 30 % for the log and 55 % for reads; what one leaves unused is
// lent to the others (capacity.h, WT 4.2 to 7.0).
//
// WiredTiger does not distinguish volumes and charges a journal on its own volume to the same total. So
// the journal's writes are added to the data volume's throughput.
func ioBudget(l *emit.Transition, data budget.Budget) *emit.Part {
	total, comment := data.BytesPerSec, "# What the data volume sustains, in MB (2^20) per second."
	for _, b := range budget.Of(l.After, 1) {
		if own := journalRate(l.After); b.Volume == "journal" && own > 0 {
			total += min(own, b.BytesPerSec)
			comment += "\n      # The journal's writes are added: they have their own volume, and WiredTiger charges them to the same total."
		}
	}

	mib := max(int64(total/(1<<20)), 1)
	text := l.Head("#", "WiredTiger's I/O budget, for mongod.conf.") + fmt.Sprintf(`
storage:
  wiredTiger:
    engineConfig:
      %s
      configString: "io_capacity=(total=%dMB)"
`, comment, mib)

	return &emit.Part{
		Files:    []emit.File{emit.Text("budget/mongod.conf", text)},
		Apply:    []string{"`budget/mongod.conf`: keep a copy of mongod.conf (`sudo cp -np /etc/mongod.conf /etc/mongod.conf.before-budget`), merge it into mongod.conf and restart one member after another. It paces eviction, checkpoints, the journal and reads of the files together (5, 50, 30 and 55 % of it; idle shares are lent); without it a checkpoint writes as fast as it can. Try it on a secondary first: a limit below what the load needs lets the cache fill and slows down reads. `db.serverCmdLineOpts().parsed.storage` shows it."},
		Back:     []string{"MongoDB: put mongod.conf.before-budget back, or remove `io_capacity` from `configString`, and restart one member after another, the primary last."},
		Restarts: []string{"each mongod, one member after another, the primary last: configString is read at startup."},
	}
}

// journalRate is the workload's writes to the journal, in bytes per second.
func journalRate(sc *scenario.Scenario) float64 {
	w, c := sc.Workloads(), scenario.ConfigOf[*wiredtiger.Config](sc)
	return float64(w.Rate()) * float64(w.Writes()) * float64(w.DocumentSize()+c.LogBytes)
}
