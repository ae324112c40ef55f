package ftdc

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"time"
)

// Metadata is what a document of type 0 or 2 tells about the server: who it is and
// how it is set up, not how it fares.
type Metadata struct {
	Date time.Time
	// Version and Host are empty if the document does not tell them.
	Version, Host string
	// Facts are settings by name:
	//
	//	process                     mongod or mongos
	//	os, os_type, os_version, kernel, cpu_arch
	//	cores, memory_bytes, memory_limit_bytes, page_size_bytes
	//	transparent_hugepages, numa
	//	storage_engine, cache_bytes
	//	journal (enabled or disabled), journal_commit_interval_ms
	//	dbpath, directory_per_db, directory_for_indexes, replica_set, oplog_bytes
	//	parameter.<name>            a server parameter of those in watchedParameters
	Facts map[string]string
	// Delta says that a parameter that is missing kept its value.
	Delta bool
}

// fact is where in a metadata document a fact lies. scale, if not 0, is the unit of
// the number in bytes.
type fact struct {
	name  string
	path  string // keys joined by dots
	scale float64
}

const mib, gib = 1 << 20, 1 << 30

var facts = []fact{
	{"os", "hostInfo.os.name", 0},
	{"os_type", "hostInfo.os.type", 0},
	{"os_version", "hostInfo.os.version", 0},
	{"kernel", "hostInfo.extra.kernelVersion", 0},
	{"cpu_arch", "hostInfo.system.cpuArch", 0},
	{"cores", "hostInfo.system.numCores", 0},
	{"numa", "hostInfo.system.numaEnabled", 0},
	{"memory_bytes", "hostInfo.system.memSizeMB", mib},
	{"memory_limit_bytes", "hostInfo.system.memLimitMB", mib},
	{"page_size_bytes", "hostInfo.extra.pageSize", 0},
	{"transparent_hugepages", "hostInfo.extra.thp_enabled", 0},
	{"storage_engine", "getCmdLineOpts.parsed.storage.engine", 0},
	{"cache_bytes", "getCmdLineOpts.parsed.storage.wiredTiger.engineConfig.cacheSizeGB", gib},
	{"directory_for_indexes", "getCmdLineOpts.parsed.storage.wiredTiger.engineConfig.directoryForIndexes", 0},
	{"journal", "getCmdLineOpts.parsed.storage.journal.enabled", 0},
	{"journal_commit_interval_ms", "getCmdLineOpts.parsed.storage.journal.commitIntervalMs", 0},
	{"journal_commit_interval_ms", "getParameter.journalCommitInterval", 0},
	{"dbpath", "getCmdLineOpts.parsed.storage.dbPath", 0},
	{"directory_per_db", "getCmdLineOpts.parsed.storage.directoryPerDB", 0},
	{"replica_set", "getCmdLineOpts.parsed.replication.replSetName", 0},
	{"oplog_bytes", "getCmdLineOpts.parsed.replication.oplogSizeMB", mib},
	// Documents of type 0 before 3.4, and chunks, have these in serverStatus.
	{"process", "serverStatus.process", 0},
	{"storage_engine", "serverStatus.storageEngine.name", 0},
	{"cache_bytes", "serverStatus.wiredTiger.cache.maximum bytes configured", 0},
}

// watchedParameters are the server parameters that bear on how writes reach the disk.
var watchedParameters = []string{
	"syncdelay", "journalCommitInterval",
	"enableFlowControl", "flowControlTargetLagSeconds",
	"wiredTigerConcurrentReadTransactions", "wiredTigerConcurrentWriteTransactions",
	"storageEngineConcurrentReadTransactions", "storageEngineConcurrentWriteTransactions",
	"storageEngineConcurrencyAdjustmentAlgorithm", "executionControlConcurrencyAdjustmentAlgorithm",
	"wiredTigerEngineRuntimeConfig", "wiredTigerCursorCacheSize",
	"diagnosticDataCollectionPeriodMillis", "diagnosticDataCollectionSamplesPerChunk",
	"minSnapshotHistoryWindowInSeconds", "disaggregatedStorageEnabled",
}

// sections are where 8.x puts documents that older servers have at the top.
var sections = []string{"", "common", "shard", "router"}

// inSections looks a path up at the top and in each section.
func inSections(doc []byte, path string) (element, bool) {
	keys := strings.Split(path, ".")
	for _, s := range sections {
		if s != "" {
			keys = append([]string{s}, strings.Split(path, ".")...)
		}
		if e, ok := lookup(doc, keys...); ok {
			return e, true
		}
	}
	return element{}, false
}

// readMetadata takes the facts from a document of type 0 or 2.
func readMetadata(d document) Metadata {
	m := identity(d.payload())
	m.Date = d.date
	if d.kind == docMetadataDelta {
		// count 0 begins anew with all settings; then each document tells what changed.
		e, ok := lookup(d.raw, "count")
		m.Delta = ok && e.integer() != 0
	}
	return m
}

// identity takes the facts from the inner document of metadata, or from a chunk's reference
// document, which tells a few of them in serverStatus.
func identity(doc []byte) Metadata {
	m := Metadata{Facts: map[string]string{}}
	for _, path := range []string{"buildInfo.version", "serverStatus.version"} {
		if e, ok := inSections(doc, path); ok && m.Version == "" {
			m.Version = limited(e.text())
		}
	}
	for _, path := range []string{"hostInfo.system.hostname", "serverStatus.host"} {
		if e, ok := inSections(doc, path); ok && m.Host == "" {
			m.Host = limited(e.text())
		}
	}
	for _, f := range facts {
		e, ok := inSections(doc, f.path)
		if !ok || m.Facts[f.name] != "" {
			continue
		}
		if v := e.setting(f.scale); v != "" {
			m.Facts[f.name] = v
		}
	}
	// Up to 3.6 the name on Debian is a whole line of /etc/os-release.
	if v, ok := strings.CutPrefix(m.Facts["os"], "PRETTY_NAME="); ok {
		m.Facts["os"] = strings.Trim(v, `"`)
	}
	if v, ok := map[string]string{"true": "enabled", "false": "disabled"}[m.Facts["journal"]]; ok {
		m.Facts["journal"] = v
	}
	for _, name := range watchedParameters {
		for _, in := range []string{"getParameter.", "getCmdLineOpts.parsed.setParameter."} {
			if e, ok := inSections(doc, in+name); ok {
				if v := e.setting(0); v != "" {
					m.Facts["parameter."+name] = v
					break
				}
			}
		}
	}
	return m
}

// factLen bounds a fact's text: it is shown to people, and it is untrusted.
const factLen = 256

func limited(s string) string {
	if len(s) > factLen {
		s = s[:factLen] + "..."
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// setting spells a value as a fact, "" if it is not of a kind that has a short text. A
// number is multiplied by scale if that is not 0.
func (e element) setting(scale float64) string {
	switch e.kind {
	case kindString:
		return limited(e.text())
	case kindBool:
		return strconv.FormatBool(e.value[0] != 0)
	case kindDouble:
		f := math.Float64frombits(binary.LittleEndian.Uint64(e.value))
		if scale != 0 {
			return strconv.FormatInt(truncate(f*scale), 10)
		}
		return strconv.FormatFloat(f, 'g', -1, 64)
	case kindInt32, kindInt64:
		if scale != 0 {
			return strconv.FormatInt(truncate(float64(e.integer())*scale), 10)
		}
		return strconv.FormatInt(e.integer(), 10)
	}
	return ""
}
