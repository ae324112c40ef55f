// Package server runs real etcd on a machine's volumes ([New]), or uses an existing cluster
// ([NewExisting]).
//
// Each member is a separate process with its own volumes ("m1/data", "m1/wal" and so on; "data" and
// "wal" if there is only one), because members in one process would share their metrics. The leader
// is the member that the scenario says: a slow volume slows everybody down if it is the leader's,
// and nobody if it is a minority's.
//
// # What follows the scenario, and what does not
//
// Heartbeat, election, snapshot count, the backend's batches and the quota are flags of etcd. Three
// things are compiled in (64 MB WAL segments, 1 MB messages, 512 of them in flight); if a scenario
// has other values, a line of the log says so. Two are not emulated:
//
//   - the round trip between members is the loopback's, about 0.05 ms, whatever engine.etcd.rtt
//     says;
//   - members, load generator and volumes share this machine's cores.
//
// The database grows until it reaches its quota, and then etcd refuses writes: nothing compacts it
// here, as Kubernetes would every five minutes. The model starts to reuse pages at that point.
//
// # What an operation is
//
// Inserts, updates and pushes are puts of a whole document: etcd has no other write. The value has
// the document's size, at least [SeqBytes], and begins with Op.Seq. Reads are linearizable, like
// etcdctl's; a scan is one range. The documents loaded at the beginning all have the workload's
// mean size.
//
// The workload's connections share a few HTTP/2 connections ([Links]), whereas a hundred clients of
// etcd would have one each: otherwise the run would measure what a hundred connections cost both
// ends, not what the volume does.
package server
