// Package run takes a scenario to the lab: the real engine on emulated volumes, under the
// scenario's workload, with a recording and a result at the end.
//
// It is package simulate's counterpart in real time. It mounts the volumes (lab/mount), starts the
// engine on them (a lab.Server) and sends it the workload's operations when they are due
// (lab/loadgen). The outcome is a simulate.Result, counted the same way, so that model and lab can
// be compared.
//
//  1. Mount the volumes, without any delay at first. Each etcd member gets a machine of its own.
//  2. Start the engine and load the documents. Write out what is still dirty in the page cache.
//  3. Set the scenario's write-back limits in the kernel. From here on the volumes take their
//     time, starting with full buckets of credits.
//  4. Run the warm-up, then the measured time. Undo everything afterwards, also after an error and
//     on Ctrl-C.
//
// # What is the scenario's, and what this machine's
//
// Volumes, file system, write-back limits (in bytes: the scenario's ratios of the scenario's
// memory), engine and workload are the scenario's. Cores and memory are this machine's; the load
// generator, the emulated volumes and the engine share them. The network is the loopback. [Lab]
// records which machine it was, how late the volumes answered, and how late the load generator sent
// operations: a result whose emulator was saturated is not valid.
//
// Two effects of this machine are kept out of the figures as far as possible. Its cores do not
// sleep during a run, because waking one costs a virtual machine hundreds of microseconds. And a
// thread on each core detects when the machine itself was paused: operations whose latency is
// mostly such a pause count as done, but without a latency.
//
// # What is recorded
//
// Each second of the measured time: the engine's own statistics under its exporter's names; the
// machine's memory, CPU and pressure under node_exporter's names; the emulated block devices only,
// each under its volume's name; and
//
//	plimsoll_client_operations_total{kind}       operations answered; kind is read or write
//	plimsoll_client_latency_seconds_total{kind}  their latencies from the intended starts, summed
//	plimsoll_client_latency_seconds_max{kind}    the longest of those answered in the second
//	plimsoll_client_latency_seconds_bucket{kind,le}, _sum, _count  a histogram of them: see latency.Buckets
//	plimsoll_client_waiting                      operations sent and not answered
//	plimsoll_lab_held_seconds_total{volume_id,limit}  time for which a limit held requests back, summed over them
//	plimsoll_lab_late_seconds{volume_id,quantile}     the emulator's own lateness since the beginning
//	aws_ebs_burst_balance_average{volume_id}          credits left, in percent
//
// # Power losses
//
// With [Options.PowerLoss] the machine loses power that many times, at instants that the seed
// determines: volumes fail and the engine's processes are killed at the same moment. Which of the
// writes in flight a volume keeps is random, by the seed. Then everything starts again, and each
// document that was written is read: it must be as its last acknowledged write left it, or as a
// later write that was sent but not acknowledged did. The workload's time stops meanwhile. The
// volumes then start again with full buckets of credits.
package run
