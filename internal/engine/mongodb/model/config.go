package model

import (
	"time"

	"plimsoll/internal/base/diagnostics"
	"plimsoll/internal/base/units"
)

// Config is WiredTiger as mongod or an application configures it. [Defaults] is mongod's.
type Config struct {
	// Cache is cache_size; mongod's default is half of the memory less 1 GB.
	Cache units.Size `yaml:"cache"`

	// Eviction begins over a target, and is done by the application's threads too over a
	// trigger: of the whole cache (80 % and 95 %), of what is dirty (5 % and 20 %), and of
	// updates not yet on a page's image (half of the dirty ones; 0 means that).
	EvictionTarget         units.Ratio `yaml:"eviction_target"`
	EvictionTrigger        units.Ratio `yaml:"eviction_trigger"`
	EvictionDirtyTarget    units.Ratio `yaml:"eviction_dirty_target"`
	EvictionDirtyTrigger   units.Ratio `yaml:"eviction_dirty_trigger"`
	EvictionUpdatesTarget  units.Ratio `yaml:"eviction_updates_target"`
	EvictionUpdatesTrigger units.Ratio `yaml:"eviction_updates_trigger"`
	// EvictionCheckpointTarget is the dirty share to which a checkpoint first lets eviction go down
	// (1 %).
	EvictionCheckpointTarget units.Ratio `yaml:"eviction_checkpoint_target"`
	// Threads of eviction: mongod pins both to 4.
	EvictionThreadsMin int `yaml:"eviction_threads_min"`
	EvictionThreadsMax int `yaml:"eviction_threads_max"`

	// Checkpoint is the pause after one ended until the next begins (storage.syncPeriodSecs, 60 s).
	Checkpoint units.Duration `yaml:"checkpoint"`
	// LeafPage is leaf_page_max (32 KB): what a leaf takes on disk, before compression.
	LeafPage units.Size `yaml:"leaf_page"`
	// Compression is the size of a page on disk over its size in memory: about 0.5 with snappy on
	// documents (assumed), 1 if they do not compress.
	Compression units.Ratio `yaml:"compression"`
	// Compressor says that pages go through one, as a server's do by default (snappy), whether they
	// become smaller or not. Then a leaf has more than leaf_page in memory: what takes leaf_page on
	// disk, four times as much at most. Without one, it is split before.
	Compressor *bool `yaml:"compressor"`
	// IOCapacity is io_capacity=(total=...), 0: no limit, the default. With it, the engine's writes
	// are paced, and what it wrote is handed to the volume every 10 MB instead of left to the
	// kernel.
	IOCapacity units.Throughput `yaml:"io_capacity"`

	// Journal says that there is a log (on by default). Without one, nothing is synced between
	// checkpoints, writes are answered immediately, and a crash loses what was written since the
	// last checkpoint; the settings below have no effect then. mongod alone could run this way
	// (--nojournal) until 6.0; a program that embeds WiredTiger can (WiredTiger's
	// log=(enabled=false), its default).
	Journal *bool `yaml:"journal"`
	// JournalEach says that each write waits for the log (write concern j: true, or majority);
	// otherwise the log is synced every JournalInterval (100 ms) and writes do not wait.
	JournalEach     *bool          `yaml:"journal_each_write"`
	JournalInterval units.Duration `yaml:"journal_interval"`
	// LogRecord is what a write puts into the log in addition to its document: record header, keys
	// (about 100 B, assumed). LogBytes, if not 0, is the total, whatever the document.
	LogRecord units.Size `yaml:"log_record"`
	LogBytes  units.Size `yaml:"log_bytes"`
	// LogFile is the size of a log file (100 MB).
	LogFile units.Size `yaml:"log_file"`

	// Documents and DocumentSize describe the collection as the run begins; if they are not given,
	// the workload sets them.
	Documents    uint64     `yaml:"documents"`
	DocumentSize units.Size `yaml:"document_size"`
	// Indexes besides _id, whose entries are in random places; IndexEntry is the size of one entry
	// (40 B, assumed).
	Indexes    int        `yaml:"indexes"`
	IndexEntry units.Size `yaml:"index_entry"`
	// Oplog says that this is a server's engine, in a replica set: each write is also inserted into
	// the oplog, which alone is journaled. Without, it is the bare engine in a program of its own.
	Oplog *bool `yaml:"oplog"`
	// History is for how long a member of a replica set keeps the versions that writes replaced
	// (minSnapshotHistoryWindowInSeconds, 300 s since 5.0): when a changed page is written, they go
	// into the history store, a table of its own. 0 is none, as before 5.0 and without an oplog.
	History units.Duration `yaml:"history"`
	// RetryableWrites says that drivers retry writes, as they do by default since 4.2: then each write
	// also updates the record of its session in config.transactions, and what that replaces goes into
	// the history store too.
	RetryableWrites *bool `yaml:"retryable_writes"`
	// Loading, if it is not 0, says that the run begins right after its documents were loaded, which
	// took this long, as in a laboratory: what loading wrote is in the page cache, in blocks that the
	// file system has yet to allocate, a checkpoint that was asked for begins, and after it the page
	// cache is written out (sync). The server's own first checkpoint is due Checkpoint after it
	// started, so earlier in the run.
	Loading units.Duration `yaml:"loading"`
	// PageCache says that a page which is not in the cache may be in the kernel's (on by default).
	PageCache *bool `yaml:"page_cache"`
	// PageCacheKeeps is how long the host's page cache keeps what nobody uses for longer than 30 s,
	// on average. 0 means as long as there is memory, which is what Linux does by itself. The
	// default, 40 s, was chosen on runs of a real server on one virtual machine, which gives cold page
	// cache back; many hosts have less memory for it than data. It applies with an oplog.
	PageCacheKeeps units.Duration `yaml:"page_cache_keeps"`

	CPU CPU `yaml:"cpu"`
}

// CPU is what steps cost a core, and what an eviction thread needs for a page including the search
// for one. Calibrated on the measured runs, on 2 virtual CPUs (see the package's doc).
type CPU struct {
	Operation units.Duration `yaml:"operation"`
	Page      units.Duration `yaml:"page"` // reconciling and writing a page
	// Eviction is a page's turn of an eviction thread, most of it not on a core. 0 means what was
	// measured: 600 us with an oplog, else 2 ms.
	Eviction units.Duration `yaml:"eviction"`
	// Request, Round and Reply are the server's, in a replica set: what a request costs before the
	// engine has it, a round of the journal's flusher before it syncs, and the answer to a write
	// after it.
	Request units.Duration `yaml:"request"`
	Round   units.Duration `yaml:"round"`
	Reply   units.Duration `yaml:"reply"`
	// Busy is what is left of a request's and a reply's cost if no core is free: then no idle core has
	// to be woken for a thread, and several requests are handled at a time. An update of a mongod
	// 5.0.7 took its cores 2.4 ms at 300/s, and 1.0 ms where both cores were busy, without what pages
	// took (kernel counters of eight runs).
	Busy units.Ratio `yaml:"busy"`
}

// Defaults are mongod's, of a replica set's member.
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

// A page's turn of an eviction thread: calibrated on the measured runs of WiredTiger 3.2.1 alone; and
// what four threads of a mongod 5.0.7 did at best, 6,742 pages in a second.
const (
	bareTurn   = units.Duration(2 * time.Millisecond)
	serverTurn = units.Duration(600 * time.Microsecond)
)

// The bounds: of memory, a page is 12 bytes here.
const (
	pagesMax   = 1 << 28
	indexesMax = 64
)

// A Share is a share of the cache, by its name in WiredTiger's configuration.
type Share struct {
	Name string
	Of   units.Ratio
}

// EvictionShares are those that eviction goes by.
func (c *Config) EvictionShares() []Share {
	return []Share{
		{"eviction_target", c.EvictionTarget}, {"eviction_trigger", c.EvictionTrigger},
		{"eviction_dirty_target", c.EvictionDirtyTarget}, {"eviction_dirty_trigger", c.EvictionDirtyTrigger},
		{"eviction_updates_target", c.EvictionUpdatesTarget},
		{"eviction_updates_trigger", c.EvictionUpdatesTrigger},
		{"eviction_checkpoint_target", c.EvictionCheckpointTarget},
	}
}

// Check finds what cannot be.
func (c *Config) Check() diagnostics.List {
	var l diagnostics.List
	add := func(field, text, limit, nearest string) {
		l = append(l, diagnostics.Problem{Field: field, Text: text, Limit: limit,
			Source: "WiredTiger configuration reference, 11.3", Nearest: nearest})
	}

	if c.Cache < units.MiB || c.Cache > 10*units.TiB {
		add("cache", c.Cache.Exact()+" is no cache size", "1MiB to 10TiB",
			min(max(c.Cache, units.MiB), 10*units.TiB).Exact())
	}

	for _, p := range []struct {
		name            string
		target, trigger units.Ratio
	}{
		{"eviction", c.EvictionTarget, c.EvictionTrigger},
		{"eviction_dirty", c.EvictionDirtyTarget, c.EvictionDirtyTrigger},
	} {
		if p.target <= 0 || p.target > 1 {
			add(p.name+"_target", p.target.String()+" is no target", "over 0 to 100 %", "")
		}
		if p.trigger <= p.target || p.trigger > 1 {
			add(p.name+"_trigger", p.trigger.String()+" is not over the target of "+
				p.target.String(), "over the target, to 100 %", "")
		}
	}

	if c.EvictionThreadsMin < 1 || c.EvictionThreadsMin > 20 || c.EvictionThreadsMax < 1 ||
		c.EvictionThreadsMax > 20 {
		add("eviction_threads_max", "eviction has 1 to 20 threads", "20", "20")
	}

	if c.LeafPage < 512 || c.LeafPage > 512*units.MiB {
		add("leaf_page", c.LeafPage.Exact()+" is no leaf page", "512B to 512MiB", "32KiB")
	}

	if c.Compression <= 0 || c.Compression > 1 {
		add("compression", c.Compression.String()+" is left of no page", "over 0 to 100 %", "100%")
	}

	if c.Checkpoint < units.Duration(100*time.Millisecond) {
		add("checkpoint", c.Checkpoint.String()+" is no pause between checkpoints", "100ms at least", "100ms")
	}

	if c.CPU.Busy < 0 || c.CPU.Busy > 1 {
		add("cpu.busy", c.CPU.Busy.String()+" is left of no cost", "0 to 100 %", "100%")
	}

	if c.IOCapacity != 0 && c.IOCapacity < 1024*1024 {
		add("io_capacity", c.IOCapacity.String()+" is too little", "1MB/s at least", "1MiB/s")
	}

	if c.LogFile < 100*units.KB || c.LogFile > 2*units.GiB {
		add("log_file", c.LogFile.Exact()+" is no log file", "100kB to 2GiB", "100MB")
	}

	if c.Indexes < 0 || c.Indexes > indexesMax {
		add("indexes", "a collection has at most 64 indexes", "64 (MongoDB limits, 8.0)", "64")
	}

	if c.DocumentSize < 0 || c.DocumentSize > 16*units.MiB {
		add("document_size", c.DocumentSize.Exact()+" is no document", "16MiB (BSON)", "16MiB")
	}

	if pages := uint64(max(c.DocumentSize, 1)) * c.Documents / uint64(max(c.LeafPage, 1)); c.Documents > 1<<40 ||
		pages > pagesMax {
		add("documents", "more documents than are modelled", "8 TiB of leaf pages of 32 KiB", "")
	}

	return l
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
		if is(c.Oplog) {
			c.CPU.Eviction = serverTurn
		}
	}
	c.DocumentSize = max(c.DocumentSize, 1)
}

func is(b *bool) bool { return b == nil || *b }
