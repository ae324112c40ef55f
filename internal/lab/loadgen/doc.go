// Package loadgen sends a workload to a real server, each operation when it is due.
//
// In an open loop the intended start times of all operations are fixed before the run. A dispatcher
// waits for each and hands the operation to a connection. If all connections are busy, it queues,
// and its latency counts from the intended start. A server that stalls for eight seconds therefore
// still receives the same load, and the latencies of all operations due in these seconds count.
// Leaving them out is known as coordinated omission (Gil Tene, 2013). In a closed loop each client
// sends its next operation once it has received the answer to the last.
//
// A load generator that is late measures itself. The dispatcher therefore sleeps in the kernel on a
// dedicated thread. The result reports how late operations began although a connection was free
// ([Result.LateP99]), and if that is significant, that the load generator could not keep up
// ([Result.Behind]). Load generator and server share the machine's CPUs, so a late start may just
// as well be the server's fault.
//
// A run can contain power losses. A [Generator] runs up to an instant and continues from there once
// the server is back, however long that takes; workload time stops in the meantime. To find out
// what was lost, it can remember what was acknowledged ([Config.Remember]). In that case, the
// writes of each key are sent one at a time, with increasing sequence numbers.
//
// \td := loadgen.New(loadgen.Config{Server: server, Workload: w, Seed: 1, From: warmup, End: end})
// \terr := d.Run(ctx, end, nil)
// \tresult := d.Result()
package loadgen
