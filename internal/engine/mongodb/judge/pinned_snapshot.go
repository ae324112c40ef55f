package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A pin of leastPinnedS or more is long: quick operations hold their snapshot for milliseconds, and
// WiredTiger keeps all versions that are newer than the oldest snapshot. historyWindowS is the history
// that a primary keeps by itself (minSnapshotHistoryWindowInSeconds, 4.4 and later).
const (
	leastPinnedS   = 20.0
	historyWindowS = 300.0
	longerPinned   = 2.0 // times the usual pin
)

// Signals of old versions that cannot be dropped. A timestamp holds seconds in its upper 32 bits,
// hence the division.
var (
	PinnedByReader = signal("wt_pinned_by_reader:seconds",
		"seconds", "how far back the oldest read timestamp of an open snapshot is",
		`mongodb_ss_wt_txn_transaction_range_of_timestamps_pinned_by_the_oldest_active_read_timestamp / 4294967296`)
	PinnedByOldest = signal("wt_pinned_by_oldest:seconds",
		"seconds", "how far back the oldest timestamp is that the server keeps (history window, majority commit point)",
		`mongodb_ss_wt_txn_transaction_range_of_timestamps_pinned_by_the_oldest_timestamp / 4294967296`)
	PinnedIDs = signal("wt_pinned_ids:count",
		"", "transactions since the oldest one that is still open, without those a checkpoint pins",
		`clamp_min(mongodb_ss_wt_txn_transaction_range_of_IDs_currently_pinned - mongodb_ss_wt_txn_transaction_range_of_IDs_currently_pinned_by_a_checkpoint, 0)`,
		`mongodb_ss_wt_txn_transaction_range_of_IDs_currently_pinned`)
	HistoryInserts = signal("wt_history_inserts:rate",
		"1/s", "old versions moved from the cache to the history store per second",
		`irate(mongodb_ss_wt_cache_history_store_table_insert_calls[$w])`,
		`irate(mongodb_ss_wt_cache_cache_overflow_table_insert_calls[$w])`,
		`irate(mongodb_ss_wt_cache_lookaside_table_insert_calls[$w])`)
	HistorySize = signal("wt_history_size:bytes", "bytes", "size of the history store's file",
		`mongodb_ss_wt_cache_history_store_table_on_disk_size`)
	InactiveTransactions = signal("mongodb_inactive_transactions:count",
		"", "transactions that are open but between two operations",
		`mongodb_ss_transactions_currentInactive`)
)

func pinnedSnapshot() rules.Rule {
	rule := rules.Rule{ID: "wiredtiger/pinned-snapshot",
		Title: "An open snapshot keeps old versions in the cache",
		Kind:  rules.Cause,
		When:  "(plimsoll:wt_pinned_by_reader:seconds > 20 or plimsoll:wt_pinned_by_oldest:seconds > 360) and on() (plimsoll:wt_cache_wait:ratio > 1)",
		// Either signal shows how long; whether operations wait for the cache must be known as
		// well.
		Needs: []*rules.Signal{CacheFill},
		AnyOf: []*rules.Signal{PinnedByReader, PinnedIDs},
		Cause: "WiredTiger keeps every version of a document that is newer than the oldest snapshot in use. A long transaction, a long read, or a majority that does not confirm keeps all of them. They fill the cache and spill to the history store, eviction cannot drop them, and operations have to help with eviction.",
		Words: rules.Words{
			"pinned":    "No volume fixes this. A snapshot was open for up to {{.pinned}}{{with .usual}} (usually {{.}}){{end}}, and no version written since then can be dropped.",
			"majority":  "The oldest version that the server itself keeps was up to {{.pinned}} old, with a window of {{.window}}: the majority's commit point did not move{{with .down}}, with {{.}}{{end}}.",
			"updates":   "Updates held up to {{.updates}} of the cache (trigger {{.trigger}}).",
			"history":   "{{.inserts}} versions per second went to the history store{{with .size}}, which grew to {{.}}{{end}}.",
			"open":      "{{.open}} transactions were open{{with .idle}}, {{.}} of them between two operations{{end}}.",
			"waited":    "Operations waited {{.waited}} for room in the cache, {{.share}} of the {{.of}} of stalled waiting.",
			"no volume": "No volume fixes this: an open snapshot fills the cache.",
		},
		Advice: map[string]rules.Advice{
			"end": {Summary: "Find the transaction or query and end it: db.currentOp({$or: [{\"transaction.timeOpenMicros\": {$gt: 1e7}}, {active: true, secs_running: {$gt: 10}}]}); db.killOp(opid), or killSessions for a transaction between two operations",
				Expect:    "old versions are dropped as soon as it is gone",
				TradeOff:  "its work is lost; a report has to start again",
				NoCommand: "terminating it loses its work, so inspect it first"},
			"bound": {Summary: "Bound transactions and reads: transactionLifetimeLimitSeconds (60 by default), maxTimeMS on long reads, no noCursorTimeout; run reports and exports on a hidden secondary",
				Expect:    "no snapshot is open long enough to fill the cache",
				TradeOff:  "long transactions are aborted and have to be split",
				NoCommand: "only you know which limits the application can tolerate"},
			"member": {Summary: "Bring back the member that the majority lacks; in a primary-secondary-arbiter set, replace the arbiter with a data-bearing member",
				Expect:   "the commit point advances, and with it the oldest version",
				TradeOff: "one more data-bearing member", NoCommand: "only its own host shows why it is down"},
		}}

	rule.Judge = func(input *rules.Case, _ []timeline.Track) []rules.Finding {
		pin := pinnedIn(input)
		share, seconds, of, measured := ofAll(input, CacheWait)
		if !pin.long() {
			return nil
		}

		// The wait for the cache is the cost. If it is not counted, stalls with updates or the
		// whole cache over a trigger are compared with the rest.
		weight, over := share, overTrigger(input, fillTrigger, updatesTrigger)
		if !measured {
			if weight, _, _ = input.Attributable(over); !input.Contrasts(over) {
				weight = 0
			}
		}

		// A long pin alone does no harm: few versions may have been written since.
		if weight < rules.MinAttributable || !pin.presses(input) {
			return nil
		}

		finding := rule.Finding("wiredtiger cache")
		finding.Weight, finding.Severity, finding.Foremost = weight, input.SeverityOf(weight), true
		if !measured {
			finding.Severity = input.SeverityIn(over, weight)
		}

		finding.Windows = input.Windows(pin.cells.And(input.Stall.Cells))
		pin.say(input, &finding)
		if measured {
			sayCacheWait(input, &finding, share, seconds, of)
		}

		if weight >= noVolumeFrom {
			finding.Open("no volume", nil)
		}

		if pin.majority {
			finding.Advise("member", nil)
		}

		finding.Advise("end", nil)
		finding.Advise("bound", nil)
		return []rules.Finding{finding}
	}

	return rule
}

// A pin is how long old versions were kept around the stalls.
type pin struct {
	signal *rules.Signal
	most   float64 // in and just before the stalled time
	usual  float64 // NaN if unknown
	cells  timeline.Mask
	// majority is set if the server itself kept them because a majority did not confirm.
	majority bool
}

// long reports whether a snapshot is pinned far longer than quick operations would pin it.
func (p pin) long() bool {
	// The server keeps the history window by itself, without any fault.
	if p.majority {
		return p.most >= historyWindowS+leastPinnedS
	}
	return p.most >= leastPinnedS
}

// pinnedIn is the pin by a reader or, if that one is short, by the majority.
func pinnedIn(c *rules.Case) pin {
	read := pinBy(c, PinnedByReader, c.One(PinnedByReader))

	// Transactions without a read timestamp show only in the range of pinned IDs.
	if !(read.most >= leastPinnedS) {
		if ids := pinBy(c, PinnedIDs, secondsOfIDs(c)); ids.most > read.most || math.IsNaN(read.most) {
			read = ids
		}
	}

	if read.long() {
		return read
	}

	majority := pinBy(c, PinnedByOldest, c.One(PinnedByOldest))
	majority.majority = true

	// Negated so that an unknown usual value (NaN) does not exclude the finding.
	if majority.long() && !(majority.most < longerPinned*majority.usual) {
		return majority
	}

	return read
}

// A stall caused by the cache begins when the pin is longest. It sometimes ends the pin, because
// the transaction is rolled back. So the samples before the stall count too.
const pinBefore = 3

func pinBy(c *rules.Case, of *rules.Signal, seconds []float64) pin {
	near := c.Stall.Cells.Widen(pinBefore, 0)
	cells := timeline.Where(seconds, func(x float64) bool { return x >= leastPinnedS })
	return pin{signal: of, most: timeline.Max(timeline.At(seconds, near)),
		usual: timeline.Quantile(seconds, 0.5), cells: cells.Or(make(timeline.Mask, c.Grid.N))}
}

// secondsOfIDs estimates how long ago the oldest open transaction began, from the rate of writes,
// because each write takes an ID. Transactions that read without a timestamp show only here.
func secondsOfIDs(c *rules.Case) []float64 {
	ids, writes := c.One(PinnedIDs), c.One(Writes)
	rate := timeline.Quantile(timeline.At(writes, c.Stall.Active), 0.5)
	if ids == nil || !(rate > 0) {
		return nil
	}
	out := make([]float64, len(ids))
	for k, x := range ids {
		out[k] = x / rate
	}
	return out
}

// presses reports whether the old versions really put pressure on the cache: updates at half their
// trigger or more, or versions moved to the history store. A cache full of dirty pages alone has
// another cause.
func (p pin) presses(c *rules.Case) bool {
	near := c.Stall.Cells.Widen(pinBefore, 0)
	trigger, _ := updatesTrigger.level(c.Facts)
	// Half the trigger is above the target (2.5 and 10 % by default), so eviction is not keeping up.
	if updates := c.One(CacheUpdatesRatio); updates != nil {
		return timeline.Max(timeline.At(updates, near)) >= trigger/2
	}
	return timeline.Max(timeline.At(c.One(HistoryInserts), near)) > 0
}

func (p pin) say(c *rules.Case, f *rules.Finding) {
	near := c.Stall.Cells.Widen(pinBefore, 0)
	if p.majority {
		f.Say("majority", rules.Values{"pinned": rules.Seconds(p.most), "window": rules.Seconds(historyWindowS),
			"down": rules.Called(absent(c))})
	} else {
		usual := rules.Value("")
		if p.most >= longerPinned*p.usual {
			usual = rules.Seconds(p.usual)
		}
		f.Say("pinned", rules.Values{"pinned": rules.Seconds(p.most), "usual": usual})
	}

	f.Evidence = append(f.Evidence, c.Figure("longest pin around the stalls", p.signal, p.most, "seconds", near))

	if updates := timeline.Max(timeline.At(c.One(CacheUpdatesRatio), near)); updates == updates {
		trigger, _ := updatesTrigger.level(c.Facts)
		f.Say("updates", rules.Values{"updates": rules.Part(updates), "trigger": rules.Part(trigger)})
		f.Evidence = append(f.Evidence,
			c.Figure(updatesTrigger.text(trigger), CacheUpdatesRatio, updates, "ratio", near))
	}

	if inserts := timeline.Quantile(timeline.At(c.One(HistoryInserts), p.cells), 0.5); inserts > 0 {
		size := rules.Value("")
		if v := c.One(HistorySize); timeline.Max(v) > 0 {
			size = rules.Bytes(timeline.Max(v))
		}
		f.Say("history", rules.Values{"inserts": rules.Number(inserts), "size": size})
		f.Evidence = append(f.Evidence,
			c.Figure("versions moved to the history store, median", HistoryInserts, inserts, "1/s", p.cells))
	}

	if open := timeline.Max(timeline.At(c.One(OpenTransactions), near)); open >= 1 {
		idle := rules.Value("")
		if n := timeline.Max(timeline.At(c.One(InactiveTransactions), near)); n >= 1 {
			idle = rules.Number(n)
		}
		f.Say("open", rules.Values{"open": rules.Number(open), "idle": idle})
	}
}
