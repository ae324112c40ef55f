// Package run runs a scenario in the lab: the real engine on emulated volumes, under the scenario's
// workload, with a recording and a result at the end.
//
// It is the real-time counterpart of package simulate. It mounts the volumes (lab/mount), starts
// the engine on them (a lab.Server) and sends it the workload's operations when they are due
// (lab/loadgen). The outcome is a simulate.Result, counted the same way, so that model and lab can
// be compared.
//
//  1. Mount the volumes, without any delay at first. Each etcd member gets its own machine.
//  2. Start the engine and load the documents. Write back the dirty pages that are left in the page
//
// cache.
//  3. Set the scenario's write-back limits in the kernel. From here on the volumes are as slow as
//
// rented ones, starting with full burst buckets.
//  4. Run the warm-up, then the measured time. Undo everything afterwards, also after an error and
//
// on Ctrl-C.
//
// # What comes from the scenario, and what from this machine
//
// Volumes, file system, write-back limits (in bytes: the scenario's ratios of the scenario's
// memory), engine and workload come from the scenario. CPUs and memory are this machine's; the load
// generator, the emulated volumes and the engine share them. The network is the loopback. [Lab]
// records the machine, how late the volumes answered, and how late the load generator sent
// operations: a result with a saturated emulator is not valid.
//
// Two effects of this machine are kept out of the results if possible. Its CPUs do not sleep
// during a run, because waking one costs a virtual machine hundreds of microseconds. And a thread
// on each CPU detects when the machine itself was paused: operations whose latency is mostly such a
// pause count as done, but without a latency.
//
// # What is recorded
//
// For each second of the measured time: the engine's own statistics under its exporter's names; the
// machine's memory, CPU and pressure under node_exporter's names; only the emulated block devices,
// each under its volume's name; and
//
// \tplimsoll_client_operations_total{kind}       operations answered; kind is read or write
// \tplimsoll_client_latency_seconds_total{kind}  their latencies from the intended starts, summed
// \tplimsoll_client_latency_seconds_max{kind}    the longest of those answered in the second
// \tplimsoll_client_latency_seconds_bucket{kind,le}, _sum, _count  a histogram of them: see
// latency.Buckets
// \tplimsoll_client_waiting                      operations sent and not answered
// \tplimsoll_lab_held_seconds_total{volume_id,limit}  time for which a limit delayed requests,
// summed over them
// \tplimsoll_lab_late_seconds{volume_id,quantile}     the emulator's own lateness since the
// beginning
// \taws_ebs_burst_balance_average{volume_id}          credits left, in percent
//
// # Power losses
//
// With [Options.PowerLoss] the machine loses power that many times, at instants determined by the
// seed: volumes fail and the engine's processes are killed at the same moment. Which of the writes
// in flight a volume keeps is random, determined by the seed. Then everything restarts, and each
// document that was written is read: it must match its last acknowledged write, or a later write that was
// sent but not acknowledged. Workload time stops in the meantime. The volumes restart with full burst
// buckets.
package run
