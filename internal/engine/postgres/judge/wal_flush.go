package judge

import (
	"regexp"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// walWaits are a commit's waits for its WAL: the fsync and the write, the lock held by the session
// that does either for all, and a new segment being filled with zeros.
var walWaits = regexp.MustCompile(`^(IO WAL(Sync|Write|InitSync|InitWrite)(MethodAssign)?|LWLock WALWrite(Lock)?)$`)

// walIO is the disk's part of walWaits, walQueue the queue behind the session that writes.
var (
	walIO    = regexp.MustCompile(`^IO WAL(Sync|Write|InitSync|InitWrite)(MethodAssign)?$`)
	walQueue = regexp.MustCompile(`^LWLock WALWrite(Lock)?$`)
)

const (
	// slowSyncS is the mean duration above which a WAL fsync is slow: the commits that share it
	// stall.
	slowSyncS = rules.StallFloorS
	// slowSyncFactor is how many times longer than at other times a sync must take.
	slowSyncFactor = 3
)

func walFlush() rules.Rule {
	rule := rules.Rule{ID: "postgres/wal-flush",
		Title: "The WAL's flush is slow", Kind: rules.Cause, Storage: true, Stalled: true,
		When:  "plimsoll:postgres_wal_sync:ratio / plimsoll:postgres_wal_syncs:rate > 0.02",
		Needs: []*rules.Signal{}, AnyOf: []*rules.Signal{WALSyncTime, WaitEvents},
		Cause: "A commit waits until its WAL is on disk: one session writes and syncs for all waiting sessions, and the others queue behind it for the lock WALWrite. The time is spent in the volume, the file system and whatever is ahead in the device's queue.",
		Words: rules.Words{
			"sync":   "A WAL fsync took {{.in}} on average while commits stalled{{with .out}}, and {{.}} otherwise{{end}}.",
			"waits":  "Meanwhile {{.share}} of the executing sessions waited for the WAL to be written and synced (otherwise {{.calm}}).",
			"queued": "A device's queue was full {{.queued}} of that time.",
		},
		Advice: map[string]rules.Advice{
			"apart": {Summary: "Put pg_wal on a separate volume with low latency for single writes",
				Expect: "a sync no longer waits behind data file writes", TradeOff: "one more volume",
				Do: []*rules.Remedy{rules.LogApart}},
			"fewer": {Summary: "Commit more rows per transaction, or set synchronous_commit = off for transactions that may be lost in a crash",
				Expect:    "fewer syncs, and with off none that a client waits for",
				TradeOff:  "with off, a crash loses the commits of up to three times wal_writer_delay, without corruption",
				NoCommand: "it is a change to the application"}}}

	rule.Judge = func(input *rules.Case, _ []timeline.Track) []rules.Finding {
		finding := rule.Finding("postgres")
		in, out := meanSync(input, input.Stall.Cells),
			meanSync(input, input.NotStalled().Without(input.Stall.Cells.Widen(1, 1)))
		slow := in >= slowSyncS && !(out > in/slowSyncFactor)
		share, calm, known := sessionShare(input, walWaits)

		// Wait events decide if they are known. Otherwise the weight is the share of the stalled
		// time in which a sync was in progress.
		switch {
		case known && share-calm >= minWaitShare:
			finding.Weight = share - calm
		case known || !slow:
			return nil
		default:
			finding.Weight = min(1, timeline.Mean(timeline.At(input.Credited(input.One(WALSyncTime)),
				input.Stall.Cells)))
		}

		if !(finding.Weight >= rules.MinAttributable) {
			return nil
		}

		finding.Severity, finding.Effect = input.SeverityOf(finding.Weight), true
		finding.Windows = input.Windows(input.Stall.Cells)
		if slow {
			finding.Say("sync", rules.Values{"in": rules.Seconds(in), "out": rules.Seconds(out)})
			finding.Evidence = append(finding.Evidence,
				input.Figure("mean duration of a WAL fsync while stalled", WALSyncTime, in, "seconds", input.Stall.Cells),
				input.Figure("mean duration of a WAL fsync otherwise", WALSyncTime, out, "seconds", input.NotStalled()))
		}

		if known {
			finding.Say("waits", rules.Values{"share": rules.Part(share), "calm": rules.Part(calm)})
			finding.Evidence = append(finding.Evidence,
				input.Figure("share of executing sessions that waited for the WAL while stalled", Waiting, share,
					"ratio", input.Stall.Cells))
		}

		if queued, ok := input.QueuedShare(input.Stall.Cells); ok {
			finding.Say("queued", rules.Values{"queued": rules.Part(queued)})
		}

		finding.Advise("apart", nil)
		finding.Advise("fewer", nil)
		return []rules.Finding{finding}
	}

	return rule
}

// sessionShare returns the share of executing sessions in the given waits while stalled, and
// otherwise. As in waitedShare, the latter is scaled to the number of sessions that execute in a
// stall.
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
