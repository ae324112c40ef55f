// Package run takes a scenario to the laboratory: the real engine on emulated volumes, under the
// scenario's workload, with a recording and a result at the end.
//
// It is package simulate's counterpart in real time. It mounts the volumes (lab/mount), starts the
// engine on them (a lab.Server) and asks it what the workload says, when it says so (lab/loadgen);
// what comes out is a simulate.Result by the same counting, so that model and laboratory stand side
// by side.
//
//  1. Volumes are mounted, each of etcd's members on a machine of its own, and let everything through at once.
//  2. The engine starts and loads the documents. What the page cache still holds of them is written out.
//  3. The kernel gets the scenario's write-back limits, and the volumes begin to take their time, with full
//     buckets of credits.
//  4. Warm-up, then the measured time. Everything is undone afterwards, also on an error and on Ctrl-C.
//
// # What is the scenario's, and what this machine's
//
// Volumes, file system, write-back limits (as bytes: the scenario's ratios of the scenario's
// memory), engine and workload are the scenario's. Cores and memory are this machine's, and the
// load generator, the emulated volumes and the engine share them; the network is the loopback.
// [Lab] says which these were, how late the volumes answered, and how late the load generator
// asked: a result whose emulator was saturated is none.
//
// Two things of this machine are kept out of the figures as far as can be. Its cores do not sleep
// while a run lasts, since waking one costs a virtual machine hundreds of microseconds. And where
// the machine itself stood still, which a thread on each core looks for, operations for whose
// latency that accounts count as done, and have no latency.
//
// # What is recorded
//
// Each second of the measured time: the engine's own statistics under its exporter's names; the
// machine's memory, CPU and pressure as node_exporter has them, and of block devices only the
// emulated ones, under the volume's name; and
//
//	plimsoll_client_operations_total{kind}       operations answered; kind is read or write
//	plimsoll_client_latency_seconds_total{kind}  their latencies from the intended starts, summed
//	plimsoll_client_latency_seconds_max{kind}    the longest of those answered in the second
//	plimsoll_client_latency_seconds_bucket{kind,le}, _sum, _count  a histogram of them: see latency.Buckets
//	plimsoll_client_waiting                      operations asked and not answered
//	plimsoll_lab_held_seconds_total{volume_id,limit}  time for which a limit held requests back, summed over them
//	plimsoll_lab_late_seconds{volume_id,quantile}     the emulator's own lateness since the beginning
//	aws_ebs_burst_balance_average{volume_id}          credits left, in percent
//
// # Losses of power
//
// With [Options.PowerLoss] the machine loses power so many times, at instants that the seed tells:
// volumes fail and the engine's processes are killed at the same moment. What of the writes in
// flight a volume keeps is chance by the seed. Then everything starts again, and each document that
// was written is read: it has to be as its last acknowledged write left it, or as a later one did
// that was asked for and not acknowledged. The workload's time stands still meanwhile. Volumes
// begin anew then, with full buckets of credits.
package run
