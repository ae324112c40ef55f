// Package live samples a running MongoDB by MongoDB's own driver, under the names that a capture of
// diagnostic.data has.
//
// The idea is that a mongod already collects, once a second and whether or not anybody asks, what a
// diagnosis needs: that is what it writes to diagnostic.data. The command getDiagnosticData gives
// the newest of these documents. So the server has no work but to send it, and a diagnosis of an
// address is the one of the folder, with the host's disks, memory and pressure in it.
//
// # What is asked
//
//	each period    getDiagnosticData, where the user may; else serverStatus, and replSetGetStatus every 10 s
//	beside it      serverStatus with nothing but the histograms of opLatencies, which no capture has
//	at the start   hello, buildInfo, hostInfo, getCmdLineOpts, getParameter; again after a restart
//	every 10 min   dbStats of the databases that take most space
//
// At periods below a second serverStatus is asked each time, and getDiagnosticData beside it for
// the rest, since the server samples itself no more often. serverStatus is asked without the
// sections that the server leaves out of its own capture (sharding, timing, defaultRWConcern,
// tenantMigrationAccessBlocker: src/mongo/db/ftdc/ftdc_server.cpp), and without tcmalloc.
//
// # Least privilege
//
// The role clusterMonitor on admin is enough for all of it, and nothing is written:
//
//	db.getSiblingDB("admin").createUser({user: "plimsoll", pwd: passwordPrompt(), roles: ["clusterMonitor"]})
//
// What a missing privilege costs is a note of the recording. Only without serverStatus there is
// nothing to read.
//
// # Which server
//
// One address is that very server, whatever its state. Several, a replicaSet, or mongodb+srv is a
// replica set: its primary is read, since that is where writes stall, and after an election the new
// one. The label instance tells them apart. A mongos has no storage; what it tells of its
// operations is read, with a note that names the shards.
//
// # Times
//
// A document of the server's own carries the time at which the server began to collect it; where
// its clock and this machine's differ by more than a second, times are moved to this machine's, and
// a note says so. What is asked for has the time of the question.
//
// # Names
//
// Those of package ftdc, and the label instance. Sizes are named as percona/mongodb_exporter does:
// mongodb_dbstats_dataSize, _indexSize, _storageSize and so on, with the label database. The
// histograms, for which it has no name, are plimsoll_mongodb_latency_seconds_bucket{op_type,le}.
//
// # What was tried, and what not
//
// No mongod can be had where this was written. The driver is real, and spoke to a server of the
// tests that answers with real captures of 3.6, 8.0 and 8.2.
package live
