// Package live samples a running MongoDB through MongoDB's own driver, under the same names as a
// capture of diagnostic.data.
//
// Once a second a mongod collects what a diagnosis needs, and writes it to diagnostic.data. The
// command getDiagnosticData returns the newest of these documents. So the server only has to send
// it, and an address gives the same diagnosis as the folder, including the host's disks, memory and
// pressure.
//
// # Commands
//
//	each period    getDiagnosticData, if the user may; else serverStatus, and replSetGetStatus every 10 s
//	in addition    serverStatus with only the histograms of opLatencies, which no capture has
//	at the start   hello, buildInfo, hostInfo, getCmdLineOpts, getParameter; again after a restart
//	every 10 min   dbStats of the largest databases
//
// At periods below a second, serverStatus is called each time, and getDiagnosticData for the rest,
// because the server does not sample itself more often. serverStatus is called without the sections
// that the server leaves out of its own capture (sharding, timing, defaultRWConcern,
// tenantMigrationAccessBlocker: src/mongo/db/ftdc/ftdc_server.cpp), and without tcmalloc.
//
// # Least privilege
//
// The role clusterMonitor on admin is enough for all of it, and nothing is written:
//
//	db.getSiblingDB("admin").createUser({user: "plimsoll", pwd: passwordPrompt(), roles: ["clusterMonitor"]})
//
// A note of the recording says what a missing privilege costs. Nothing can be read only if
// serverStatus is denied.
//
// # Which server
//
// One address means exactly that server, whatever its state. Several addresses, a replicaSet, or
// mongodb+srv mean a replica set: its primary is read, because that is where writes stall, and
// after an election the new one. The label instance distinguishes them. A mongos has no storage;
// its operation counters are read, with a note that names the shards.
//
// # Times
//
// A document of the server's own carries the time at which the server began to collect it. If its
// clock and this machine's differ by more than a second, times are moved to this machine's, and a
// note says so. The results of other commands have the time of the request.
//
// # Names
//
// Those of package ftdc, and the label instance. Sizes have percona/mongodb_exporter's names:
// mongodb_dbstats_dataSize, _indexSize, _storageSize and so on, with the label database. It has no
// name for the histograms, which are plimsoll_mongodb_latency_seconds_bucket{op_type,le}.
//
// # What was tried, and what not
//
// A mongod 5.0.7: see the tests named Real, which need one (PLIMSOLL_MONGOD). Other versions, and
// TLS, were tried with a test server that answers with real captures of 3.6, 8.0 and 8.2.
package live
