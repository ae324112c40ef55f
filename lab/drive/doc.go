// Package drive asks a real server what a workload says, when it says so.
//
// In an open loop the instants at which operations start are decided before the run. A dispatcher waits
// for each and hands the operation to a connection; if all are busy it queues, and its latency counts from
// when it was meant to start. A server that stalls for eight seconds is thus asked as before, and everyone who came in
// these seconds is heard (coordinated omission is what happens otherwise: Gil Tene, 2013).
//
// A dispatcher that is late itself would measure itself. It sleeps by the kernel's high-resolution timer on a
// thread of its own, and what it was late by is part of the result ([Result.DispatchP99]).
//
// To find out what a loss of power takes, a run can remember what was acknowledged ([Config.Remember]): then all
// writes of a key go by one connection, one after the other, and each carries a number that rises.
package drive
