package judge

import (
	"math"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A snapshot is pinned long from leastPinnedS on: quick operations hold theirs for milliseconds, and
// WiredTiger keeps all versions that are newer than the oldest one. historyWindowS is how far back a
// primary keeps versions by itself (minSnapshotHistoryWindowInSeconds, 4.4 and later).
const (
	leastPinnedS   = 20.0
	historyWindowS = 300.0
	longerPinned   = 2.0 // times what is usual
)

// Signals of old versions that cannot be dropped. A timestamp has its seconds in the
// upper 32 bits, hence the division.
var (
	PinnedByReader = signal("wt_pinned_by_reader:seconds",
		"seconds", "how far back the oldest read timestamp of an open snapshot is",
		`mongodb_ss_wt_txn_transaction_range_of_timestamps_pinned_by_the_oldest_active_read_timestamp / 4294967296`)
	PinnedByOldest = signal("wt_pinned_by_oldest:seconds",
		"seconds", "how far back the oldest timestamp is that the server keeps (history window, majority commit point)",
		`mongodb_ss_wt_txn_transaction_range_of_timestamps_pinned_by_the_oldest_timestamp / 4294967296`)
	PinnedIDs = signal("wt_pinned_ids:count",
		"", "transactions since the oldest one that is still open, without a checkpoint's own",
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
		"", "transactions open between two operations",
		`mongodb_ss_transactions_currentInactive`)
)

func pinnedSnapshot() rules.Rule {
	r := rules.Rule{ID: "wiredtiger/pinned-snapshot", Title: "An open snapshot keeps old versions in the cache",
		Kind: rules.Cause,
		When: "(plimsoll:wt_pinned_by_reader:seconds > 20 or plimsoll:wt_pinned_by_oldest:seconds > 360) and on() (plimsoll:wt_cache_wait:ratio > 1)",
		// Either shows how long; whether operations wait for the cache has to be known as well.
		Needs: []*rules.Signal{CacheFill},
		AnyOf: []*rules.Signal{PinnedByReader, PinnedIDs},
		Cause: "WiredTiger keeps every version of a document that is newer than the oldest snapshot in use. A long transaction, a long read, or a majority that does not confirm keeps all of them: they fill the cache and go to the history store, eviction cannot drop them, and operations have to help it.",
		Words: rules.Words{
			"pinned":   "No volume fixes this. A snapshot was open for up to {{.pinned}}{{with .usual}} (usually {{.}}){{end}}, and no version since then can be dropped.",
			"majority": "The oldest version that the server keeps itself was up to {{.pinned}} old, with a window of {{.window}}: the majority's commit point did not move{{with .down}}, with {{.}}{{end}}.",
			"updates":  "Updates held up to {{.updates}} of the cache (trigger {{.trigger}}).",
			"history":  "{{.inserts}} versions per second went to the history store{{with .size}}, which grew to {{.}}{{end}}.",
			"open":     "{{.open}} transactions were open{{with .idle}}, {{.}} of them between two operations{{end}}.",
			"waited":   "Operations waited {{.waited}} for room in the cache, {{.share}} of the {{.of}} of stalled waiting.",
			"closing":  "No volume fixes this: an open snapshot fills the cache.",
		},
		Advice: map[string]rules.Advice{
			"end": {Summary: "Find it and end it: db.currentOp({$or: [{\"transaction.timeOpenMicros\": {$gt: 1e7}}, {active: true, secs_running: {$gt: 10}}]}); db.killOp(opid), or killSessions for a transaction between two operations",
				Expect:    "old versions are dropped as soon as it is gone",
				TradeOff:  "its work is lost; a report starts again",
				NoCommand: "what is ended loses its work: look at it first"},
			"bound": {Summary: "Bound them: transactionLifetimeLimitSeconds (60 by default), maxTimeMS on long reads, no noCursorTimeout; run reports and exports on a hidden secondary",
				Expect:    "no snapshot is open long enough to fill the cache",
				TradeOff:  "long transactions are aborted and have to be made smaller",
				NoCommand: "which limits the application can live with, only you can say"},
			"member": {Summary: "Bring the member back that the majority lacks; in a primary-secondary-arbiter set replace the arbiter by a data-bearing member",
				Expect:   "the commit point moves, and with it the oldest version",
				TradeOff: "one more data-bearing member", NoCommand: "why it is down, its own host shows"},
		}}

	r.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		p := pinnedIn(c)
		share, seconds, of, measured := ofAll(c, CacheWait)
		if !p.long() {
			return nil
		}

		// The wait for the cache is what it costs. Where it is not counted, the stalls with updates or the
		// whole cache over a trigger are compared with the others.
		weight, over := share, overTrigger(c, fillTrigger, updatesTrigger)
		if !measured {
			if weight, _, _ = c.Attributable(over); !c.Contrasts(over) {
				weight = 0
			}
		}

		if weight < rules.MinAttributable || !p.presses(c) {
			return nil
		}

		f := r.Finding("wiredtiger cache")
		f.Weight, f.Severity, f.Foremost = weight, c.SeverityOf(weight), true
		if !measured {
			f.Severity = c.SeverityIn(over, weight)
		}

		f.Windows = c.Windows(p.cells.And(c.Stall.Cells))
		p.say(c, &f)
		if measured {
			f.Say("waited", rules.Values{"waited": rules.Of(seconds, units.OpSeconds), "share": rules.Part(share),
				"of": rules.Of(of, units.OpSeconds)})
			f.Evidence = append(f.Evidence,
				c.Figure("the stalled operations' waiting for the cache beyond what is usual, summed", CacheWait, seconds,
					units.OpSeconds, c.Stall.Cells))
		}

		if weight >= noVolumeFrom {
			f.Close("closing", nil)
		}

		if p.majority {
			f.Advise("member", nil)
		}

		f.Advise("end", nil)
		f.Advise("bound", nil)
		return []rules.Finding{f}
	}

	return r
}

// A pin is how long versions were kept around the stalls.
type pin struct {
	signal  *rules.Signal
	seconds []float64
	most    float64 // in the stalled time and just before
	usual   float64 // NaN if unknown
	cells   timeline.Mask
	// majority says that the server itself kept them, because a majority did not confirm.
	majority bool
}

// long reports whether the pin is far longer than quick operations make it.
func (p pin) long() bool {
	if p.majority {
		return p.most >= historyWindowS+leastPinnedS
	}
	return p.most >= leastPinnedS
}

// pinnedIn is the pin by a reader or, if that is short, by the majority.
func pinnedIn(c *rules.Case) pin {
	read := pinBy(c, PinnedByReader, c.One(PinnedByReader))
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
	if majority.long() && !(majority.most < longerPinned*majority.usual) {
		return majority
	}

	return read
}

// A stall that the cache makes begins when the pin is at its longest, and ends it at times: its
// transaction is rolled back.
const pinBefore = 3

func pinBy(c *rules.Case, of *rules.Signal, seconds []float64) pin {
	near := c.Stall.Cells.Widen(pinBefore, 0)
	p := pin{signal: of, seconds: seconds, most: timeline.Max(timeline.At(seconds, near)),
		usual: timeline.Quantile(seconds, 0.5)}
	p.cells = timeline.Where(seconds, func(x float64) bool { return x >= leastPinnedS })
	if len(p.cells) < c.Grid.N {
		p.cells = make(timeline.Mask, c.Grid.N)
	}
	return p
}

// secondsOfIDs is how long ago the oldest open transaction began, by the rate of writes: each takes an
// ID. Transactions that read without a timestamp show here only.
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

// presses reports whether versions really press: updates above their target, versions that go to the
// history store, or the cache over its trigger. A cache that is full of dirty pages alone is another
// cause.
func (p pin) presses(c *rules.Case) bool {
	near := c.Stall.Cells.Widen(pinBefore, 0)
	trigger, _ := updatesTrigger.level(c.Facts)
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
