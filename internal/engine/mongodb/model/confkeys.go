package model

import "plimsoll/internal/model/scenario"

// configKeys are mongod.conf's settings (MongoDB manual 8.0, Configuration File Options).
var configKeys = []scenario.ConfigKey{
	{Name: "storage.wiredTiger.engineConfig.cacheSizeGB", Key: "cache", Unit: "GiB"}, // GB means GiB there
	{Name: "storage.syncPeriodSecs", Key: "checkpoint", Unit: "s"},
	{Name: "storage.journal.commitIntervalMs", Key: "journal_interval", Unit: "ms"},
	{Name: "storage.journal.enabled", Key: "journal"},
	{Name: "setParameter.minSnapshotHistoryWindowInSeconds", Key: "history", Unit: "s"},
	// Where files are, who may connect and what is logged do not change the model's writes.
	{Name: "storage.dbPath"}, {Name: "storage.directoryPerDB"}, {Name: "storage.engine"},
	{Name: "storage.wiredTiger.engineConfig.journalCompressor"},
	{Name: "storage.wiredTiger.engineConfig.directoryForIndexes"},
	{Name: "storage.wiredTiger.collectionConfig.blockCompressor"},
	{Name: "storage.wiredTiger.indexConfig.prefixCompression"},
	{Name: "replication.replSetName"}, {Name: "replication.oplogSizeMB"},
	{Name: "net.port"}, {Name: "net.bindIp"}, {Name: "net.bindIpAll"}, {Name: "net.maxIncomingConnections"},
	{Name: "systemLog.destination"}, {Name: "systemLog.path"}, {Name: "systemLog.logAppend"},
	{Name: "processManagement.fork"}, {Name: "processManagement.pidFilePath"},
	{Name: "processManagement.timeZoneInfo"}, {Name: "security.authorization"}, {Name: "security.keyFile"},
	{Name: "operationProfiling.mode"}, {Name: "operationProfiling.slowOpThresholdMs"},
}
