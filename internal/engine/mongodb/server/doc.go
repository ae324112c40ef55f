// Package server uses a real mongod through MongoDB's own driver: an existing one, or one that it
// starts on a machine's volumes.
//
// Package wiredtiger runs MongoDB's engine without mongod, because Debian has no package of mongod.
// If you have a mongod, this package measures all of it: BSON, the network, sessions, the oplog,
// flow control.
//
// # What an operation is
//
// The collection has documents {_id, seq, filler}, with _id the workload's key and seq the number
// of the write. An insert is an insert; a read a find by _id, a scan a sorted find. An update sets
// seq and the filler. If document.change limits how much a statement carries, documents have a
// field of that size beside the filler, and updates set that. With growth, the written field grows.
// A push pushes an entry into an array. Updates and pushes of missing documents insert them. Filler
// is different in each document and does not compress, unless engine.wiredtiger.compression says
// what share of it should remain. There is no index except on _id, whatever
// engine.wiredtiger.indexes says.
//
// Writes wait for {w: "majority", j: true}; with journal_each_write: false for {w: 1, j: false},
// whatever the address says. Reads follow the address: primary and local by default.
//
// # What is recorded
//
// serverStatus each second, under mongodb_exporter's names, which are the same here as for
// diagnostic.data. Checkpoints are taken from it as well: whether one runs, and how long the last one
// took, to the millisecond. Their number alone would not do: it rises when one ends, but in 5.0 when
// one begins.
//
// # What was tried, and what not
//
// A mongod 5.0.7 was started, loaded, killed and recovered: see the test named Real, which needs one
// (PLIMSOLL_MONGOD). Other versions were tried with a test server, which stores documents and answers
// serverStatus with recorded answers of mongod 3.6 and 8.2.
package server
