package advise

import (
	"fmt"
	"math"

	"plimsoll/internal/advise/fit"
	"plimsoll/internal/base/units"
	"plimsoll/internal/engine/mongodb/judge"
	"plimsoll/internal/record/timeline"

	wt "plimsoll/internal/engine/mongodb/model"
)

// syncPeriodS is the pause between two checkpoints of a mongod that was not told another
// (storage.syncPeriodSecs).
const syncPeriodS = 60

// A fitting is of WiredTiger under a mongod.
type fitting struct{ *fit.Fitting }

// Fit enters WiredTiger under a mongod.
func Fit(f *fit.Fitting) error { return fitting{f}.fit() }

// LogSyncs is how often the journal was synced.
func LogSyncs(f *fit.Fitting) float64 { return f.Mean(judge.LogSyncs) }

func (f fitting) fit() error {
	pause := f.Number("parameter.syncdelay")
	c := f.Cycles(f.One(judge.CheckpointTime), f.One(judge.CheckpointLast))

	usual := float64(syncPeriodS)
	switch {
	case pause > 0:
		usual = pause
	case !math.IsNaN(c.PeriodS): // seen twice and more
		usual = c.PeriodS
	}

	writes := f.One(judge.Writes)
	if writes == nil {
		writes = f.One(judge.WriteCounters)
	}

	if writes == nil {
		return &fit.MissingError{What: "what is asked of the database",
			Metrics: []string{"mongodb_ss_opLatencies_ops", "mongodb_ss_opcounters"},
			From:    "a mongod's diagnostic.data gives it, and mongodb_exporter --collector.diagnosticdata (percona)"}
	}

	if err := f.Enough(writes, fit.Two(usual), fit.Every(usual)); err != nil {
		return err
	}

	cache := f.Gauge(judge.CacheMax)
	if math.IsNaN(cache) {
		return &fit.MissingError{What: "the cache's size",
			Metrics: []string{"mongodb_ss_wt_cache_maximum_bytes_configured"},
			From:    "a mongod's diagnostic.data gives it, and mongodb_exporter --collector.diagnosticdata (percona)"}
	}

	key := "engine.wiredtiger."
	f.Add(key+"cache", fit.Exactly(cache), fit.Measured, "the configured size")
	f.checkpoints(key+"checkpoint", c, pause)

	if err := f.mongodbLoad(writes); err != nil {
		return err
	}

	f.documents(c, cache)
	f.eviction(key)
	f.server(key)

	return nil
}

// checkpoints enters the pause between two checkpoints.
func (f fitting) checkpoints(key string, c fit.Cycles, told float64) {
	f.PeriodS = c.PeriodS
	switch {
	case told > 0:
		f.PeriodS = told
		f.Add(key, fit.Duration(told), fit.Measured, "the server's parameter syncdelay")
	case !math.IsNaN(c.PeriodS):
		v := f.Add(key, fit.Duration(c.PauseS), fit.Inferred,
			"%d checkpoints ended every %s and took %s (medians): the pause between them", c.N,
			units.Seconds(c.PeriodS), units.Seconds(c.DurationS))
		step := f.Grid.StepSeconds()
		v.Between(max(c.PauseS-step, 0), c.PauseS+step)
	default:
		f.PeriodS = syncPeriodS
		f.Add(key, fit.Duration(syncPeriodS), fit.Assumed,
			"the pause between checkpoints; mongod's default taken, as %d ended in this time", c.N).
			ToKnow("db.adminCommand({getParameter: 1, syncdelay: 1})")
	}
}

// mongodbLoad enters the rate and the mix.
func (f fitting) mongodbLoad(writes []float64) error {
	const internal = "operations completed"
	inserts, updates, deletes := fit.Zero(f.Mean(judge.Inserts)), fit.Zero(f.Mean(judge.Updates)),
		fit.Zero(f.Mean(judge.Deletes))
	reads := f.Mean(judge.Reads)
	if math.IsNaN(reads) {
		reads = f.Mean(judge.Queries)
	}

	l := fit.Load{Ops: writes, How: fit.Measured, RateOf: internal, MixOf: "the counters of operations"}
	total := inserts + updates + deletes
	switch {
	case total > 0:
		l.Shares = []fit.Share{{Kind: "insert", Rate: inserts}, {Kind: "update", Rate: updates + deletes}}
		if deletes > 0 {
			l.MixOf += fmt.Sprintf("; deletes (%s/s) are counted as updates, which dirty a page alike",
				units.Number(deletes))
		}
	default:
		l.Shares = []fit.Share{{Kind: "insert", Rate: timeline.Mean(writes)}}
		l.How = fit.Assumed
		l.MixOf = "which writes are inserts and which are updates; all are taken for inserts, as mongodb_ss_opcounters is missing or counts none"
	}

	l.Shares = append(l.Shares, fit.Share{Kind: "read", Rate: reads})
	return f.Arrivals(l)
}

// Bytes of documents, from what writes leave in memory and in the journal.
const (
	// Changes in memory grow undisturbed where eviction has no reason to work: a little under its
	// targets of 5 % dirty and 2.5 % of changes (WiredTiger configuration reference, 11.3).
	quietDirty, quietUpdates = 0.045, 0.022
	quietCells               = 3
	// logPadding is to what a write of the journal is padded (WT_LOG_ALIGN, WiredTiger
	// src/include/log.h).
	logPadding = 128
	// documentUsual is taken where nothing tells.
	documentUsual = 1000.0
	// documentMax is more than a document has (16 MiB): a few writes among the server's own say
	// nothing of documents.
	documentMax = 16 << 20
)

// documents enters how large they are and how many.
func (f fitting) documents(c fit.Cycles, cache float64) {
	key := "engine.wiredtiger."
	oplog, how, why := f.oplog()
	f.Add(key+"oplog", fit.Boolean(oplog), how, "%s", why)
	copies := 1.0

	if oplog {
		copies = 2
	}

	overhead := float64(wt.Defaults().LogRecord)
	if oplog {
		overhead += wt.OplogEntry
	}

	writes := f.One(judge.Writes)
	if counted := f.One(judge.WriteCounters); timeline.Mean(counted) > 0 {
		writes = counted
	}

	perWrite := fit.Per(f.Mean(judge.LogPayload), timeline.Mean(writes))
	if perWrite >= 1 {
		f.Add(key+"log_bytes", fit.About(perWrite), fit.Measured,
			"what a write put into the journal, on average: its payload over the writes; a sync pads it to %d B",
			logPadding).
			Between(max(perWrite-logPadding, 1), perWrite)
	}

	const ask = "db.collection.stats().avgObjSize"
	inMemory := f.grown(writes)

	size := documentUsual
	switch {
	case inMemory > 0 && inMemory < documentMax:
		// The collection's change, and the oplog's with its header.
		size = max((inMemory-(copies-1)*overhead)/copies, 1)
		f.Add("workload.document.size", fit.About(size), fit.Inferred,
			"a write left %s of changes in memory%s; of updates that mongod gives as differences it is the difference",
			units.Bytes(inMemory), twice(oplog)).
			Between(size/2, math.NaN()).ToKnow(ask)
	case perWrite > overhead && perWrite < documentMax:
		size = perWrite - overhead // once, also with an oplog: then that alone is journalled
		f.Add("workload.document.size", fit.About(size), fit.Inferred,
			"the journal had %s a write, of which some %s are headers; of updates that are differences it is the difference",
			units.Bytes(perWrite), units.Bytes(overhead)).
			Between(size/2, math.NaN()).ToKnow(ask)
	default:
		f.Add("workload.document.size", fit.About(size), fit.Assumed, "document size; 1 kB taken").ToKnow(ask)
	}

	f.collection(c, cache, size, oplog)
}

func twice(oplog bool) string {
	if oplog {
		return ", in collection and oplog"
	}
	return ""
}

// oplog tells whether writes go into one.
func (f fitting) oplog() (yes bool, known fit.Known, why string) {
	switch {
	case f.Fact("replica_set") != "" || f.Gauge(judge.Members) >= 1:
		return true, fit.Measured, "a member of a replica set"
	case f.Fact("engine_model") != "" || f.Fact("process") != "" || f.Fact("storage_engine") != "":
		return false, fit.Inferred, "the source tells a server's settings and no replica set among them"
	}
	return true, fit.Assumed, "whether writes go into an oplog as well; a member of a replica set taken"
}

// grown is by how much a write made the changes in memory grow where they grew undisturbed; NaN if
// that is not known.
func (f fitting) grown(writes []float64) float64 {
	held := f.One(judge.CacheUpdates)
	if held == nil {
		return math.NaN()
	}

	running, dirty, updates := f.One(judge.CheckpointRunning), f.One(judge.DirtyRatio),
		f.One(judge.CacheUpdatesRatio)
	quiet := func(k int) bool {
		return (running == nil || running[k] == 0) && (dirty == nil || dirty[k] < quietDirty) &&
			(updates == nil || updates[k] < quietUpdates)
	}

	var per []float64
	for k := 1; k < len(held) && k < len(writes); k++ {
		n := writes[k] * f.Grid.StepSeconds()
		if d := held[k] - held[k-1]; n >= 1 && d > 0 && quiet(k) && quiet(k-1) {
			per = append(per, d/n)
		}
	}

	if len(per) < quietCells {
		return math.NaN()
	}

	return timeline.Quantile(per, 0.5)
}

// collection enters how many documents there are: what does not fit the cache is read again, and
// pages that are written again and again are few.
func (f fitting) collection(c fit.Cycles, cache, size float64, oplog bool) {
	leaf := float64(wt.Defaults().LeafPage)
	fill := timeline.Quantile(f.One(judge.CacheFill), 0.9)
	held := fill * cache
	if math.IsNaN(held) {
		held = cache
	}

	const ask = "db.collection.stats().count, and which of them are asked for"
	key := "workload.keys.count"
	ops := fit.Zero(f.Mean(judge.Reads)) + fit.Zero(f.Mean(judge.Updates))
	missed := fit.Per(f.Mean(judge.PagesRead), ops)
	const seen, full = 0.02, 0.75 // of the operations missed; of the cache filled
	updates := fit.Zero(f.Mean(judge.Updates))

	bytes, why, known, low, high := held, "", fit.Inferred, math.NaN(), math.NaN()
	switch {
	case ops > 0 && missed >= seen && missed < 1 && fill >= full:
		bytes = held / (1 - missed)
		why = fmt.Sprintf("%s of the operations on documents read a page: the cache's %s are the rest of what is asked for, were it asked for evenly",
			units.Percent(missed), units.Bytes(held))
		low = held
	case updates >= fit.Zero(f.Mean(judge.Inserts)) && updates > 0 && !math.IsNaN(c.PeriodS):
		n := f.Mean(judge.BlocksWritten) * c.PeriodS
		if oplog {
			n -= (updates + fit.Zero(f.Mean(judge.Inserts))) * c.PeriodS * (size + 100)
		}

		pages := fit.Distinct(n/leaf, updates*c.PeriodS)
		switch {
		case math.IsInf(pages, 1):
			bytes = max(held, updates*c.PeriodS*leaf)
			why = "nearly every update between two checkpoints met another page"
			low = bytes
		case pages > 0:
			bytes = pages * leaf
			why = fmt.Sprintf("%s updates between two checkpoints wrote %s pages of 32 KiB again, as of %s that are asked for evenly",
				units.Number(updates*c.PeriodS), units.Number(n/leaf), units.Number(pages))
			low, high = n, 2*bytes
		}
	}

	if fits := ops > 0 && missed < seen; fits && why != "" && bytes > held {
		bytes, high = held, math.NaN()
		why += fmt.Sprintf("; but hardly a page was read, so all that is asked for is in the cache's %s",
			units.Bytes(held))
		low = min(low, held)
	}

	if why == "" {
		known, why = fit.Assumed, fmt.Sprintf("how many documents there are; what fills the %s in the cache taken",
			units.Bytes(held))
		low = math.NaN()
	}

	f.Data = bytes
	f.Add(key, fit.Count(fit.Significant(max(bytes/size, 1))), known, "%s", why).Between(low/size,
		high/size).ToKnow(ask)
	f.Skew()
	f.Connections("how many operations clients have under way at most; 100 taken, which is a MongoDB driver's maxPoolSize")
}

// server enters where a member of a replica set was told to write otherwise than by default: its
// drivers not to retry writes, itself not to compress pages. The oplog's counters say it of the
// oplog, and what was set for all collections holds for it too.
func (f fitting) server(key string) {
	const few = 0.01 // of the writes
	writes := fit.Zero(f.Mean(judge.Inserts)) + fit.Zero(f.Mean(judge.Updates))
	if n := f.Mean(judge.SessionWrites); writes >= 1 && n < few*writes {
		f.Add(key+"retryable_writes", fit.Boolean(false), fit.Measured,
			"%s writes/s to config.transactions, and %s writes/s of clients", units.Number(n), units.Number(writes))
	}
	if pages := f.Mean(judge.OplogPages); pages > 0 && f.Mean(judge.OplogCompressor) == 0 {
		f.Add(key+"compressor", fit.Boolean(false), fit.Inferred,
			"no compressor was asked for the oplog's %s pages/s", units.Number(pages)).
			ToKnow("db.collection.stats(): block_compressor in creationString")
	}
}

// eviction says what is left to mongod's defaults.
func (f fitting) eviction(key string) {
	if dirty := timeline.Max(f.One(judge.DirtyRatio)); dirty > 0 {
		f.Add(key+"eviction_dirty_target", fit.Ratio(0.05), fit.Assumed,
			"when eviction begins; mongod's defaults taken. At most %s of the cache were dirty", units.Percent(dirty)).
			AsDefault().ToKnow("db.adminCommand({getParameter: 1, wiredTigerEngineRuntimeConfig: 1})")
	}

	if n := f.Fact("parameter.wiredTigerEngineRuntimeConfig"); n != "" {
		f.Remark("wiredTigerEngineRuntimeConfig is %q: put what it says of eviction under engine.wiredtiger", n)
	}

	if f.Fact("journal") == "disabled" {
		f.Add(key+"journal", fit.Boolean(false), fit.Measured, "the server's settings")
	}

	f.Add(key+"journal_each_write", fit.Boolean(true), fit.Assumed,
		"whether writes wait for the journal (write concern j: true or majority); taken").
		AsDefault().ToKnow("the clients' write concern")
	f.Add(key+"compression", fit.Ratio(1), fit.Assumed,
		"what compression leaves of a page; pages are taken as they are written").AsDefault().
		ToKnow("db.collection.stats(): storageSize over size")
}
