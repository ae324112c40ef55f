package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	// feltDelayS is the commit_delay from which a commit takes noticeably longer: a stall is felt
	// from 20 ms on, and a commit waits for a delay that another one began and then for its own.
	feltDelayS = rules.StallFloorS / 2
	// sensibleDelay is the delay in WAL syncs from which it costs more than it saves: the
	// documentation advises half of one.
	sensibleDelay = 1.0
	// mostlySyncing is the part of the time in the WAL's own I/O from which the queue is the disk's.
	// Behind a slow disk it is all of it; looks are few, so that half may be seen as more.
	mostlySyncing = 0.75
)

func commitDelay() rules.Rule {
	r := rules.Rule{ID: "postgres/commit-delay", Title: "commit_delay makes commits wait", Kind: rules.Cause,
		When:    "plimsoll:postgres_commit_delay:seconds >= 0.01",
		Needs:   []*rules.Signal{WaitEvents, CommitDelay},
		NoAlert: "its condition is a setting, which holds without a stall too",
		Refutes: rules.DiskResources,
		Cause:   "commit_delay makes the session that is about to sync the WAL sleep first, if commit_siblings others have a transaction open, so that more commits share the sync. It sleeps with the lock WALWrite held, so all others that commit queue behind it. No wait event shows the sleep.",
		Words: rules.Words{
			"delay":     "commit_delay is {{.delay}}{{with .sync}}, and a WAL fsync takes {{.}}{{end}}. {{.share}} of the sessions executing while commits stalled waited for the lock WALWrite (otherwise {{.calm}}), which the sleeping one holds, and {{.io}} for the disk itself.",
			"no volume": "No volume fixes this: commits wait for commit_delay.",
		},
		Advice: map[string]rules.Advice{
			"zero": {Summary: "Set commit_delay to 0, its default, or to half of a WAL fsync ({{with .half}}{{.}}; {{end}}in microseconds)",
				Expect:   "a commit waits for its sync and not for a sleep",
				TradeOff: "more syncs under load, each for fewer commits",
				Do:       []*rules.Remedy{noCommitDelay}},
		}}

	r.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		delay := timeline.Max(c.One(CommitDelay))
		if !c.Stall.IsDatabase || !c.Stall.Any() || !(delay >= feltDelayS) {
			return nil
		}

		sync := meanSync(c, c.Stall.Cells)
		if sync*sensibleDelay >= delay {
			return nil
		}

		// One session at a time syncs, and sleeps before. Of its time the sync's part is that of the sync
		// where it is timed, or how often a session is seen in it: the sleep is no wait.
		share, calm, known := sessionShare(c, walQueue)
		io, _, _ := sessionShare(c, walIO)
		syncing := sync / (sync + delay)

		if math.IsNaN(sync) {
			syncing = io * waitsIn(c, c.Stall.Cells).of / float64(c.Stall.Cells.Count())
		}

		if !known || share-calm < leastWaitShare || syncing >= mostlySyncing {
			return nil
		}

		f := r.Finding("postgres")
		f.Weight = (share - calm) * (1 - syncing)
		f.Severity = c.SeverityOf(f.Weight)
		f.Windows = c.Windows(c.Stall.Cells)
		half := sync / 2
		f.Say("delay", rules.Values{"delay": rules.Seconds(delay), "sync": rules.Seconds(sync),
			"share": rules.Part(share), "calm": rules.Part(calm), "io": rules.Part(io)})
		f.Evidence = []rules.Evidence{
			c.Figure("commit_delay", CommitDelay, delay, "seconds", c.Stall.Cells),
			c.Figure("of the sessions executing while stalled, those that waited for the lock WALWrite", Waiting,
				share, "ratio", c.Stall.Cells),
			c.Figure("of the sessions executing while stalled, those that waited for the WAL's write or sync", Waiting,
				io, "ratio", c.Stall.Cells),
		}

		if sync > 0 {
			f.Evidence = append(f.Evidence,
				c.Figure("mean duration of a WAL fsync while stalled", WALSyncTime, sync, "seconds", c.Stall.Cells))
		}

		f.Open("no volume", nil)
		f.Advise("zero", rules.Values{"half": rules.Seconds(half)})
		return []rules.Finding{f}
	}

	return r
}
