// Package fit makes a scenario of a recording: the YAML of package scenario that would have
// produced it.
//
// The idea is that a recording is evidence, and evidence is of three kinds. Some of a scenario was
// measured: a rate, a cache's size, a setting that an exporter tells. Some can be inferred, with an
// honest range: a rate that stands still while requests queue is a limit; pages written again and
// again tell how many there are. The rest is not in the recording, and is assumed: it says so, what
// was taken, and how to measure it. Every [Value] carries which of the three it is and what it
// rests on, and the YAML carries both as comments, so that whoever runs the scenario sees what it
// rests on.
//
// A limit that was never reached is not a limit: the most that was delivered is told, and the
// volume is left without one.
//
// What is asked of the database is taken for an open loop with the mean rate of what it completed.
// That is what was asked as long as it caught up after each stall; a database that fell further and
// further behind was asked more than its recording tells.
//
// The signals are those of package rules, laid on a grid by package diagnose: a recording of any
// source that diagnose reads can be fitted, as far as it tells enough.
package fit
