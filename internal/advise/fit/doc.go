// Package fit derives a scenario from a recording: the YAML of package scenario that would have
// produced it.
//
// The evidence for a scenario's values is of three kinds. Some values were measured: a rate, the size of
// a cache, a setting that an exporter reports. Some can be inferred, with an honest range: a rate that
// stays constant while requests queue is a limit; repeated writes of the same pages show how many there
// are. The rest is not in the recording and is assumed; such a value states the assumption and how to
// measure it. Every [Value] has its kind and its evidence, and the YAML shows both as comments for the
// users of the scenario.
//
// If a limit was never reached, its value is unknown: fit reports the most that was delivered, and leaves
// the volume without a limit.
//
// Fit models the load as an open loop with the mean rate of completed operations. That is correct if the
// database caught up after each stall. If it kept falling behind, the real load was higher than the
// recording shows.
//
// The signals are those of package rules, and package diagnose puts them on a grid. So fit can use a
// recording of any source that diagnose reads, if it contains enough.
package fit
