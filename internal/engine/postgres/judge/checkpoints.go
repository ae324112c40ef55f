package judge

import (
	"math"
	"slices"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// checkpoints holds the cells in which checkpoints ran: completed ones by PostgreSQL's own times,
// an unfinished one by what the checkpointer waits for.
type checkpoints struct {
	finished          timeline.Mask
	write, sync, both []float64 // seconds credited per second
	// open are the cells of the checkpoint that is not credited yet, openSync those in which it was
	// in fsync.
	open, openSync timeline.Mask
}

func (p *checkpoints) all() timeline.Mask { return p.finished.Or(p.open) }

// CheckpointTime adds the times that checkpoints wrote and were in fsync; one that is not measured counts as
// nothing.
func CheckpointTime(write, sync []float64) []float64 {
	if write == nil {
		return sync
	}
	both := slices.Clone(write)
	for k := range sync {
		both[k] += sync[k]
	}
	return both
}

func findCheckpoints(sig *rules.Signals) (p checkpoints, ok bool) {
	p.write = sig.One(CheckpointWrite)
	p.sync = sig.One(CheckpointSync)
	if p.write == nil || p.sync == nil {
		return p, false
	}
	p.both = CheckpointTime(p.write, p.sync)
	least := sig.LeastOfCell(0.3, CheckpointWrite, CheckpointSync)
	p.finished = timeline.Where(sig.Credited(p.both), func(x float64) bool { return x >= least })
	p.open, p.openSync = openCheckpoint(sig, p.both)
	return p, true
}

// The checkpointer's wait events between checkpoints and while it syncs files. Both names are the
// same in versions 10 to 18 (PostgreSQL's documentation, "Wait Events"). Any other wait event means
// writing, the WAL or the control file; no wait event means work on a CPU.
const (
	checkpointerIdle    = "CheckpointerMain"
	checkpointerSyncing = "DataFileSync"
)

// creditLate, in nanoseconds, is how long after its end a checkpoint may still be missing from the
// counters: before 15 they pass through a collector that writes them twice a second, and a sample
// reads them before it reads the checkpointer's state.
const creditLate = 2e9

type checkpointerState uint8

const (
	checkpointerUnknown checkpointerState = iota
	checkpointerIsIdle
	checkpointerWorks
	checkpointerSyncs
)

// openCheckpoint returns the cells of the checkpoint that is not credited by the end of the
// recording, and those in which it was in fsync. It goes back from the end to the cell in which the
// checkpointer was idle or the previous checkpoint was credited. A checkpoint writes first, then
// does all fsyncs (CheckPointGuts in xlog.c). Both masks are empty if no source reports the
// checkpointer.
func openCheckpoint(sig *rules.Signals, credited []float64) (open, syncing timeline.Mask) {
	open, syncing = make(timeline.Mask, sig.Grid.N), make(timeline.Mask, sig.Grid.N)
	did := checkpointer(sig)

	// Idle cells at the end are tolerated for as long as the credit may be late.
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
		if did[k] != checkpointerUnknown { // a cell without a sample counts only if the checkpoint ran before it
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

// checkpointer returns the checkpointer's phase in each cell. If several samples fall into one, the
// later phase wins.
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

// checkpointCount returns how many checkpoints ran, at least one. PostgreSQL's own count is better
// than the number of runs, because two checkpoints back to back look like one run.
func checkpointCount(sig *rules.Signals, cells timeline.Mask) float64 {
	step := sig.Grid.StepSeconds()
	counted := (timeline.Sum(sig.One(CheckpointsRequested)) + timeline.Sum(sig.One(CheckpointsTimed))) * step
	return max(1, math.Round(counted), float64(len(cells.Close(sig.Cells(3e9)).Episodes())))
}
