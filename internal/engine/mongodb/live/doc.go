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
//	each period    getDiagnosticData if the user may run it; otherwise serverStatus, and replSetGetStatus every 10 s
//	in addition    serverStatus with only the histograms of opLatencies, which captures lack
//	at the start   hello, buildInfo, hostInfo, getCmdLineOpts, getParameter; again after a restart
//	every 10 min   dbStats of the largest databases
//
// At periods below a second, serverStatus is called each time, and getDiagnosticData only for the
// rest, because the server does not sample itself more often. serverStatus is called without the
// sections that the server omits from its own capture (sharding, timing, defaultRWConcern,
// tenantMigrationAccessBlocker: src/mongo/db/ftdc/ftdc_server.cpp), and without tcmalloc.
//
// # Least privilege
//
// The role clusterMonitor on admin is sufficient for all commands, and nothing is written:
//
//	db.getSiblingDB("admin").createUser({user: "plimsoll", pwd: passwordPrompt(), roles: ["clusterMonitor"]})
//
// A note in the recording says what a missing privilege costs. Only without serverStatus can
// nothing be read.
//
// # Which server
//
// One address means exactly that server, whatever its state. Several addresses, a replicaSet, or
// mongodb+srv mean a replica set. Its primary is read, because that is where writes stall; after an
// election, the new primary is read. The label instance distinguishes them. A mongos has no
// storage, so only its operation counters are read, and a note names the shards.
//
// # Times
//
// A document collected by the server carries the time at which the collection began. If its clock
// and this machine's differ by more than a second, times are converted to this machine's clock, and
// a note says so. The results of other commands carry the time of the request.
//
// # Names
//
// Names are those of package ftdc plus the label instance. Sizes have percona/mongodb_exporter's
// names: mongodb_dbstats_dataSize, _indexSize, _storageSize and so on, with the label database. The
// exporter has no name for the histograms; they are
// plimsoll_mongodb_latency_seconds_bucket{op_type,le}.
//
// # What was tested
//
// A mongod 5.0.7: see the tests named Real, which need one (PLIMSOLL_MONGOD). Other versions and
// TLS were tested with a test server that answers with real captures of 3.6, 8.0 and 8.2.
package live
