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

// syncPeriodS is mongod's default pause between two checkpoints (storage.syncPeriodSecs).
const syncPeriodS = 60

// A fitting derives WiredTiger's configuration under mongod from a recording.
type fitting struct{ *fit.Fitting }

// Fit fills in the configuration of WiredTiger under mongod.
func Fit(f *fit.Fitting) error { return fitting{f}.fit() }

// LogSyncs is the mean rate of journal syncs.
func LogSyncs(f *fit.Fitting) float64 { return f.Mean(judge.LogSyncs) }

func (f fitting) fit() error {
	pause := f.Number("parameter.syncdelay")
	cycles := f.Cycles(f.One(judge.CheckpointTime), f.One(judge.CheckpointLast))

	usual := float64(syncPeriodS)
	switch {
	case pause > 0:
		usual = pause
	case !math.IsNaN(cycles.PeriodS): // at least two were seen
		usual = cycles.PeriodS
	}

	writes := f.One(judge.Writes)
	if writes == nil {
		writes = f.One(judge.WriteCounters)
	}

	if writes == nil {
		return &fit.MissingError{What: "the workload",
			Metrics: []string{"mongodb_ss_opLatencies_ops", "mongodb_ss_opcounters"},
			From:    "a mongod's diagnostic.data has it, as does mongodb_exporter --collector.diagnosticdata (percona)"}
	}

	// A recording shorter than two checkpoint cycles cannot show what a checkpoint adds.
	if err := f.Enough(writes, fit.Two(usual), fit.Every(usual)); err != nil {
		return err
	}

	cache := f.Gauge(judge.CacheMax)
	if math.IsNaN(cache) {
		return &fit.MissingError{What: "the cache's size",
			Metrics: []string{"mongodb_ss_wt_cache_maximum_bytes_configured"},
			From:    "a mongod's diagnostic.data has it, as does mongodb_exporter --collector.diagnosticdata (percona)"}
	}

	key := "engine.mongodb."
	f.Add(key+"cache", fit.Exactly(cache), fit.Measured, "the configured size")
	f.checkpoints(key+"checkpoint", cycles, pause)

	if err := f.mongodbLoad(writes); err != nil {
		return err
	}

	f.documents(cycles, cache)
	f.eviction(key)
	f.server(key)

	return nil
}

// checkpoints fills in the pause between two checkpoints.
func (f fitting) checkpoints(key string, c fit.Cycles, configuredS float64) {
	f.PeriodS = c.PeriodS
	switch {
	case configuredS > 0:
		f.PeriodS = configuredS
		f.Add(key, fit.Duration(configuredS), fit.Measured, "the server's parameter syncdelay")
	case !math.IsNaN(c.PeriodS):
		v := f.Add(key, fit.Duration(c.PauseS), fit.Inferred,
			"%d checkpoints ended every %s and took %s (medians): the pause between them", c.N,
			units.Seconds(c.PeriodS), units.Seconds(c.DurationS))
		// The times of a checkpoint are only known to one sampling step.
		step := f.Grid.StepSeconds()
		v.Between(max(c.PauseS-step, 0), c.PauseS+step)
	default:
		f.PeriodS = syncPeriodS
		f.Add(key, fit.Duration(syncPeriodS), fit.Assumed,
			"the pause between checkpoints; mongod's default is assumed, because %d ended in this time", c.N).
			ToKnow("db.adminCommand({getParameter: 1, syncdelay: 1})")
	}
}

// mongodbLoad fills in the rate and the mix.
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
			l.MixOf += fmt.Sprintf("; deletes (%s/s) count as updates, because they dirty a page in the same way",
				units.Number(deletes))
		}
	default:
		l.Shares = []fit.Share{{Kind: "insert", Rate: timeline.Mean(writes)}}
		l.How = fit.Assumed
		l.MixOf = "which writes are inserts and which are updates; all are assumed to be inserts, because mongodb_ss_opcounters is missing or counts none"
	}

	l.Shares = append(l.Shares, fit.Share{Kind: "read", Rate: reads})
	return f.Arrivals(l)
}

// Document sizes, estimated from what writes leave in memory and in the journal.
const (
	// Updates in memory accumulate undisturbed while eviction has no reason to work. So the limits
	// are just below its targets of 5 % dirty and 2.5 % updates (WiredTiger configuration
	// reference, 11.3).
	quietDirty, quietUpdates = 0.045, 0.022
	quietCells               = 3
	// A write to the journal is padded to a multiple of logPadding bytes (WT_LOG_ALIGN, WiredTiger
	// src/include/log.h).
	logPadding = 128
	// documentUsual is assumed if nothing shows the size.
	documentUsual = 1000.0
	// documentMax is the largest possible document (16 MiB). A larger estimate means that the
	// server's own writes outnumber the clients', and says nothing about documents.
	documentMax = 16 << 20
)

// documents fills in the size and number of documents.
func (f fitting) documents(cycles fit.Cycles, cache float64) {
	key := "engine.mongodb."
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

	// opcounters count documents; opLatencies count operations, which may write several.
	writes := f.One(judge.Writes)
	if counted := f.One(judge.WriteCounters); timeline.Mean(counted) > 0 {
		writes = counted
	}

	perWrite := fit.Per(f.Mean(judge.LogPayload), timeline.Mean(writes))
	if perWrite >= 1 {
		f.Add(key+"log_bytes", fit.About(perWrite), fit.Measured,
			"mean journal bytes per write: the journal's payload over the number of writes; a sync pads it to %d B",
			logPadding).
			Between(max(perWrite-logPadding, 1), perWrite)
	}

	const ask = "db.collection.stats().avgObjSize"
	inMemory := f.grown(writes)

	size := documentUsual
	switch {
	case inMemory > 0 && inMemory < documentMax:
		// The updates of the collection, and those of the oplog with their header.
		size = max((inMemory-(copies-1)*overhead)/copies, 1)
		f.Add("workload.document.size", fit.About(size), fit.Inferred,
			"a write left %s of updates in memory%s; for updates that mongod passes on as differences, this is the size of the difference",
			units.Bytes(inMemory), twice(oplog)).
			Between(size/2, math.NaN()).ToKnow(ask)
	case perWrite > overhead && perWrite < documentMax:
		size = perWrite - overhead // once, even with an oplog, because then only the oplog is journaled
		f.Add("workload.document.size", fit.About(size), fit.Inferred,
			"the journal received %s per write, of which about %s are headers; for updates passed on as differences, this is the size of the difference",
			units.Bytes(perWrite), units.Bytes(overhead)).
			Between(size/2, math.NaN()).ToKnow(ask)
	default:
		f.Add("workload.document.size", fit.About(size), fit.Assumed, "document size; 1 kB is assumed").ToKnow(ask)
	}

	f.collection(cycles, cache, size, oplog)
}

func twice(oplog bool) string {
	if oplog {
		return ", in collection and oplog"
	}
	return ""
}

// oplog reports whether writes also go into an oplog, and how that is known.
func (f fitting) oplog() (yes bool, known fit.Known, why string) {
	switch {
	case f.Fact("replica_set") != "" || f.Gauge(judge.Members) >= 1:
		return true, fit.Measured, "a member of a replica set"
	case f.Fact("engine_model") != "" || f.Fact("process") != "" || f.Fact("storage_engine") != "":
		return false, fit.Inferred, "the source has the server's settings, and no replica set among them"
	}
	return true, fit.Assumed, "whether writes also go into an oplog; a member of a replica set is assumed"
}

// grown is how much a write made the updates in memory grow while they accumulated undisturbed; NaN
// if unknown.
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
		// The interval counts only if nothing removed updates at either end of it.
		if d := held[k] - held[k-1]; n >= 1 && d > 0 && quiet(k) && quiet(k-1) {
			per = append(per, d/n)
		}
	}

	if len(per) < quietCells {
		return math.NaN()
	}

	return timeline.Quantile(per, 0.5)
}

// collection fills in the number of documents. Two observations bound it: documents that do not fit
// the cache are read again, and few pages written over and over mean few documents.
func (f fitting) collection(cycles fit.Cycles, cache, size float64, oplog bool) {
	leaf := float64(wt.Defaults().LeafPage)
	fill := timeline.Quantile(f.One(judge.CacheFill), 0.9)
	held := fill * cache
	if math.IsNaN(held) {
		held = cache
	}

	const ask = "db.collection.stats().count, and which of them are in use"
	key := "workload.keys.count"
	ops := fit.Zero(f.Mean(judge.Reads)) + fit.Zero(f.Mean(judge.Updates))
	missed := fit.Per(f.Mean(judge.PagesRead), ops)
	const seen, full = 0.02, 0.75 // share of operations that miss; share of the cache in use
	updates := fit.Zero(f.Mean(judge.Updates))

	bytes, why, known, low, high := held, "", fit.Inferred, math.NaN(), math.NaN()
	switch {
	case ops > 0 && missed >= seen && missed < 1 && fill >= full:
		// With uniform access, the cache holds the share of the documents that does not miss.
		bytes = held / (1 - missed)
		why = fmt.Sprintf("%s of the operations on documents read a page, so with uniform access the %s in the cache are the rest of the working set",
			units.Percent(missed), units.Bytes(held))
		low = held
	case updates >= fit.Zero(f.Mean(judge.Inserts)) && updates > 0 && !math.IsNaN(cycles.PeriodS):
		n := f.Mean(judge.BlocksWritten) * cycles.PeriodS
		if oplog {
			n -= (updates + fit.Zero(f.Mean(judge.Inserts))) * cycles.PeriodS * (size + 100)
		}

		// Distinct inverts the expected number of distinct pages hit by that many uniform updates.
		pages := fit.Distinct(n/leaf, updates*cycles.PeriodS)
		switch {
		case math.IsInf(pages, 1):
			bytes = max(held, updates*cycles.PeriodS*leaf)
			why = "nearly every update between two checkpoints hit a different page"
			low = bytes
		case pages > 0:
			bytes = pages * leaf
			why = fmt.Sprintf("%s updates between two checkpoints rewrote %s pages of 32 KiB, as if spread uniformly over %s pages",
				units.Number(updates*cycles.PeriodS), units.Number(n/leaf), units.Number(pages))
			low, high = n, 2*bytes
		}
	}

	if fits := ops > 0 && missed < seen; fits && why != "" && bytes > held {
		bytes, high = held, math.NaN()
		why += fmt.Sprintf("; but almost no page was read, so the whole working set is in the cache (%s)",
			units.Bytes(held))
		low = min(low, held)
	}

	if why == "" {
		known, why = fit.Assumed,
			fmt.Sprintf("the number of documents, assumed to be as many as fill the %s in the cache",
				units.Bytes(held))
		low = math.NaN()
	}

	f.Data = bytes
	f.Add(key, fit.Count(fit.Significant(max(bytes/size, 1))), known, "%s", why).Between(low/size,
		high/size).ToKnow(ask)
	f.Skew()
	f.Connections("the most operations that clients have in flight; 100 is assumed, the default maxPoolSize of a MongoDB driver")
}

// server fills in settings of a replica set member that differ from the defaults: drivers that do
// not retry writes, and collections that are not compressed. The oplog's counters show the latter
// for the oplog, and a setting for all collections applies to it too.
func (f fitting) server(key string) {
	const few = 0.01 // of the writes
	writes := fit.Zero(f.Mean(judge.Inserts)) + fit.Zero(f.Mean(judge.Updates))
	if n := f.Mean(judge.SessionWrites); writes >= 1 && n < few*writes {
		f.Add(key+"retryable_writes", fit.Boolean(false), fit.Measured,
			"%s writes/s to config.transactions, and %s writes/s of clients", units.Number(n), units.Number(writes))
	}
	if pages := f.Mean(judge.OplogPages); pages > 0 && f.Mean(judge.OplogCompressor) == 0 {
		f.Add(key+"compressor", fit.Boolean(false), fit.Inferred,
			"no compressor was used for the oplog's %s pages/s", units.Number(pages)).
			ToKnow("db.collection.stats(): block_compressor in creationString")
	}
}

// eviction lists what is left at mongod's defaults.
func (f fitting) eviction(key string) {
	if dirty := timeline.Max(f.One(judge.DirtyRatio)); dirty > 0 {
		f.Add(key+"eviction_dirty_target", fit.Ratio(0.05), fit.Assumed,
			"when eviction begins; mongod's defaults are assumed. At most %s of the cache was dirty",
			units.Percent(dirty)).
			AsDefault().ToKnow("db.adminCommand({getParameter: 1, wiredTigerEngineRuntimeConfig: 1})")
	}

	if n := f.Fact("parameter.wiredTigerEngineRuntimeConfig"); n != "" {
		f.Remark("wiredTigerEngineRuntimeConfig is %q: put its eviction settings under engine.mongodb", n)
	}

	if f.Fact("journal") == "disabled" {
		f.Add(key+"journal", fit.Boolean(false), fit.Measured, "the server's settings")
	}

	f.Add(key+"journal_each_write", fit.Boolean(true), fit.Assumed,
		"whether writes wait for the journal (write concern j: true or majority); assumed").
		AsDefault().ToKnow("the clients' write concern")
	f.Add(key+"compression", fit.Ratio(1), fit.Assumed,
		"what compression leaves of a page; page sizes are as written").AsDefault().
		ToKnow("db.collection.stats(): storageSize over size")
}
