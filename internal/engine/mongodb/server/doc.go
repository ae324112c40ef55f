// Package server uses a real mongod through MongoDB's own driver: either an existing one, or one
// that it starts on a machine's volumes.
//
// Package worker runs MongoDB's engine without mongod, because Debian has no package of mongod.
// If you have a mongod, this package measures the whole server: BSON, the network, sessions, the
// oplog, flow control.
//
// # Operations
//
// The collection has documents {_id, seq, filler}, with the workload's key as _id and the number of
// the write as seq. An insert is an insert, a read a find by _id, and a scan a sorted find. An
// update sets seq and the filler. If document.change limits how much a statement carries, documents
// have an additional field of that size, and updates set that field instead. With growth, the
// written field grows. A push appends an entry to an array. Updates and pushes of missing documents
// insert them. Filler differs in each document and does not compress, unless
// engine.mongodb.compression sets the share of it that should remain. The only index is on _id,
// whatever engine.mongodb.indexes says.
//
// Writes wait for {w: "majority", j: true}; with journal_each_write: false for {w: 1, j: false},
// whatever the address says. Reads follow the address: primary and local by default.
//
// # Recorded data
//
// serverStatus is read each second, under mongodb_exporter's names, as for diagnostic.data.
// Checkpoints come from it as well: whether one is running, and how long the last one took, in
// milliseconds. Their number alone would not suffice: it rises when one ends, but in 5.0 when one
// begins.
//
// # What was tested
//
// A mongod 5.0.7 was started, loaded, killed and recovered: see the test named Real, which needs
// one (PLIMSOLL_MONGOD). Other versions were tested with a test server that stores documents and
// answers serverStatus with recorded answers of mongod 3.6 and 8.2.
package server
