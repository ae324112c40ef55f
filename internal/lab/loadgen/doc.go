// Package loadgen asks a real server what a workload says, when it says so.
//
// In an open loop the instants at which operations start are decided before the run. A dispatcher
// waits for each and hands the operation to a connection; if all are busy it queues, and its
// latency counts from when it was meant to start. A server that stalls for eight seconds is thus
// asked as before, and everyone who came in these seconds is heard (coordinated omission is what
// happens otherwise: Gil Tene, 2013). In a closed loop each client asks again when it has its
// answer.
//
// A load generator that is late itself would measure itself. The dispatcher sleeps in the kernel on
// a thread of its own, and how late operations began for which a connection was free is part of the
// result ([Result.LateP99]); where that was much, the result says that it could not keep up
// ([Result.Behind]). Load generator and server share the machine's cores: a late start is as often
// the server's doing.
//
// Power can be lost in between. A [Generator] runs to an instant, and goes on from there when the
// server is back, however long that took; the workload's time stands still meanwhile. To find out
// what was lost it can remember what was acknowledged ([Config.Remember]): then all writes of a key
// go one after the other, and each carries a number that rises.
//
//	d := loadgen.New(loadgen.Config{Server: server, Workload: w, Seed: 1, From: warmup, End: end})
//	err := d.Run(ctx, end, nil)
//	result := d.Result()
package loadgen
