// Package server asks a real mongod by MongoDB's own driver: one that runs already, or one that is
// started on a machine's volumes.
//
// Package wiredtiger runs MongoDB's engine without mongod, since none is packaged for Debian. Where
// a person has a mongod, this package measures all of it: BSON, the network, sessions, the oplog,
// flow control.
//
// # What an operation is
//
// A collection of documents {_id, seq, filler}, with _id the workload's key and seq the number of
// the write. An insert is an insert; a read a find by _id, a scan a sorted find. An update sets seq
// and the filler; where document.change says that a statement carries only so much, documents have
// a field of that size beside the filler and it sets that. Growth lets the field grow that is
// written. A push pushes an entry into an array. Updates and pushes of what is not there yet insert
// it. Filler is different in each document and does not compress, unless
// engine.wiredtiger.compression says how much of it is to be left. There is no index but that of
// _id, whatever engine.wiredtiger.indexes says.
//
// Writes wait for {w: "majority", j: true}; with journal_each_write: false for {w: 1, j: false},
// whatever the address says. Reads are the address's: primary and local unless it says otherwise.
//
// # What is recorded
//
// serverStatus each second, under the names that mongodb_exporter gives it, which are those of
// diagnostic.data here. Checkpoints are seen in it as well: their number rises when one ends, and
// it tells how long that took to the millisecond.
//
// # What was tried, and what not
//
// No mongod can be had where this was written. The driver is real, and spoke to a server of the
// tests, which keeps documents and answers serverStatus with recorded answers of mongod 3.6 and
// 8.2; starting mongod was tried with that server in its place.
package server
