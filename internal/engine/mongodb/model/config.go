package model

import (
	"time"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/units"
)

// Config is WiredTiger's configuration, as set by mongod or an application. [Defaults] is mongod's.
type Config struct {
	// Cache is cache_size. mongod's default is half of the memory less 1 GB.
	Cache units.Size `yaml:"cache"`

	// Above a target, eviction begins; above a trigger, application threads have to evict too. The
	// levels are shares of the whole cache (80 % and 95 %), of dirty pages (5 % and 20 %), and of
	// updates not yet in a page's image (0: half of the dirty ones).
	EvictionTarget         units.Ratio `yaml:"eviction_target"`
	EvictionTrigger        units.Ratio `yaml:"eviction_trigger"`
	EvictionDirtyTarget    units.Ratio `yaml:"eviction_dirty_target"`
	EvictionDirtyTrigger   units.Ratio `yaml:"eviction_dirty_trigger"`
	EvictionUpdatesTarget  units.Ratio `yaml:"eviction_updates_target"`
	EvictionUpdatesTrigger units.Ratio `yaml:"eviction_updates_trigger"`
	// EvictionCheckpointTarget is the dirty share that eviction first works towards when a
	// checkpoint begins (1 %).
	EvictionCheckpointTarget units.Ratio `yaml:"eviction_checkpoint_target"`
	// Threads of eviction: mongod pins both to 4.
	EvictionThreadsMin int `yaml:"eviction_threads_min"`
	EvictionThreadsMax int `yaml:"eviction_threads_max"`

	// Checkpoint is the pause from the end of one checkpoint to the beginning of the next
	// (storage.syncPeriodSecs, 60 s).
	Checkpoint units.Duration `yaml:"checkpoint"`
	// LeafPage is leaf_page_max (32 KB): the size of a leaf on disk before compression.
	LeafPage units.Size `yaml:"leaf_page"`
	// Compression is the size of a page on disk over its size in memory: about 0.5 with snappy on
	// documents (assumed), 1 if they do not compress.
	Compression units.Ratio `yaml:"compression"`
	// Compressor means that pages pass through a compressor, as a server's do by default (snappy),
	// whether or not they become smaller. Then a leaf may exceed leaf_page in memory: it may hold
	// what takes leaf_page on disk, but at most four times leaf_page. Without a compressor, it is
	// split earlier.
	Compressor *bool `yaml:"compressor"`
	// IOCapacity is io_capacity=(total=...); 0 means no limit, the default. If it is set, the
	// engine's writes are paced, and they are handed to the volume every 10 MB instead of being
	// left to the kernel.
	IOCapacity units.Throughput `yaml:"io_capacity"`

	// Journal means that there is a log (on by default). Without one, nothing is synced between
	// checkpoints, writes are acknowledged immediately, and a crash loses everything written since
	// the last checkpoint; the settings below then have no effect. A standalone mongod could run
	// this way (--nojournal) until 6.0, and so can a program that embeds WiredTiger
	// (log=(enabled=false), its default).
	Journal *bool `yaml:"journal"`
	// JournalEach means that each write waits for the log (write concern j: true or majority).
	// Otherwise the log is synced every JournalInterval (100 ms) and writes do not wait.
	JournalEach     *bool          `yaml:"journal_each_write"`
	JournalInterval units.Duration `yaml:"journal_interval"`
	// LogRecord is what a write adds to the log besides its document: record header and keys (about
	// 100 B, assumed). LogBytes, if not 0, is the total, whatever the document's size.
	LogRecord units.Size `yaml:"log_record"`
	LogBytes  units.Size `yaml:"log_bytes"`
	// LogFile is the size of a log file (100 MB).
	LogFile units.Size `yaml:"log_file"`

	// Documents and DocumentSize describe the collection at the start of the run. By default they
	// come from the workload.
	Documents    uint64     `yaml:"documents"`
	DocumentSize units.Size `yaml:"document_size"`
	// Indexes is the number of indexes besides _id; their entries are in random places. IndexEntry
	// is the size of one entry (40 B, assumed).
	Indexes    int        `yaml:"indexes"`
	IndexEntry units.Size `yaml:"index_entry"`
	// Oplog means that this is the engine of a replica set's member: each write is also inserted
	// into the oplog, which alone is journaled. Without it, this is the bare engine in its own program.
	Oplog *bool `yaml:"oplog"`
	// History is how long a replica set's member keeps the versions that writes replaced
	// (minSnapshotHistoryWindowInSeconds, 300 s since 5.0). When a changed page is written, they go
	// into the history store, a separate table. 0 means none, as before 5.0 and without an oplog.
	History units.Duration `yaml:"history"`
	// RetryableWrites means that drivers retry writes, the default since 4.2. Each write then also
	// updates its session's record in config.transactions, and the replaced record goes into the
	// history store too.
	RetryableWrites *bool `yaml:"retryable_writes"`
	// Loading, if not 0, means that the run begins right after its documents were loaded, which
	// took this long, as in a laboratory. What loading wrote is in the page cache, in blocks that
	// the file system has yet to allocate. A requested checkpoint begins, and after it the page
	// cache is written out (sync). The server's own first checkpoint is due Checkpoint after it
	// started, so earlier in the run.
	Loading units.Duration `yaml:"loading"`
	// PageCache means that a page which is not in the cache may be in the kernel's page cache (on
	// by default).
	PageCache *bool `yaml:"page_cache"`
	// PageCacheKeeps is how long, on average, the host's page cache keeps pages that have been
	// unused for over 30 s. 0 means as long as there is memory, which is Linux's own behaviour. The
	// default, 40 s, was fitted to runs of a real server on a virtual machine that returns cold
	// page cache; many hosts have less memory for it than data. It applies with an oplog.
	PageCacheKeeps units.Duration `yaml:"page_cache_keeps"`

	CPU CPU `yaml:"cpu"`
}

// CPU is the CPU time of each step, and the time an eviction thread needs for a page including the
// search for it. Calibrated on the measured runs, on 2 virtual CPUs (see the package's doc).
type CPU struct {
	Operation units.Duration `yaml:"operation"`
	Page      units.Duration `yaml:"page"` // reconciling and writing a page
	// Eviction is an eviction thread's time per page, most of it not on a core. 0 means the
	// measured time: 600 us with an oplog, otherwise 2 ms.
	Eviction units.Duration `yaml:"eviction"`
	// Request, Round and Reply are a server's costs in a replica set: of a request before it
	// reaches the engine, of a round of the journal's flusher before it syncs, and of the reply to
	// a write.
	Request units.Duration `yaml:"request"`
	Round   units.Duration `yaml:"round"`
	Reply   units.Duration `yaml:"reply"`
	// Busy is the fraction of a request's and a reply's cost that remains if no core is free: no
	// idle core has to be woken for a thread, and several requests are handled at a time. An update
	// of a mongod 5.0.7 took 2.4 ms of CPU at 300/s, and 1.0 ms when both cores were busy, without
	// the cost of pages (kernel counters of eight runs).
	Busy units.Ratio `yaml:"busy"`
}

// Defaults returns mongod's defaults, for a replica set's member.
func Defaults() Config {
	yes := true
	return Config{
		Cache:          units.GiB,
		EvictionTarget: 0.80, EvictionTrigger: 0.95,
		EvictionDirtyTarget: 0.05, EvictionDirtyTrigger: 0.20,
		EvictionCheckpointTarget: 0.01,
		EvictionThreadsMin:       4, EvictionThreadsMax: 4,
		Checkpoint: units.Duration(60 * time.Second),
		LeafPage:   32 * units.KiB, Compression: 1,
		Journal: &yes, JournalEach: &yes, JournalInterval: units.Duration(100 * time.Millisecond),
		LogRecord: 100, LogFile: 100 * units.MB,
		IndexEntry: 40,
		Oplog:      &yes, PageCache: &yes, RetryableWrites: &yes, Compressor: &yes,
		History: units.Duration(300 * time.Second), PageCacheKeeps: units.Duration(40 * time.Second),
		CPU: CPU{
			Operation: units.Duration(60 * time.Microsecond),
			Page:      units.Duration(90 * time.Microsecond),
			Request:   units.Duration(900 * time.Microsecond),
			Round:     units.Duration(200 * time.Microsecond),
			Reply:     units.Duration(400 * time.Microsecond),
			Busy:      0.7,
		},
	}
}

// An eviction thread's time per page. bareTurn is calibrated on the measured runs of WiredTiger
// 3.2.1 alone; serverTurn is the best rate of four threads of a mongod 5.0.7, 6,742 pages in a
// second.
const (
	bareTurn   = units.Duration(2 * time.Millisecond)
	serverTurn = units.Duration(600 * time.Microsecond)
)

// Limits of the model. They bound memory: a page takes 20 bytes here.
const (
	pagesMax   = 1 << 28
	indexesMax = 64
)

// A Share is a level as a share of the cache, with its name in WiredTiger's configuration.
type Share struct {
	Name string
	Of   units.Ratio
}

// EvictionShares returns the levels that control eviction.
func (c *Config) EvictionShares() []Share {
	return []Share{
		{"eviction_target", c.EvictionTarget}, {"eviction_trigger", c.EvictionTrigger},
		{"eviction_dirty_target", c.EvictionDirtyTarget}, {"eviction_dirty_trigger", c.EvictionDirtyTrigger},
		{"eviction_updates_target", c.EvictionUpdatesTarget},
		{"eviction_updates_trigger", c.EvictionUpdatesTrigger},
		{"eviction_checkpoint_target", c.EvictionCheckpointTarget},
	}
}

// Check reports impossible values.
func (c *Config) Check() inputerror.List {
	var problems inputerror.List
	add := func(field, text, limit, nearest string) {
		problems = append(problems, inputerror.Problem{Field: field, Text: text, Limit: limit,
			Source: "WiredTiger configuration reference, 11.3", Nearest: nearest})
	}

	if c.Cache < units.MiB || c.Cache > 10*units.TiB {
		add("cache", "cache of "+c.Cache.Exact()+" out of range", "1MiB to 10TiB",
			min(max(c.Cache, units.MiB), 10*units.TiB).Exact())
	}

	for _, p := range []struct {
		name            string
		target, trigger units.Ratio
	}{
		// Eviction threads stop at the target, so a trigger below it would never be left.
		{"eviction", c.EvictionTarget, c.EvictionTrigger},
		{"eviction_dirty", c.EvictionDirtyTarget, c.EvictionDirtyTrigger},
	} {
		if p.target <= 0 || p.target > 1 {
			add(p.name+"_target", "target of "+p.target.String()+" out of range", "over 0 to 100 %", "")
		}
		if p.trigger <= p.target || p.trigger > 1 {
			add(p.name+"_trigger", "trigger of "+p.trigger.String()+" must be above the target of "+
				p.target.String(), "above the target, up to 100 %", "")
		}
	}

	if c.EvictionThreadsMin < 1 || c.EvictionThreadsMin > 20 || c.EvictionThreadsMax < 1 ||
		c.EvictionThreadsMax > 20 {
		add("eviction_threads_max", "eviction takes 1 to 20 threads", "20", "20")
	}

	if c.LeafPage < 512 || c.LeafPage > 512*units.MiB {
		add("leaf_page", "leaf page of "+c.LeafPage.Exact()+" out of range", "512B to 512MiB", "32KiB")
	}

	if c.Compression <= 0 || c.Compression > 1 {
		add("compression", "compression to "+c.Compression.String()+" out of range", "over 0 to 100 %", "100%")
	}

	if c.Checkpoint < units.Duration(100*time.Millisecond) {
		add("checkpoint", "pause of "+c.Checkpoint.String()+" between checkpoints is too short",
			"at least 100ms", "100ms")
	}

	if c.CPU.Busy < 0 || c.CPU.Busy > 1 {
		add("cpu.busy", "fraction of "+c.CPU.Busy.String()+" out of range", "0 to 100 %", "100%")
	}

	if c.IOCapacity != 0 && c.IOCapacity < 1024*1024 {
		add("io_capacity", c.IOCapacity.String()+" is too low", "at least 1MB/s", "1MiB/s")
	}

	if c.LogFile < 100*units.KB || c.LogFile > 2*units.GiB {
		add("log_file", "log file of "+c.LogFile.Exact()+" out of range", "100kB to 2GiB", "100MB")
	}

	if c.Indexes < 0 || c.Indexes > indexesMax {
		add("indexes", "a collection has at most 64 indexes", "64 (MongoDB limits, 8.0)", "64")
	}

	if c.DocumentSize < 0 || c.DocumentSize > 16*units.MiB {
		add("document_size", "document of "+c.DocumentSize.Exact()+" out of range", "16MiB (BSON)", "16MiB")
	}

	// The product bounds the pages, not the bytes: the model keeps a state for each page.
	if pages := uint64(max(c.DocumentSize, 1)) * c.Documents / uint64(max(c.LeafPage, 1)); c.Documents > 1<<40 ||
		pages > pagesMax {
		add("documents", "more documents than the model supports", "8 TiB of leaf pages of 32 KiB", "")
	}

	return problems
}

func (c *Config) complete() {
	if c.EvictionUpdatesTarget == 0 {
		c.EvictionUpdatesTarget = c.EvictionDirtyTarget / 2
	}
	if c.EvictionUpdatesTrigger == 0 {
		c.EvictionUpdatesTrigger = c.EvictionDirtyTrigger / 2
	}
	if c.CPU.Eviction == 0 {
		c.CPU.Eviction = bareTurn
		if Enabled(c.Oplog) {
			c.CPU.Eviction = serverTurn
		}
	}
	c.DocumentSize = max(c.DocumentSize, 1)
}

// Enabled returns a setting that is on by default.
func Enabled(b *bool) bool { return b == nil || *b }
