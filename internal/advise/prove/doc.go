// Package prove tells from two recordings whether something got better, by how much, and how sure
// that is.
//
// A database's latency is no bag of independent numbers. It comes in cycles, a checkpoint a minute,
// and within one every second resembles the second before it. Ten minutes at one second are 600
// samples, but only ten checkpoints, and ten is what may be counted: a test that takes the seconds
// for independent finds a change between any two recordings of the same thing. So the cycle is the
// unit here.
//
//  1. Both recordings become signals on one grid each, with their stalled time (package diagnose), and
//     are cut into whole checkpoint cycles, from start to start. What is left at the ends is not used: every phase of the
//     cycle counts as often as any other. Without cycles the cells of the grid are the units.
//  2. A figure is a function of units: a mean over time, a mean per operation, a percentile weighted by operations,
//     a percentile of summed histograms.
//  3. How far it may be off tells a circular block bootstrap (Politis, Romano 1992): units are drawn anew, with replacement, in runs.
//     How long a run is tells the figure's own autocorrelation by the rule of Politis and White (2004, corrected by Patton, Politis,
//     White 2009); cycles are rarely dependent, so there a run is one cycle. The interval is that standard error times Student's t. A
//     percentile's is found as Woodruff (1952) has it, from the error of the share of operations above it: if the slowest hundredth
//     fell into one checkpoint of seven, nothing bounds the p99 from above, and the interval has no end there. The interval of a
//     change is made of both sides' (Zou, Donner 2008). What was counted in classes reaches to the edges of the classes beyond
//     that: chance and classes are kept apart, since a longer recording makes only the first less.
//  4. Whether there is a change at all is asked of a permutation: if nothing had changed, the runs of before and after could have come
//     in any order (p by Phipson, Smyth 2010). That holds whatever the distribution is, also for six cycles.
//  5. A report has a dozen figures, and each could be wrong. Holm's procedure (1979) over their p keeps the chance of any false
//     "better" or "worse" in a report at one minus the confidence. A verdict also needs the figure's own interval to
//     exclude no change, and to reach beyond 5 %.
//
// The same recordings and seed give the same report. What is assumed is in the report: that cycles
// of one recording are alike and do not depend on each other beyond a run, and that nothing else
// changed between the two.
package prove
