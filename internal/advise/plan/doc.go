// Package plan finds the cheapest layout of a deployment that meets an objective, by simulating
// layouts in the order of their price.
//
// A layout is a set of assignments over a scenario, in the grammar of `simulate --set`:
// "volumes.data.iops=6000", "host.dirty_background_bytes=8MB", "volumes.journal={type: gp3, size:
// 10GiB}". So every layout of a plan can be run again.
//
// # The space
//
// A [Space] has axes: the data's volume, a volume for the log, the instance, the engine's settings.
// Each axis has options, of which the first is the present deployment. What costs money is combined
// freely. Settings cost nothing, but only a limited number of them change together
// ([Options].AtOnce), because each has to be understood, applied and watched. The options are a
// coarse grid on purpose: the model's error is larger than the difference between two neighbouring
// points.
//
// # Exactness
//
// The price of a layout is known before it is simulated. So layouts are tried by price in whole
// dollars, then by how disruptive their changes are (a setting less than a new volume), then by the
// number of changed values, and by risk. The first that meets the objective is the answer, the same
// that simulating every layout of the space would give. Nothing is assumed about how latency
// depends on a setting: in this field more IOPS can be worse, because a checkpoint's writes then
// arrive as a shorter and higher wave.
//
// A layout is rejected without a whole run if that is certain:
//
//   - by its floor: a write that waits for its log takes at least as long as the fastest write of
//     the log's volume ([floor]);
//   - by its load: the log's writes in the measured time exceed the volume's or the instance's
//     limit ([demand]);
//   - by its reads: the blocks that must be read for the first time exceed what the databases'
//     volume can read in that time ([reading]);
//   - by another layout's run: its machine's processor is saturated whatever the volumes are, or its
//     run would repeat that one, because it only has more of limits that never mattered there
//     ([simulator.ruledOut]);
//   - during its run: more operations have exceeded the bound than a percentile allows for all that
//     will arrive ([simulate.Wanted]). A p99 over a minute does not bound one over ten.
//
// As many layouts are simulated concurrently as there are workers, and their outcomes count in
// order: the answer does not depend on the number of cores. The present deployment's run goes to its
// end in any case, because the report shows it. Runs that only the report needs come after the search.
// A layout that costs more than the chosen one runs only until it is certain to be no better than
// something cheaper.
//
// The cost of a search is bounded by a number of simulations, not by time ([Options].Most). If that
// is reached, the plan says that it does not know.
package plan
