// Package plan finds the cheapest layout of a deployment that meets an objective, by simulating
// layouts in the order of their price.
//
// A layout is a set of assignments over a scenario, in the grammar of `simulate --set`:
// "volumes.data.iops=6000", "host.dirty_background_bytes=8MB", "volumes.journal={type: gp3, size:
// 10GiB}". So whatever a plan says can be run again.
//
// # The space
//
// A [Space] has axes: the data's volume, a volume for the log, the instance, the engine's settings.
// Each axis has options, of which the first is what is deployed now. What is paid for is combined
// freely; of the settings, which cost nothing, at most so many are changed at once
// ([Options].AtOnce), since each has to be understood, applied and watched. The options are a
// coarse grid on purpose: the model's error is larger than what lies between two of its points.
//
// # Exactness
//
// The price of a layout is known before it is simulated. So layouts are gone through by price in
// whole dollars, then by how much their changes disturb (a setting less than a new volume), then by
// how many values they change, and what is at risk: the first that meets the objective is the
// answer, the same that simulating every layout of the space would give. Nothing is assumed of how
// latency depends on a setting: in this field more IOPS can be worse, since a checkpoint then comes
// as a shorter and higher wave.
//
// A layout is rejected early only where that is certain:
//
//   - by its floor: a write that waits for its log takes no less than the quickest write of the log's volume ([floor]);
//   - by its load: what must reach the log in the measured time does not pass the volume's or the instance's limit ([demand]);
//   - by its reads: blocks that nobody asked for before are more than the databases' volume lets be read in that time ([reading]);
//   - by another's run, which its own would repeat: it has more of limits that never decided anything there ([twin]);
//   - in its run: more operations have been over the bound than a percentile allows of all that will come
//     ([simulate.Wanted]). A shorter run decides nothing, as a p99 over a minute is no bound of one over ten.
//
// As many layouts are simulated at once as there are workers, and their outcomes count in order:
// the answer does not depend on how many cores there are. What only the report needs runs after the
// search. A layout that costs more than the chosen one runs only until it is certain to be no
// better than something cheaper.
//
// What a search may cost is bounded by a number of simulations, not by time ([Options].Most); when
// it is reached the plan says that it does not know.
package plan
