// Package loadgen sends a workload to a real server, each operation when it is due.
//
// In an open loop the intended starts of all operations are fixed before the run. A dispatcher
// waits for each and hands the operation to a connection. If all are busy it queues, and its
// latency counts from the intended start. So a server that stalls for eight seconds receives the
// same load as otherwise, and the latency of every operation in these seconds is counted. Omitting
// them is coordinated omission (Gil Tene, 2013). In a closed loop each client sends its next
// operation when it has the answer to the last.
//
// A load generator that is late measures itself. The dispatcher therefore sleeps in the kernel on a
// thread of its own. The result includes how late operations began although a connection was free
// ([Result.LateP99]), and if that was much it says that the load generator could not keep up
// ([Result.Behind]). Load generator and server share the machine's cores, so the server may just as
// well be the reason for a late start.
//
// A run can contain power losses. A [Generator] runs up to an instant and continues from there when
// the server is back, however long that took; the workload's time stops meanwhile. To find out what
// was lost it can remember what was acknowledged ([Config.Remember]). Then all writes of a key are
// sent one after another, each with a higher number.
//
//	d := loadgen.New(loadgen.Config{Server: server, Workload: w, Seed: 1, From: warmup, End: end})
//	err := d.Run(ctx, end, nil)
//	result := d.Result()
package loadgen
