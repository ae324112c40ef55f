// Package simulate runs a scenario in virtual time: ten minutes of a database and its volumes in a
// second, with a recording and a result at the end.
//
// It adds no model. It makes the volumes, hosts and engine of a [scenario.Scenario],
// gives the engine operations when the workload says so, and observes.
//
// In an open loop, operations arrive regardless of what the system does. Each takes a free
// connection or queues for one, and its latency counts from its intended start. So a stall of eight
// seconds delays every request that arrived in those eight seconds, not only those that held a
// connection. In a closed loop, each client sends its next operation after it has its answer.
//
// The output:
//
//   - a recording, if asked for. For each virtual second, it contains what node_exporter, the EBS CSI driver
//     and the database's own exporter would have reported, under their names. It also has the clients'
//     latencies as a histogram plimsoll_client_latency_seconds_bucket{kind,le} with _sum and _count, because
//     no database's exporter has more than sums ([latency.Buckets] has the edges; kind is read or write).
//     `plimsoll diagnose` reads it like a recording from production. It excludes the warm-up.
//   - a [Result]: latencies over the run and by phase of the checkpoint cycle, checkpoints, volumes,
//     and where the slow writes waited.
//
// The same scenario gives the same bytes of both, on every machine.
//
// # How it counts
//
// Latencies are kept in HDR histograms of two significant digits, so a percentile is within 1 %. An
// operation belongs to its intended start: to that second of the series, and to the checkpoint or
// the pause at that instant. Waits are summed over writes in latency classes that are 3 % wide. The
// slow writes are those in the p99's class and above, so a few more or fewer than one in a hundred.
// The part of a latency that no wait accounts for is a wait called unexplained.
//
// # What is left out
//
// In addition to what each model's documentation lists as left out: the network between client and database,
// clients that give up or try again, failures of any kind, and everything else that the machine does.
package simulate
