// Package server runs real etcd on a machine's volumes ([New]), or uses an existing cluster
// ([NewExisting]).
//
// Each member is a separate process with its own volumes ("m1/data", "m1/wal" and so on; "data" and
// "wal" if there is only one member), because members in one process would share their metrics. The
// scenario names the leader: a slow volume delays every write if it is the leader's, but none if it
// belongs to a minority.
//
// # Differences from the scenario
//
// Heartbeat, election, snapshot count, the backend's batches and the quota are flags of etcd. Three
// values are compiled in (64 MB WAL segments, 1 MB messages, 512 messages in flight); if a scenario
// has other values, the log says so. Two things are not emulated:
//
//   - the round trip between members is the loopback's, about 0.05 ms, whatever engine.etcd.rtt
//     says;
//   - members, load generator and volumes share this machine's cores.
//
// The database grows until it reaches its quota, and then etcd refuses writes: nothing compacts it
// here, as Kubernetes would every five minutes. The model reuses pages at that point.
//
// # Operations
//
// Inserts, updates and pushes are puts of a whole document: etcd has no other write. The value has
// the document's size, at least [SeqBytes], and begins with Op.Seq. Reads are linearizable, like
// etcdctl's; a scan is one range. All documents loaded at the start have the workload's mean size.
//
// The workload's connections share a few HTTP/2 connections ([Links]), although a hundred etcd
// clients would have one each. Otherwise the run would measure the cost of a hundred connections at
// both ends rather than the volume.
package server
