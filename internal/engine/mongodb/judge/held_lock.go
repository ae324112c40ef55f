package judge

import (
	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A lock is held if the number of waiting operations stays high. Unlike latencies, the server
// counts a wait for a lock while it lasts.
const (
	heldLockWaiting = 2.0  // operations, on average over an interval
	heldLockS       = 2.0  // seconds in all, at least
	heldLockShare   = 0.10 // of the stalled waiting, or of the stalled time
	readersToo      = 0.2  // of the intervals: then readers queue as well
)

// If at least noVolumeFrom of the stall is affected, the verdict says that no volume fixes it.
const noVolumeFrom = 0.5

func heldLock() rules.Rule {
	rule := rules.Rule{ID: "mongodb/held-lock", Title: "A held lock stops operations", Kind: rules.Cause,
		When:    anyLockWaits(),
		Needs:   []*rules.Signal{},
		AnyOf:   lockSignals(),
		Refutes: rules.DiskResources,
		Cause:   "An operation holds a lock that others need, and they queue until it is released: fsyncLock (a backup), an index build's or another schema change's exclusive phase, a change of the member's role, or a transaction that such a change waits for. No volume, cache or CPU makes a difference meanwhile.",
		Words:   heldLockWords, Advice: heldLockAdvice}

	rule.Judge = func(input *rules.Case, held []timeline.Track) []rules.Finding {
		cells := rules.Held(held)

		// Lock waits are counted as they happen. A stall shows up to one sample later.
		stalled := cells.And(input.Stall.Cells.Widen(1, 0))
		if input.Seconds(stalled) < heldLockS {
			return nil
		}

		share, seconds, of, measured := ofAll(input, LockWait)

		// A few waiters can stop all others, so the share of the time counts as well as that of the
		// waiting.
		weight := max(share, rules.Share(cells, input.Stall.Cells))
		if weight < heldLockShare {
			return nil
		}

		which, resource := heldResource(input, stalled)
		finding := rule.Finding(which + " lock")
		finding.Weight, finding.Severity = weight, input.SeverityOf(weight)
		at := stalled.Close(1)
		finding.Windows = input.Windows(at)

		longest := 0
		for _, e := range at.Episodes() {
			longest = max(longest, e.Cells())
		}

		finding.Say("held", rules.Values{"which": rules.Called(which), "for": rules.Seconds(input.Seconds(at)),
			"longest": rules.Seconds(float64(longest) * input.Grid.StepSeconds()),
			"times":   rules.Things(len(at.Episodes()), "time")})
		if measured {
			finding.Say("waited", rules.Values{"waited": rules.Of(seconds, units.OpSeconds),
				"share": rules.Part(share),
				"of":    rules.Of(of, units.OpSeconds)})
		}

		holder(input, &finding, which, stalled)
		if weight >= noVolumeFrom {
			finding.Open("no volume", nil)
		}

		finding.Evidence = append(finding.Evidence,
			input.Figure("operations waiting for a lock while it was held, mean", LockWait,
				timeline.Mean(timeline.At(input.One(LockWait), stalled)), "", stalled),
			input.Figure("of that for the "+which+" lock", resource, timeline.Mean(timeline.At(input.One(resource), stalled)),
				"", stalled))

		whileHeld(input, &finding, stalled)
		return []rules.Finding{finding}
	}

	return rule
}

var heldLockWords = rules.Words{
	"held":      "No volume fixes this. The {{.which}} lock blocked other operations for {{.for}} ({{.times}}, {{.longest}} at most).",
	"waited":    "Operations waited {{.waited}} for it, {{.share}} of the {{.of}} of stalled waiting.",
	"fsync":     "An fsync command came just before, and only writers queued while readers continued: fsyncLock holds the lock until fsyncUnlock.",
	"shared":    "Only writers queued, and readers continued: it was held in a shared mode, as by fsyncLock.",
	"schema":    "A command that changes collections or indexes ran just before: its exclusive phase stops all operations on them.",
	"role":      "The member's role changed or was about to change: a stepdown, an election or a rollback takes this lock exclusively, and waits for the operations and prepared transactions that hold it.",
	"prepared":  "{{.prepared}} transactions were prepared meanwhile: they hold it until their coordinator decides.",
	"batch":     "A secondary holds it while it applies a batch of the oplog; reads that need the newest data wait for the batch.",
	"fcv":       "setFeatureCompatibilityVersion takes it exclusively, and waits for open transactions.",
	"unknown":   "The sources do not report which operations queued, so its mode is unknown.",
	"no volume": "No volume fixes this: a lock was held.",
	"open":      "{{.open}} transactions were open meanwhile: an exclusive request waits for them, and all other operations queue behind it.",
	"all":       "Readers and writers queued alike: it was held or requested in an exclusive mode.",
	"nothing":   "Meanwhile {{.done}} writes completed per second (usually {{.usual}}){{with .syncs}} and the journal was synced {{.}} times per second{{end}}{{with .busy}}; the busiest device was busy {{.}} of the time{{end}}.",
}

var heldLockAdvice = map[string]rules.Advice{
	"unlock": {Summary: "Back up without fsyncLock: a snapshot of one volume that holds data and journal needs no lock; otherwise lock a hidden secondary. Now: db.currentOp().fsyncLock shows the lock, db.fsyncUnlock() ends it (once for each lock)",
		Expect:    "writes resume as soon as it is released",
		TradeOff:  "a backup that relied on the lock is not consistent",
		NoCommand: "only you know whether a backup still needs the lock"},
	"who": {Summary: "Find who holds it: db.currentOp({$or: [{waitingForLock: true}, {active: true, secs_running: {$gt: 1}}]}); end it with db.killOp(opid)",
		Expect:    "the others resume as soon as it is released",
		TradeOff:  "the killed operation's work is lost; an index build starts again",
		NoCommand: "killing it loses its work, so inspect it first"},
	"role": {Summary: "Find why the role changed: rs.status(), and the log's lines of components ELECTION and REPL at these times. Commit or abort prepared transactions, bound long operations (maxTimeMS), and step down at quiet times",
		Expect:    "a role change waits milliseconds for the operations in progress",
		TradeOff:  "operations are killed at a stepdown, and clients retry",
		NoCommand: "the fix depends on what forced the change"},
	"quiet": {Summary: "Change collections and indexes at quiet times or member by member (rolling), and bound transactions (transactionLifetimeLimitSeconds, maxTimeMS)",
		Expect:    "an exclusive phase finds nothing to wait for and lasts milliseconds",
		TradeOff:  "a rolling change requires the primary to step down and takes more time; long transactions are aborted",
		NoCommand: "when to make changes is your decision"},
}

// heldResource returns the kind of lock that operations waited for most.
func heldResource(c *rules.Case, cells timeline.Mask) (name string, of *rules.Signal) {
	name, of = globalLock, GlobalLockWait
	most := -1.0
	for _, l := range locks {
		if s := timeline.Sum(timeline.At(c.One(l.wait), cells)); s > most {
			name, of, most = l.name, l.wait, s
		}
	}
	return name, of
}

// holder reports what is known about the operation that held the lock, and adds the advice.
func holder(c *rules.Case, finding *rules.Finding, which string, cells timeline.Mask) {
	// The command that takes a lock is counted when it starts or ends, up to two samples earlier.
	before := cells.Widen(2, 1)
	ran := func(s *rules.Signal) bool { return timeline.Max(timeline.At(c.One(s), before)) > 0 }
	open := timeline.Max(timeline.At(c.One(OpenTransactions), cells))

	readers := c.One(QueuedReaders)
	queued := rules.Share(timeline.Where(readers, func(x float64) bool { return x >= 1 }), cells)
	shared := readers != nil && queued < readersToo && which == globalLock

	// Locks with one kind of holder come first; then what a counter proves; then what the mode
	// suggests.
	switch {
	case which == roleLock:
		finding.Say("role", nil)
		if n := timeline.Max(timeline.At(c.One(PreparedTransactions), cells)); n >= 1 {
			finding.Say("prepared", rules.Values{"prepared": rules.Number(n)})
		}
	case lockWords[which] != "":
		finding.Say(lockWords[which], nil)
	case shared && ran(FsyncCommands):
		finding.Say("fsync", nil)
	case ran(SchemaCommands):
		finding.Say("schema", nil)
	case shared:
		finding.Say("shared", nil)
	case open >= 1:
		finding.Say("open", rules.Values{"open": rules.Number(open)})
	case readers != nil:
		finding.Say("all", nil)
	default:
		finding.Say("unknown", nil)
	}

	if shared {
		finding.Advise("unlock", nil)
	}

	finding.Advise("who", nil)
	switch {
	case which == roleLock:
		finding.Advise("role", nil)
	case !shared:
		finding.Advise("quiet", nil)
	}
}

// lockWords maps the locks that have only one kind of holder to the words for it.
var lockWords = map[string]string{"oplog application": "batch", "feature compatibility": "fcv",
	"transactions barrier": "fcv"}

// whileHeld adds that everything else was idle meanwhile.
func whileHeld(c *rules.Case, f *rules.Finding, cells timeline.Mask) {
	said := rules.Values{"done": rules.Number(timeline.Quantile(timeline.At(c.One(Writes), cells), 0.5)),
		"usual": rules.Number(timeline.Quantile(timeline.At(c.One(Writes), c.NotStalled()), 0.5)),
		"syncs": "", "busy": ""}
	if syncs := c.One(LogSyncs); syncs != nil {
		x := timeline.Quantile(timeline.At(syncs, cells), 0.5)
		said["syncs"] = rules.Number(x)
		f.Evidence = append(f.Evidence,
			c.Figure("journal syncs while it was held, median", LogSyncs, x, "1/s", cells))
	}

	busiest := -1.0
	for _, t := range c.Signal(rules.DiskBusy) {
		busiest = max(busiest, timeline.Quantile(timeline.At(t.Values, cells), 0.5))
	}

	if busiest >= 0 {
		said["busy"] = rules.Part(busiest)
		f.Evidence = append(f.Evidence,
			c.Figure("busy share of the busiest device while it was held, median", rules.DiskBusy, busiest,
				"ratio", cells))
	}

	if q := c.One(QueuedWriters); q != nil {
		f.Evidence = append(f.Evidence,
			c.Figure("writers queued, most", QueuedWriters, timeline.Max(timeline.At(q, cells)), "", cells))
	}

	if said["done"] != "" && said["usual"] != "" {
		f.Say("nothing", said)
	}
}
