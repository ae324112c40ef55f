package judge

import (
	"regexp"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// walWaits are the waits of a commit for its WAL: the fsync and the write, the lock of the one session
// that does either for all, and a new segment that is filled with zeros.
var walWaits = regexp.MustCompile(`^(IO WAL(Sync|Write|InitSync|InitWrite)(MethodAssign)?|LWLock WALWrite(Lock)?)$`)

// walIO is the disk's part of them, and walQueue the queue behind the one session that writes.
var (
	walIO    = regexp.MustCompile(`^IO WAL(Sync|Write|InitSync|InitWrite)(MethodAssign)?$`)
	walQueue = regexp.MustCompile(`^LWLock WALWrite(Lock)?$`)
)

const (
	// slowSyncS is the mean duration from which a WAL fsync is slow: commits that share it stall.
	slowSyncS = rules.StallFloorS
	// slowSyncFactor is how many times as long as otherwise it must take.
	slowSyncFactor = 3
)

func walFlush() rules.Rule {
	r := rules.Rule{ID: "postgres/wal-flush", Title: "The WAL's flush is slow", Kind: rules.Cause, Storage: true,
		When:  "plimsoll:postgres_wal_sync:ratio / plimsoll:postgres_wal_syncs:rate > 0.02",
		Needs: []*rules.Signal{}, AnyOf: []*rules.Signal{WALSyncTime, WaitEvents},
		Cause: "A commit waits until its WAL is on disk: one session writes and syncs for all that wait, and the others queue behind it for the lock WALWrite. The time is the volume's, the file system's and that of whatever is in the device's queue before it.",
		Words: rules.Words{
			"sync":   "A WAL fsync took {{.in}} on average while commits stalled{{with .out}}, and {{.}} otherwise{{end}}.",
			"waits":  "{{.share}} of the sessions executing then waited for the WAL to be written and synced (otherwise {{.calm}}).",
			"queued": "A device's queue was full in {{.queued}} of that time.",
		},
		Advice: map[string]rules.Advice{
			"apart": {Summary: "Put pg_wal on a separate volume with a low latency of single writes",
				Expect: "a sync no longer waits behind data files' writes", TradeOff: "one more volume",
				Do: []*rules.Remedy{rules.LogApart}},
			"fewer": {Summary: "Commit more rows per transaction, or set synchronous_commit = off for those that may be lost in a crash",
				Expect:    "fewer syncs; none that a client waits for",
				TradeOff:  "with off, up to three times wal_writer_delay of commits is lost in a crash, without corruption",
				NoCommand: "it is a change of the application"}}}

	r.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		if !c.Stall.IsDatabase || !c.Stall.Any() {
			return nil
		}

		f := r.Finding("postgres")
		in, out := meanSync(c, c.Stall.Cells), meanSync(c, c.NotStalled().Without(c.Stall.Cells.Widen(1, 1)))
		slow := in >= slowSyncS && !(out > in/slowSyncFactor)
		share, calm, known := sessionShare(c, walWaits)

		// Where wait events are known they decide. Otherwise the sync's own time does: the time that
		// a sync was in progress while commits stalled.
		switch {
		case known && share-calm >= leastWaitShare:
			f.Weight = share - calm
		case known || !slow:
			return nil
		default:
			f.Weight = min(1, timeline.Mean(timeline.At(c.Credited(c.One(WALSyncTime)), c.Stall.Cells)))
		}

		if !(f.Weight >= rules.MinAttributable) {
			return nil
		}

		f.Severity, f.Effect = c.SeverityOf(f.Weight), true
		f.Windows = c.Windows(c.Stall.Cells)
		if slow {
			f.Say("sync", rules.Values{"in": rules.Seconds(in), "out": rules.Seconds(out)})
			f.Evidence = append(f.Evidence,
				c.Figure("mean duration of a WAL fsync while stalled", WALSyncTime, in, "seconds", c.Stall.Cells),
				c.Figure("mean duration of a WAL fsync otherwise", WALSyncTime, out, "seconds", c.NotStalled()))
		}

		if known {
			f.Say("waits", rules.Values{"share": rules.Part(share), "calm": rules.Part(calm)})
			f.Evidence = append(f.Evidence,
				c.Figure("of the sessions executing while stalled, those that waited for the WAL", Waiting, share,
					"ratio", c.Stall.Cells))
		}

		if queued, ok := c.QueuedShare(c.Stall.Cells); ok {
			f.Say("queued", rules.Values{"queued": rules.Part(queued)})
		}

		f.Advise("apart", nil)
		f.Advise("fewer", nil)
		return []rules.Finding{f}
	}

	return r
}

// sessionShare is the share of the executing sessions in some waits while stalled, and otherwise: of as
// many as stall.
func sessionShare(c *rules.Case, waits *regexp.Regexp) (share, calm float64, known bool) {
	of := func(w waiters) (s float64) {
		for _, k := range w.kinds {
			if waits.MatchString(k.name) {
				s += k.share
			}
		}
		return s
	}

	in, out := waitsIn(c, c.Stall.Cells), waitsIn(c, c.NotStalled())
	share = of(in)
	if in.of > 0 && out.of > 0 {
		perCell := in.of / float64(c.Stall.Cells.Count())
		calm = min(share, of(out)*out.of/float64(c.NotStalled().Count())/perCell)
	}

	return share, calm, in.known
}
