package judge

import (
	"strings"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// minInsideShare is the share of the stalled waiting above which a wait inside WiredTiger is a
// cause.
const minInsideShare = 0.15

// usecs is the sum of WiredTiger counters in microseconds, converted to seconds per second.
func usecs(counters ...string) string {
	parts := make([]string, len(counters))
	for i, name := range counters {
		parts[i] = "irate(mongodb_ss_wt_" + name + "_usecs[$w])"
	}
	return "(" + strings.Join(parts, " + ") + ") / 1e6"
}

// Signals of waits inside WiredTiger that no volume causes.
var (
	// ForcedEviction is reported up to 8.0.
	ForcedEviction = signal("wt_forced_eviction:ratio",
		"s/s", sessions+" evicting single pages that grew too large: seconds credited per second (up to 8.0)",
		usecs(
			"cache_forced_eviction_pages_evicted_that_were_dirty_time", "cache_forced_eviction_pages_evicted_that_were_clean_time"),
		usecs("cache_forced_eviction_pages_evicted_that_were_dirty_time"))
	ForcedPages = signal("wt_forced_pages:rate",
		"1/s", "pages per second that any session selected for eviction because they were too large",
		`irate(mongodb_ss_wt_cache_forced_eviction_pages_selected_count[$w])`)
	HandleLocks = signal("wt_handle_locks:ratio",
		"s/s", sessions+" waiting for WiredTiger's data handle, schema and checkpoint locks: seconds credited per second",
		usecs("lock_dhandle_lock_application_thread_time_waiting",
			"lock_schema_lock_application_thread_wait_time", "lock_checkpoint_lock_application_thread_wait_time"),
		usecs("lock_dhandle_lock_application_thread_time_waiting", "lock_schema_lock_application_thread_wait_time"),
		usecs("lock_dhandle_lock_application_thread_time_waiting"),
		usecs("lock_schema_lock_application_thread_wait_time", "lock_checkpoint_lock_application_thread_wait_time"),
		usecs("lock_schema_lock_application_thread_wait_time"))
)

// waitedInside makes a rule from one wait counter, by its share of the stalled waiting.
func waitedInside(r rules.Rule, counter *rules.Signal, figure string,
	more func(*rules.Case, *rules.Finding)) rules.Rule {
	r.Kind = rules.Cause
	r.Judge = func(c *rules.Case, held []timeline.Track) []rules.Finding {
		f, said, ok := wait{"wiredtiger", counter, ofAll, minInsideShare, figure}.find(r, c, held)
		if !ok {
			return nil
		}

		f.Say("waited", said)
		more(c, &f)

		if f.Weight >= noVolumeFrom {
			f.Open("no volume", nil)
		}

		for _, name := range r.AdviceNames() {
			f.Advise(name, nil)
		}

		return []rules.Finding{f}
	}

	return r
}

func forcedEviction() rules.Rule {
	rule := rules.Rule{ID: "wiredtiger/forced-eviction",
		Title: "Operations evict single pages that grew too large",
		When:  "plimsoll:wt_forced_eviction:ratio > 1",
		Cause: "A page that grew beyond its limit, because of many versions of one hot document or many deleted documents, is evicted by the operation that finds it, whatever the cache's triggers. The operation reconciles the whole page before it may continue, and others that need the page wait.",
		Words: rules.Words{
			"waited":    "No volume fixes this. Operations spent {{.waited}} longer than usual evicting pages that grew too large, {{.share}} of the {{.of}} of stalled waiting.",
			"no volume": "No volume fixes this: single pages grew too large.",
			"pages":     "{{.pages}} such pages were selected per second.",
		},
		Advice: map[string]rules.Advice{"spread": {Summary: "Spread the changes over more pages: a hot counter over several documents, a queue that is deleted from its head over several collections or by dropping whole ones; end snapshots that keep the versions (see wiredtiger/pinned-snapshot)",
			Expect:   "pages stay below their limit, and eviction's own threads write them",
			TradeOff: "reads have to add up the parts", NoCommand: "it depends on the documents and the application"}}}

	return waitedInside(rule, ForcedEviction, "time in forced eviction beyond the usual, summed",
		func(c *rules.Case, f *rules.Finding) {
			if n := timeline.Mean(timeline.At(c.One(ForcedPages), c.Stall.Cells)); n > 0 {
				f.Say("pages", rules.Values{"pages": rules.Number(n)})
			}
		})
}

func handleLocks() rules.Rule {
	rule := rules.Rule{ID: "wiredtiger/handle-locks", Title: "Operations wait for the list of open files",
		When:  "plimsoll:wt_handle_locks:ratio > 1",
		Cause: "Each collection and each index is a file with a data handle. Opening, closing, creating and dropping them, and the start of a checkpoint, take the locks of that list. With very many tables this takes long, and operations that open a table wait.",
		Words: rules.Words{
			"waited":    "No volume fixes this. Operations waited {{.waited}} longer than usual for the data handle, schema or checkpoint lock, {{.share}} of the {{.of}} of stalled waiting.",
			"no volume": "No volume fixes this: the list of open files is long.",
			"open":      "{{.handles}} collections and indexes are open.",
		},
		Advice: map[string]rules.Advice{"fewer": {Summary: "Have fewer tables: drop indexes that are not used and collections that are empty, keep tenants or days in one collection by a field, or spread them over more servers; create and drop at quiet times",
			Expect: "the locks are held for milliseconds", TradeOff: "a migration of the data model",
			NoCommand: "only you know which collections can go"}}}

	return waitedInside(rule, HandleLocks, "time waited for these locks beyond the usual, summed",
		func(c *rules.Case, f *rules.Finding) {
			if n := timeline.Quantile(c.One(DataHandles), 0.5); n > 0 {
				f.Say("open", rules.Values{"handles": rules.Number(n)})
			}
		})
}
