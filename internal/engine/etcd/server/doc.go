// Package server runs real etcd on a machine's volumes ([New]), or asks a cluster that runs already
// ([NewExisting]).
//
// Each member is a process of its own with its own volumes ("m1/data", "m1/wal" and so on; "data"
// and "wal" where there is one), since members of one process would share their metrics. The leader
// is put where the scenario has it: a slow volume costs everybody if it is the leader's, and nobody
// if it is a minority's.
//
// # What is as the scenario says, and what is not
//
// Heartbeat, election, snapshot count, the backend's batches and the quota are flags of etcd. Three
// things are compiled in (64 MB WAL segments, 1 MB messages, 512 of them in flight), and a scenario
// that says otherwise is told so by a line of the log. Two are not emulated:
//
//   - the round trip between members is the loopback's, some 0.05 ms, whatever engine.etcd.rtt says;
//   - members, driver and volumes share this machine's cores.
//
// The database grows until it has reached its quota, and then etcd refuses to write: nobody
// compacts it here, as Kubernetes would every five minutes. The model begins to use pages again
// there.
//
// # What an operation is
//
// Inserts, updates and pushes are puts of a whole document: etcd has no other write. The value has
// the document's size, at least [SeqBytes], and begins with Op.Seq. Reads are linearizable, as
// etcdctl's are; a scan is one range. The documents of the beginning all have the workload's mean
// size.
//
// Connections of the workload share a few of HTTP/2 ([Links]), where a hundred clients of etcd
// would have one each: what each of a hundred costs the two ends would be measured, and not what
// the volume does.
package server
