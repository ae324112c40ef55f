// Package plan finds the cheapest layout of a deployment that meets an objective. It simulates
// layouts in order of price.
//
// A layout is a set of assignments over a scenario, in the grammar of `simulate --set`:
// "volumes.data.iops=6000", "host.dirty_background_bytes=8MB", "volumes.journal={type: gp3, size:
// 10GiB}". So a user can run every layout of a plan again.
//
// # The space
//
// A [Space] has axes: the data volume, a separate log volume, the instance, and the engine's
// settings. The first option of each axis is the current deployment. The search combines the axes
// that cost money freely. Settings cost nothing, but only a few of them may change together
// ([Options].AtOnce), because the operators have to understand, apply and monitor each one. The
// grid is coarse on purpose: the model's error exceeds the difference between neighbouring points.
//
// # Exactness
//
// The price of a layout is known before it is simulated. So the search tries layouts by price in
// whole dollars, then by how disruptive their changes are (a setting less than a new volume), then
// by the number of changed values, and by risk. The first layout that meets the objective is the
// answer, and simulating the whole space would give the same one. The search assumes nothing about
// how latency depends on a setting: more IOPS can make latency worse, because a checkpoint's writes
// then arrive in a shorter, higher burst.
//
// The search rejects a layout without a full run if it is certain to miss the objective:
//
//   - by its latency floor: a write that waits for the log takes at least as long as the fastest
//     write to the log volume ([floor]);
//   - by its load: the log writes within the measured time exceed the volume's or the instance's
//     limit ([demand]);
//   - by its reads: it must read more blocks for the first time than the data volume can deliver
//     in that time ([reading]);
//   - by another layout's run: the same machine saturated its processor regardless of the volumes,
//     or this run would repeat the other one, because it only raises limits that never mattered
//     there ([simulator.ruledOut]);
//   - during its run: more operations have already exceeded the bound than the percentile allows
//     for all that will arrive ([simulate.Wanted]). This counts the arrivals of the whole run: a p99
//     over one minute does not bound the p99 over ten.
//
// The search simulates one layout per worker concurrently, but counts their outcomes in order, so
// the answer does not depend on the number of cores. The current deployment always runs to the end,
// because the report shows it. Runs that only the report needs come after the search. A layout that
// costs more than the chosen one runs only until it is certain to be no better than a cheaper one.
//
// A limit on the number of simulations, not on time, bounds the cost of a search ([Options].Most).
// When the search reaches it, the plan says that the cheapest layout is unknown.
package plan
