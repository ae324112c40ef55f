// Package fit makes a scenario from a recording: the YAML of package scenario that would have
// produced it.
//
// A recording is evidence, of three kinds. Some of a scenario was measured: a rate, a cache's size,
// a setting that an exporter reports. Some can be inferred, with an honest range: a rate that stays
// constant while requests queue is a limit; repeated writes of the same pages show how many there
// are. The rest is not in the recording, and is assumed: the value then says so, what was assumed,
// and how to measure it. Every [Value] carries which of the three it is and what it is based on,
// and the YAML carries both as comments, so that whoever runs the scenario sees them.
//
// A limit that was never reached is not known to be a limit: fit reports the most that was
// delivered, and leaves the volume without a limit.
//
// The load is taken to be an open loop with the mean rate of completed operations. That is correct
// if the database caught up after each stall; if it fell further and further behind, the real load
// was higher than the recording shows.
//
// The signals are those of package rules, put on a grid by package diagnose: a recording of any
// source that diagnose reads can be fitted, as far as it contains enough.
package fit
