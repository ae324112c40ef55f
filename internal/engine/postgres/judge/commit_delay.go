package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	// minDelayS is the commit_delay above which a commit takes noticeably longer: a stall is
	// noticeable from 20 ms on, and a commit may first wait for a delay that another one began and
	// then for its own.
	minDelayS = rules.StallFloorS / 2
	// sensibleDelay, in WAL syncs, is the delay above which commit_delay costs more than it saves:
	// the documentation advises half a sync.
	sensibleDelay = 1.0
	// mostlySyncing is the share of the time in the WAL's own I/O above which the disk causes the
	// queue. Behind a slow disk the share is 1. Samples are few, so a true share of a half may look
	// larger.
	mostlySyncing = 0.75
)

func commitDelay() rules.Rule {
	rule := rules.Rule{ID: "postgres/commit-delay", Title: "commit_delay makes commits wait", Kind: rules.Cause,
		When:    "plimsoll:postgres_commit_delay:seconds >= 0.01",
		Needs:   []*rules.Signal{WaitEvents, CommitDelay},
		Stalled: true,
		NoAlert: "its condition is a setting, which is true without a stall too",
		Refutes: rules.DiskResources,
		Cause:   "commit_delay makes the session that is about to sync the WAL sleep first, if commit_siblings other sessions have a transaction open, so that more commits share the sync. It sleeps holding the lock WALWrite, so every other commit queues behind it. No wait event shows the sleep.",
		Words: rules.Words{
			"delay":     "commit_delay is {{.delay}}{{with .sync}}, and a WAL fsync takes {{.}}{{end}}. While commits stalled, {{.share}} of the executing sessions waited for the lock WALWrite (otherwise {{.calm}}), which the sleeping session holds, and {{.io}} for the disk itself.",
			"no volume": "No volume fixes this: commits wait for commit_delay.",
		},
		Advice: map[string]rules.Advice{
			"zero": {Summary: "Set commit_delay to 0, its default, or to half of a WAL fsync ({{with .half}}{{.}}; {{end}}in microseconds)",
				Expect:   "a commit waits for its sync, not for a sleep",
				TradeOff: "more syncs under load, each for fewer commits",
				Do:       []*rules.Remedy{noCommitDelay}},
		}}

	rule.Judge = func(input *rules.Case, _ []timeline.Track) []rules.Finding {
		delay := timeline.Max(input.One(CommitDelay))
		if !(delay >= minDelayS) {
			return nil
		}

		// A delay within the documentation's advice is not the cause. If the sync is not timed
		// (NaN), the wait events decide below.
		sync := meanSync(input, input.Stall.Cells)
		if sync*sensibleDelay >= delay {
			return nil
		}

		// One session at a time syncs, and it sleeps first. The sync's share of its time follows
		// from the measured duration or, without one, from how often a session is seen syncing: the
		// sleep has no wait event.
		share, calm, known := sessionShare(input, walQueue)
		io, _, _ := sessionShare(input, walIO)
		syncing := sync / (sync + delay)

		if math.IsNaN(sync) {
			syncing = io * waitsIn(input, input.Stall.Cells).of / float64(input.Stall.Cells.Count())
		}

		if !known || share-calm < minWaitShare || syncing >= mostlySyncing {
			return nil
		}

		f := rule.Finding("postgres")
		f.Weight = (share - calm) * (1 - syncing)
		f.Severity = input.SeverityOf(f.Weight)
		f.Windows = input.Windows(input.Stall.Cells)
		half := sync / 2
		f.Say("delay", rules.Values{"delay": rules.Seconds(delay), "sync": rules.Seconds(sync),
			"share": rules.Part(share), "calm": rules.Part(calm), "io": rules.Part(io)})
		f.Evidence = []rules.Evidence{
			input.Figure("commit_delay", CommitDelay, delay, "seconds", input.Stall.Cells),
			input.Figure("share of executing sessions that waited for the lock WALWrite while stalled", Waiting,
				share, "ratio", input.Stall.Cells),
			input.Figure("share of executing sessions that waited for a WAL write or sync while stalled", Waiting,
				io, "ratio", input.Stall.Cells),
		}

		if sync > 0 {
			f.Evidence = append(f.Evidence,
				input.Figure("mean duration of a WAL fsync while stalled", WALSyncTime, sync, "seconds", input.Stall.Cells))
		}

		f.Open("no volume", nil)
		f.Advise("zero", rules.Values{"half": rules.Seconds(half)})
		return []rules.Finding{f}
	}

	return rule
}
