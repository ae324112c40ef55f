package fit

import (
	"fmt"
	"math"

	"plimsoll/internal/base/units"
	"plimsoll/internal/record/timeline"

	wt "plimsoll/internal/engine/mongodb/model"
)

// syncPeriodS is the pause between two checkpoints of a mongod that was not told another (storage.syncPeriodSecs).
const syncPeriodS = 60

// mongodb enters WiredTiger under a mongod.
func (f *fitting) mongodb() error {
	pause := f.number("parameter.syncdelay")
	c := f.endings(f.one("wt_checkpoint_time:ratio"), f.one("wt_checkpoint_last:seconds"))
	usual := float64(syncPeriodS)
	switch {
	case pause > 0:
		usual = pause
	case !math.IsNaN(c.periodS): // seen twice and more
		usual = c.periodS
	}
	writes := f.one("mongodb_writes:rate")
	if writes == nil {
		writes = f.one("mongodb_write_counters:rate")
	}
	if writes == nil {
		return &MissingError{What: "what is asked of the database", Metrics: []string{"mongodb_ss_opLatencies_ops", "mongodb_ss_opcounters"},
			From: "a mongod's diagnostic.data gives it, and mongodb_exporter --collector.diagnosticdata (percona)"}
	}
	if err := f.enough(writes, two(usual), every(usual)); err != nil {
		return err
	}
	cache := f.gauge("wt_cache_max:bytes")
	if math.IsNaN(cache) {
		return &MissingError{What: "the cache's size", Metrics: []string{"mongodb_ss_wt_cache_maximum_bytes_configured"},
			From: "a mongod's diagnostic.data gives it, and mongodb_exporter --collector.diagnosticdata (percona)"}
	}
	key := "engine.wiredtiger."
	f.add(key+"cache", exactly(cache), Measured, "the configured size")
	f.checkpoints(key+"checkpoint", c, pause)
	if err := f.mongodbLoad(writes); err != nil {
		return err
	}
	f.documents(c, cache)
	f.eviction(key)
	return nil
}

// checkpoints enters the pause between two checkpoints.
func (f *fitting) checkpoints(key string, c cycles, told float64) {
	f.periodS = c.periodS
	switch {
	case told > 0:
		f.periodS = told
		f.add(key, duration(told), Measured, "the server's parameter syncdelay")
	case !math.IsNaN(c.periodS):
		v := f.add(key, duration(c.pauseS), Inferred, "%d checkpoints ended every %s and took %s (medians): the pause between them", c.n, units.Seconds(c.periodS), units.Seconds(c.durationS))
		step := f.Grid.StepSeconds()
		v.between(max(c.pauseS-step, 0), c.pauseS+step)
	default:
		f.periodS = syncPeriodS
		f.add(key, duration(syncPeriodS), Assumed, "the pause between checkpoints; mongod's default taken, as %d ended in this time", c.n).
			measure("db.adminCommand({getParameter: 1, syncdelay: 1})")
	}
}

// mongodbLoad enters the rate and the mix.
func (f *fitting) mongodbLoad(writes []float64) error {
	const internal = "operations completed"
	inserts, updates, deletes := zero(f.mean("mongodb_inserts:rate")), zero(f.mean("mongodb_updates:rate")), zero(f.mean("mongodb_deletes:rate"))
	reads := f.mean("mongodb_reads:rate")
	if math.IsNaN(reads) {
		reads = f.mean("mongodb_queries:rate")
	}
	l := load{ops: writes, how: Measured, rateOf: internal, mixOf: "the counters of operations"}
	total := inserts + updates + deletes
	switch {
	case total > 0:
		l.shares = []share{{"insert", inserts}, {"update", updates + deletes}}
		if deletes > 0 {
			l.mixOf += fmt.Sprintf("; deletes (%s/s) are counted as updates, which dirty a page alike", units.Number(deletes))
		}
	default:
		l.shares = []share{{"insert", timeline.Mean(writes)}}
		l.how = Assumed
		l.mixOf = "which writes are inserts and which are updates; all are taken for inserts, as mongodb_ss_opcounters is missing or counts none"
	}
	l.shares = append(l.shares, share{"read", reads})
	return f.arrivals(l)
}

// Bytes of documents, from what writes leave in memory and in the journal.
const (
	// Changes in memory grow undisturbed where eviction has no reason to work: a little under its targets of 5 % dirty and 2.5 % of
	// changes (WiredTiger configuration reference, 11.3).
	quietDirty, quietUpdates = 0.045, 0.022
	quietCells               = 3
	// logPadding is to what a write of the journal is padded (WT_LOG_ALIGN, WiredTiger src/include/log.h).
	logPadding = 128
	// documentUsual is taken where nothing tells.
	documentUsual = 1000.0
)

// documents enters how large they are and how many.
func (f *fitting) documents(c cycles, cache float64) {
	key := "engine.wiredtiger."
	oplog, how, why := f.oplog()
	f.add(key+"oplog", boolean(oplog), how, "%s", why)
	copies := 1.0
	if oplog {
		copies = 2
	}
	overhead := float64(wt.Defaults().LogRecord)
	writes := f.one("mongodb_writes:rate")
	if counted := f.one("mongodb_write_counters:rate"); timeline.Mean(counted) > 0 {
		writes = counted
	}
	perWrite := f.mean("wt_log_payload:bytes") / timeline.Mean(writes)
	if perWrite >= 1 && !math.IsInf(perWrite, 0) {
		f.add(key+"log_bytes", about(perWrite), Measured, "what a write put into the journal, on average: its payload over the writes; a sync pads it to %d B", logPadding).
			between(max(perWrite-logPadding, 1), perWrite)
	}
	const ask = "db.collection.stats().avgObjSize"
	inMemory := f.grown(writes)
	size := documentUsual
	switch {
	case inMemory > 0:
		// The collection's change, and the oplog's with its header.
		size = max((inMemory-(copies-1)*overhead)/copies, 1)
		f.add("workload.document.size", about(size), Inferred, "a write left %s of changes in memory%s; of updates that mongod gives as differences it is the difference", units.Bytes(inMemory), twice(oplog)).
			between(size/2, math.NaN()).measure(ask)
	case perWrite > overhead:
		size = perWrite - overhead // once, also with an oplog: then that alone is journalled
		f.add("workload.document.size", about(size), Inferred, "the journal had %s a write, of which some %s are headers; of updates that are differences it is the difference", units.Bytes(perWrite), units.Bytes(overhead)).
			between(size/2, math.NaN()).measure(ask)
	default:
		f.add("workload.document.size", about(size), Assumed, "document size; 1 kB taken").measure(ask)
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
func (f *fitting) oplog() (yes bool, known Known, why string) {
	switch {
	case f.fact("replica_set") != "" || f.gauge("mongodb_members:count") >= 1:
		return true, Measured, "a member of a replica set"
	case f.fact("engine_model") != "" || f.fact("process") != "" || f.fact("storage_engine") != "":
		return false, Inferred, "the source tells a server's settings and no replica set among them"
	}
	return true, Assumed, "whether writes go into an oplog as well; a member of a replica set taken"
}

// grown is by how much a write made the changes in memory grow where they grew undisturbed; NaN if that is not known.
func (f *fitting) grown(writes []float64) float64 {
	held := f.one("wt_updates:bytes")
	if held == nil {
		return math.NaN()
	}
	running, dirty, updates := f.one("wt_checkpoint_running:bool"), f.one("wt_dirty:ratio"), f.one("wt_updates:ratio")
	quiet := func(k int) bool {
		return (running == nil || running[k] == 0) && (dirty == nil || dirty[k] < quietDirty) && (updates == nil || updates[k] < quietUpdates)
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

// collection enters how many documents there are: what does not fit the cache is read again, and pages that are written again and
// again are few.
func (f *fitting) collection(c cycles, cache, size float64, oplog bool) {
	leaf := float64(wt.Defaults().LeafPage)
	fill := timeline.Quantile(f.one("wt_cache_fill:ratio"), 0.9)
	held := fill * cache
	if math.IsNaN(held) {
		held = cache
	}
	const ask = "db.collection.stats().count, and which of them are asked for"
	key := "workload.keys.count"
	ops := zero(f.mean("mongodb_reads:rate")) + zero(f.mean("mongodb_updates:rate"))
	missed := f.mean("wt_pages_read:rate") / ops
	const seen, full = 0.02, 0.75 // of the operations missed; of the cache filled
	updates := zero(f.mean("mongodb_updates:rate"))
	bytes, why, known, low, high := held, "", Inferred, math.NaN(), math.NaN()
	switch {
	case ops > 0 && missed >= seen && missed < 1 && fill >= full:
		bytes = held / (1 - missed)
		why = fmt.Sprintf("%s of the operations on documents read a page: the cache's %s are the rest of what is asked for, were it asked for evenly", units.Percent(missed), units.Bytes(held))
		low = held
	case updates >= zero(f.mean("mongodb_inserts:rate")) && updates > 0 && !math.IsNaN(c.periodS):
		n := f.mean("wt_blocks_written:bytes") * c.periodS
		if oplog {
			n -= (updates + zero(f.mean("mongodb_inserts:rate"))) * c.periodS * (size + 100)
		}
		pages := distinct(n/leaf, updates*c.periodS)
		switch {
		case math.IsInf(pages, 1):
			bytes = max(held, updates*c.periodS*leaf)
			why = "nearly every update between two checkpoints met another page"
			low = bytes
		case pages > 0:
			bytes = pages * leaf
			why = fmt.Sprintf("%s updates between two checkpoints wrote %s pages of 32 KiB again, as of %s that are asked for evenly",
				units.Number(updates*c.periodS), units.Number(n/leaf), units.Number(pages))
			low, high = n, 2*bytes
		}
	}
	if fits := ops > 0 && missed < seen; fits && why != "" && bytes > held {
		bytes, high = held, math.NaN()
		why += fmt.Sprintf("; but hardly a page was read, so all that is asked for is in the cache's %s", units.Bytes(held))
		low = min(low, held)
	}
	if why == "" {
		known, why = Assumed, fmt.Sprintf("how many documents there are; what fills the %s in the cache taken", units.Bytes(held))
		low = math.NaN()
	}
	f.data = bytes
	f.add(key, count(significant(max(bytes/size, 1))), known, "%s", why).between(low/size, high/size).measure(ask)
	f.skew()
	f.connections()
}

// eviction says what is left to mongod's defaults.
func (f *fitting) eviction(key string) {
	if dirty := timeline.Max(f.one("wt_dirty:ratio")); dirty > 0 {
		f.add(key+"eviction_dirty_target", ratio(0.05), Assumed, "when eviction begins; mongod's defaults taken. At most %s of the cache were dirty", units.Percent(dirty)).
			left().measure("db.adminCommand({getParameter: 1, wiredTigerEngineRuntimeConfig: 1})")
	}
	if n := f.fact("parameter.wiredTigerEngineRuntimeConfig"); n != "" {
		f.remark("wiredTigerEngineRuntimeConfig is %q: put what it says of eviction under engine.wiredtiger", n)
	}
	if f.fact("journal") == "disabled" {
		f.add(key+"journal", boolean(false), Measured, "the server's settings")
	}
	f.add(key+"journal_each_write", boolean(true), Assumed, "whether writes wait for the journal (write concern j: true or majority); taken").
		left().measure("the clients' write concern")
	f.add(key+"compression", ratio(1), Assumed, "what compression leaves of a page; pages are taken as they are written").left().
		measure("db.collection.stats(): storageSize over size")
}

// leader is the instance of etcd that leads most of the time, "m1" if none tells.
func (f *fitting) leader() string {
	best, name := 0.0, "m1"
	for _, t := range f.Signal(named("etcd_is_leader:bool")) {
		if s := timeline.Sum(t.Values); s > best {
			best, name = s, t.Labels.Get("instance")
		}
	}
	return name
}
