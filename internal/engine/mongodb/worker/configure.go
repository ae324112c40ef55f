//go:build linux

package worker

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/base/units"
	wiredtiger "plimsoll/internal/engine/mongodb/model"
)

// tickets is mongod's default up to 6.0, for reads and for writes
// (storageEngineConcurrentReadTransactions and -Write-, 128).
const tickets = 128

// extraSessions are the sessions without a ticket: the worker's and the engine's own.
const extraSessions = 64

// oplogSize is the size at which the oplog is truncated: mongod's minimum (MongoDB manual, replica
// set oplog, 8.0: 5 % of the disk, at least 990 MB).
const oplogSize = 990 * units.MB

// tableFormat is mongod's: internal pages of 4 KB and leaves of 32 KB that split when they reach 10
// MB in memory, 90 % full; no document gets its own pages. (MongoDB 8.0,
// WiredTigerRecordStore::generateCreateString.)
const tableFormat = "allocation_size=%d,internal_page_max=%d,leaf_page_max=%d,leaf_value_max=64MB,memory_page_max=%d,split_pct=90,checksum=on"

// indexFormat is mongod's: pages of 16 KB with prefix compression. (MongoDB 8.0,
// WiredTigerIndex::generateCreateString.)
const indexFormat = "internal_page_max=16KB,leaf_page_max=16KB,prefix_compression=true"

// A configuration is what the worker needs to open a database.
type configuration struct {
	home                                string
	connection, documents, index, oplog string
	threads                             int
	checkpointMs, syncMs                uint32
	log, whole                          bool
	randomPercent                       byte
	indexes, indexEntry                 uint32
	oplogRecord, oplogBytes             uint32
	oplogSize                           units.Size
	warm                                units.Size // bytes in the cache at the start of a run
}

// A place is where a database is stored.
type place struct {
	home, journal string
}

// options are settings for tests that scenarios do not have.
type options struct {
	whole bool       // changes are never passed as differences
	oplog units.Size // maximum size of the oplog; 0: as in mongod
}

// configure translates a scenario's settings to the engine's.
func configure(cfg *wiredtiger.Config, at place, connections int, major int,
	opt options) (result configuration,
	warnings []string, err error) {
	snappy := ""
	if cfg.Compression < 1 {
		if snappy, err = findSnappy(); err != nil {
			return result, nil, err
		}
	}

	result = configuration{
		home: at.home, threads: min(max(connections, 1), tickets),
		checkpointMs: ms(cfg.Checkpoint), syncMs: ms(cfg.JournalInterval), log: wiredtiger.Enabled(cfg.Journal),
		whole:         opt.whole,
		randomPercent: randomPercent(cfg.Compression), indexes: uint32(cfg.Indexes),
		indexEntry:  uint32(min(cfg.IndexEntry, 1<<15)),
		oplogRecord: uint32(min(max(cfg.LogRecord, 0), documentBytesMax)),
		oplogBytes:  uint32(min(max(cfg.LogBytes, 0), documentBytesMax)),
		warm:        units.Size(float64(cfg.Cache) * float64(cfg.EvictionTarget)),
	}
	if result.oplogSize = opt.oplog; result.oplogSize == 0 {
		result.oplogSize = oplogSize
	}

	if result.connection, warnings, err = connection(cfg, at, 2*result.threads+extraSessions, major,
		snappy); err != nil {
		return result, nil, err
	}

	compressor, logged, unlogged := "", "", ""
	if snappy != "" {
		compressor = ",block_compressor=snappy"
	}

	// In a replica set only the oplog is journaled, as in mongod.
	if result.log {
		logged, unlogged = ",log=(enabled=true)", ",log=(enabled=false)"
	}

	unit := 4 * units.KiB
	if cfg.LeafPage < unit {
		unit = 512
	}

	leaf := (cfg.LeafPage + unit - 1) / unit * unit
	table := fmt.Sprintf(tableFormat, unit, unit, leaf, max(10*units.MiB, 4*leaf)) + compressor
	if wiredtiger.Enabled(cfg.Oplog) {
		result.oplog, logged = table+logged, unlogged
	}

	result.documents, result.index = table+logged, indexFormat+compressor+logged
	return result, warnings, nil
}

// connection returns the configuration string for wiredtiger_open.
func connection(cfg *wiredtiger.Config, at place, sessions, major int, snappy string) (string,
	[]string, error) {
	var warnings []string
	set := []string{
		"create", "config_base=false", "statistics=(fast)",
		fmt.Sprintf("cache_size=%d", cfg.Cache), fmt.Sprintf("session_max=%d", sessions),
		fmt.Sprintf("eviction=(threads_min=%d,threads_max=%d)", cfg.EvictionThreadsMin,
			max(cfg.EvictionThreadsMin, cfg.EvictionThreadsMax)),
	}

	share := func(name string, r units.Ratio, least int64) {
		set = append(set, name+"="+strconv.FormatInt(threshold(r, cfg.Cache, least), 10))
	}
	share("eviction_target", cfg.EvictionTarget, 10)
	share("eviction_trigger", cfg.EvictionTrigger, 10)
	share("eviction_dirty_target", cfg.EvictionDirtyTarget, 1)
	share("eviction_dirty_trigger", cfg.EvictionDirtyTrigger, 1)
	share("eviction_checkpoint_target", cfg.EvictionCheckpointTarget, 0)

	if cfg.EvictionUpdatesTarget != 0 || cfg.EvictionUpdatesTrigger != 0 {
		if major < 10 { // MongoDB 4.2 has 3.2.1; 4.4 and later have 10.0
			warnings = append(warnings,
				fmt.Sprintf("this WiredTiger, %d.x, has no eviction_updates_target and _trigger: they are ignored",
					major))
		} else {
			share("eviction_updates_target", cfg.EvictionUpdatesTarget, 0)
			share("eviction_updates_trigger", cfg.EvictionUpdatesTrigger, 0)
		}
	}

	if cfg.IOCapacity != 0 {
		set = append(set, fmt.Sprintf("io_capacity=(total=%d)", int64(cfg.IOCapacity)))
	}

	if snappy != "" {
		set = append(set, "extensions=["+snappy+"]")
	}

	if !wiredtiger.Enabled(cfg.Journal) {
		return strings.Join(append(set, "log=(enabled=false)"), ","), warnings, nil
	}
	if strings.ContainsAny(at.journal, "\"\\\n") {
		return "", nil,
			fmt.Errorf("journal folder %q: WiredTiger does not accept quotation marks, backslashes or line feeds in its path",
				at.journal)
	}

	// Old log files are removed by default; the setting's name changed between versions.
	log := fmt.Sprintf(`log=(enabled=true,file_max=%d,path="%s"`, cfg.LogFile, at.journal)
	if snappy != "" {
		log += ",compressor=snappy"
	}

	return strings.Join(append(set, log+")"), ","), warnings, nil
}

// threshold formats a share of the cache for the engine: as a percentage if it is whole, otherwise
// in bytes. The engine takes values over 100 as bytes.
func threshold(r units.Ratio, cache units.Size, least int64) int64 {
	percent := float64(r) * 100
	whole := int64(percent + 0.5)
	if diff := percent - float64(whole); diff < 1e-9 && diff > -1e-9 && whole >= least {
		return whole
	}
	return max(int64(float64(cache)*float64(r)), 101)
}

func ms(d units.Duration) uint32 { return uint32(min(max(d.Std().Milliseconds(), 1), 1<<31)) }

// lineOverhead is what snappy leaves of the zeros between random bytes (measured on 3.2.1 with 4 kB
// documents: for requested shares of 75, 50, 30 and 10 % it leaves 76, 52, 35 and 14 %).
const lineOverhead = 0.04

// randomPercent returns how much of a document must be random so that compression leaves the given
// share of it.
func randomPercent(left units.Ratio) byte {
	if left >= 1 {
		return 100
	}
	return byte(min(max((float64(left)-lineOverhead)*100+0.5, 0), 100))
}

// snappyName is Debian's name for the extension.
const snappyName = "libwiredtiger_snappy.so"

// findSnappy finds the engine's snappy extension, which is a separate file.
func findSnappy() (string, error) {
	var found []string
	for _, dir := range []string{"/usr/local/lib", "/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib"} {
		files, err := filepath.Glob(filepath.Join(dir, snappyName))
		if err != nil {
			return "", err
		}
		found = append(found, files...)
	}

	// The path becomes part of a configuration string, which has its own syntax.
	found = slices.DeleteFunc(found, func(p string) bool { return strings.ContainsAny(p, `,"[]() `) })
	if len(found) == 0 {
		return "", errors.New("compression below 100 % needs snappy, but " + snappyName +
			" is in no library folder: install it (Debian: libwiredtiger0), or set compression: 100%")
	}

	return found[0], nil
}
