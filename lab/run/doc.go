// Package run takes a scenario to the laboratory: the real engine on emulated volumes, under the scenario's workload,
// with a recording and a result at the end.
//
// It is package simulate's counterpart in real time. It mounts the volumes (lab/mount), starts the engine on them (a
// lab.Server) and asks it what the workload says, when it says so (lab/drive); what comes out is a simulate.Result by
// the same counting, so that model and laboratory stand side by side.
package run
