// Package simulate runs a scenario in virtual time: ten minutes of a database and its volumes in a
// second, with a recording and a result at the end.
//
// It adds no model of its own. It makes volumes, hosts and engine of a [scenario.Scenario], gives
// the engine operations when the workload says so, and looks on.
//
// In an open loop operations come whatever the system does. Each takes a connection if one is free,
// else it queues, and its latency counts from when it was meant to start: a stall of eight seconds
// is felt by all who came in these eight seconds, not only by those who held a connection. In a
// closed loop each client asks again when it has its answer.
//
// What comes out:
//
//   - a recording, if asked for: once a virtual second, what node_exporter, the EBS CSI driver and the
//     database's own exporter would have told, under their names, and what its clients felt, as a histogram
//     plimsoll_client_latency_seconds_bucket{kind,le} with _sum and _count: no exporter of a database's tells more
//     than sums ([latency.Buckets] has the edges; kind is read or write). `plimsoll diagnose` reads it as it
//     reads one of production. The warm-up is not in it.
//   - a [Result]: latencies over the run and by phase of the checkpoint cycle, checkpoints, volumes,
//     and where the slow writes waited.
//
// The same scenario gives the same bytes of both, on every machine.
//
// # How it counts
//
// Latencies are kept in HDR histograms of two significant digits: a percentile is within 1 %. An
// operation belongs to the time at which it was meant to start: to that second of the series, and
// to the checkpoint, or the pause, that this instant fell into. Waits are summed over writes in
// classes of latency that are 3 % wide, and the slow writes are those in classes from the p99's on,
// so a few more or fewer than one in a hundred. What of a latency no wait accounts for is a wait
// called unexplained.
//
// # What is left out
//
// Beside what each model says it leaves out: the network between client and database, clients that
// give up or try again, failures of any kind, and everything else that the machine does.
package simulate
