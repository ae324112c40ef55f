package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// checkpoints is where checkpoints ran. Of those that have ended PostgreSQL's own times tell, of
// the one that has not what the checkpointer waits for.
type checkpoints struct {
	finished    timeline.Mask
	write, sync []float64 // seconds credited per second
	// open is where the one ran that is not credited yet, openSync where it was in fsync.
	open, openSync timeline.Mask
}

func (p *checkpoints) all() timeline.Mask { return p.finished.Or(p.open) }

func findCheckpoints(sig *rules.Signals) (p checkpoints, ok bool) {
	p.write = sig.One(CheckpointWrite)
	p.sync = sig.One(CheckpointSync)
	if p.write == nil || p.sync == nil {
		return p, false
	}
	both := make([]float64, sig.Grid.N)
	for k := range both {
		both[k] = p.write[k] + p.sync[k]
	}
	least := sig.LeastOfCell(0.3, CheckpointWrite, CheckpointSync)
	p.finished = timeline.Where(sig.Credited(both), func(x float64) bool { return x >= least })
	p.open, p.openSync = openCheckpoint(sig, both)
	return p, true
}

// What the checkpointer waits for between checkpoints and while files are synced; both names are
// those of every version from 10 to 18 (PostgreSQL's documentation, "Wait Events"). Other waits are
// of writing, of the WAL or of its control file, and none is work on a CPU.
const (
	checkpointerIdle    = "CheckpointerMain"
	checkpointerSyncing = "DataFileSync"
)

// creditLate is how long after its end a checkpoint may not be credited yet: before 15 counters go
// through a collector that writes them twice a second, and a sample reads them before it looks at
// the checkpointer.
const creditLate = 2e9

type checkpointerState uint8

const (
	checkpointerUnknown checkpointerState = iota
	checkpointerIsIdle
	checkpointerWorks
	checkpointerSyncs
)

// openCheckpoint is where the checkpoint ran that has not been credited by the end of the
// recording, and where it was in fsync: the cells before the end in which the checkpointer worked,
// back to where it was idle or the last one was credited. Writing comes first, then all fsyncs
// (CheckPointGuts in xlog.c). Nothing is known of it where no source tells of the checkpointer.
func openCheckpoint(sig *rules.Signals, credited []float64) (open, syncing timeline.Mask) {
	open, syncing = make(timeline.Mask, sig.Grid.N), make(timeline.Mask, sig.Grid.N)
	did := checkpointer(sig)

	last, idle := len(did)-1, sig.Cells(creditLate)
	for ; last >= 0 && did[last] < checkpointerWorks; last-- {
		if did[last] == checkpointerIsIdle {
			idle--
		}
		if idle < 0 || credited[last] > 0 {
			return open, syncing
		}
	}

	first := last + 1
	for k := last; k >= 0 && did[k] != checkpointerIsIdle && !(credited[k] > 0); k-- {
		if did[k] != checkpointerUnknown { // no sample: it goes on if it did before
			first = k
		}
	}

	synced := false
	for k := first; k <= last; k++ {
		synced = synced || did[k] == checkpointerSyncs
		open[k], syncing[k] = true, synced
	}

	return open, syncing
}

// checkpointer is what the checkpointer did in each cell.
func checkpointer(sig *rules.Signals) []checkpointerState {
	did := make([]checkpointerState, sig.Grid.N)
	for _, t := range sig.Signal(Checkpointer) {
		state := checkpointerWorks
		switch t.Labels.Get("wait_event") {
		case checkpointerIdle:
			state = checkpointerIsIdle
		case checkpointerSyncing:
			state = checkpointerSyncs
		}

		for k, n := range t.Values {
			if n > 0 && !math.IsNaN(n) {
				did[k] = max(did[k], state)
			}
		}
	}

	return did
}

// checkpointCount is how many checkpoints there were, at least one: by PostgreSQL's own count
// where it tells (two that follow each other at once look like one), else by their runs.
func checkpointCount(sig *rules.Signals, cells timeline.Mask) float64 {
	step := sig.Grid.StepSeconds()
	counted := (timeline.Sum(sig.One(CheckpointsRequested)) + timeline.Sum(sig.One(CheckpointsTimed))) * step
	return max(1, math.Round(counted), float64(len(cells.Close(sig.Cells(3e9)).Episodes())))
}
