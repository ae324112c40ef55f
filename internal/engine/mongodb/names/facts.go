package names

import (
	"strings"
)

const mib, gib = 1 << 20, 1 << 30

// Server describes MongoDB as captures and live servers report it. Its facts are:
//
//	process                     mongod or mongos
//	os, os_type, os_version, kernel, cpu_arch
//	cores, memory_bytes, memory_limit_bytes, page_size_bytes
//	transparent_hugepages, numa
//	storage_engine, cache_bytes
//	engine_config (configString), eviction_dirty_trigger_gb, eviction_updates_trigger_gb
//	journal (enabled or disabled), journal_commit_interval_ms
//	server.port, dbpath, directory_per_db, directory_for_indexes, replica_set, oplog_bytes
//	parameter.<name>            a server parameter that affects how writes reach the disk
var Server = server{
	Version: []string{"buildInfo.version", "serverStatus.version"},
	Host:    []string{"hostInfo.system.hostname", "serverStatus.host"},
	Facts: []Fact{
		{Name: "os", Path: "hostInfo.os.name", Spell: spellOS},
		{Name: "os_type", Path: "hostInfo.os.type"},
		{Name: "os_version", Path: "hostInfo.os.version"},
		{Name: "kernel", Path: "hostInfo.extra.kernelVersion"},
		{Name: "cpu_arch", Path: "hostInfo.system.cpuArch"},
		{Name: "cores", Path: "hostInfo.system.numCores"},
		{Name: "numa", Path: "hostInfo.system.numaEnabled"},
		{Name: "memory_bytes", Path: "hostInfo.system.memSizeMB", Scale: mib},
		{Name: "memory_limit_bytes", Path: "hostInfo.system.memLimitMB", Scale: mib},
		{Name: "page_size_bytes", Path: "hostInfo.extra.pageSize"},
		{Name: "transparent_hugepages", Path: "hostInfo.extra.thp_enabled"},
		{Name: "storage_engine", Path: "getCmdLineOpts.parsed.storage.engine"},
		{Name: "cache_bytes", Path: "getCmdLineOpts.parsed.storage.wiredTiger.engineConfig.cacheSizeGB",
			Scale: gib},
		{Name: "engine_config", Path: "getCmdLineOpts.parsed.storage.wiredTiger.engineConfig.configString"},
		{Name: "eviction_dirty_trigger_gb",
			Path: "getCmdLineOpts.parsed.storage.wiredTiger.engineConfig.evictionDirtyTriggerGB"},
		{Name: "eviction_updates_trigger_gb",
			Path: "getCmdLineOpts.parsed.storage.wiredTiger.engineConfig.evictionUpdatesTriggerGB"},
		{Name: "directory_for_indexes",
			Path: "getCmdLineOpts.parsed.storage.wiredTiger.engineConfig.directoryForIndexes"},
		{Name: "journal", Path: "getCmdLineOpts.parsed.storage.journal.enabled", Spell: spellJournal},
		{Name: "journal_commit_interval_ms", Path: "getCmdLineOpts.parsed.storage.journal.commitIntervalMs"},
		{Name: "journal_commit_interval_ms", Path: "getParameter.journalCommitInterval"},
		{Name: "server.port", Path: "getCmdLineOpts.parsed.net.port"},
		{Name: "dbpath", Path: "getCmdLineOpts.parsed.storage.dbPath"},
		{Name: "directory_per_db", Path: "getCmdLineOpts.parsed.storage.directoryPerDB"},
		{Name: "replica_set", Path: "getCmdLineOpts.parsed.replication.replSetName"},
		{Name: "oplog_bytes", Path: "getCmdLineOpts.parsed.replication.oplogSizeMB", Scale: mib},
		// Documents of type 0 before 3.4, and chunks, have only these, in serverStatus.
		{Name: "process", Path: "serverStatus.process"},
		{Name: "storage_engine", Path: "serverStatus.storageEngine.name"},
		{Name: "cache_bytes", Path: "serverStatus.wiredTiger.cache.maximum bytes configured"},
	},
	Parameters: []string{
		"syncdelay", "journalCommitInterval",
		"enableFlowControl", "flowControlTargetLagSeconds",
		"wiredTigerConcurrentReadTransactions", "wiredTigerConcurrentWriteTransactions",
		"storageEngineConcurrentReadTransactions", "storageEngineConcurrentWriteTransactions",
		"storageEngineConcurrencyAdjustmentAlgorithm", "executionControlConcurrencyAdjustmentAlgorithm",
		"wiredTigerEngineRuntimeConfig", "wiredTigerCursorCacheSize",
		"wiredTigerEvictionDirtyTargetGB", "wiredTigerEvictionDirtyMaxGB",
		"diagnosticDataCollectionPeriodMillis", "diagnosticDataCollectionSamplesPerChunk",
		"minSnapshotHistoryWindowInSeconds", "disaggregatedStorageEnabled",
	},
	ParametersIn: []string{"getParameter", "getCmdLineOpts.parsed.setParameter"},
}

// spellOS is the system's name. Up to 3.6 on Debian, this is a whole line of /etc/os-release.
func spellOS(text string) string {
	if name, ok := strings.CutPrefix(text, "PRETTY_NAME="); ok {
		return strings.Trim(name, `"`)
	}
	return text
}

func spellJournal(text string) string {
	switch text {
	case "true":
		return "enabled"
	case "false":
		return "disabled"
	}
	return text
}
