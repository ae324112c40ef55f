// Package prove determines from two recordings whether something got better, by how much, and how
// sure that is.
//
// A database's latency is not a set of independent numbers. It has cycles, one per checkpoint, and
// within a cycle each second resembles the one before. Ten minutes at one second are 600 samples,
// but only ten checkpoints, and ten is the number that counts: a test that treats the seconds as
// independent finds a change between any two recordings of the same thing. So the unit here is the
// cycle.
//
//  1. Both recordings become signals on one grid each, with their stalled time (package diagnose).
//     They are cut into whole checkpoint cycles, from start to start. The rest at both ends is not
//     used: every phase of the cycle counts equally often. Without cycles the cells of the grid are
//     the units.
//  2. A figure is a function of units: a mean over time, a mean per operation, a percentile
//     weighted by operations, a percentile of summed histograms.
//  3. A circular block bootstrap (Politis, Romano 1992) estimates how far it may be off: units are
//     redrawn with replacement, in runs. The figure's own autocorrelation determines the length of a
//     run, by the rule of Politis and White (2004, corrected by Patton, Politis, White 2009); cycles
//     are rarely dependent, so there a run is one cycle. The interval is that standard error times
//     Student's t. For a percentile it follows Woodruff (1952), from the error of the share of
//     operations above it: if the slowest hundredth fell into one checkpoint of seven, nothing bounds
//     the p99 from above, and the interval has no upper end. The interval of a change combines both
//     sides' (Zou, Donner 2008). Values that were counted in classes extend it to the bounds of the
//     classes: chance and classes are kept apart, because a longer recording reduces only the first.
//  4. A permutation test decides whether there is a change at all: if nothing had changed, the
//     runs of before and after could have come in any order (p by Phipson, Smyth 2010). That holds
//     for any distribution, even with six cycles.
//  5. A report has a dozen figures, and each could be wrong. Holm's procedure (1979) over their p
//     keeps the probability of any false "better" or "worse" in a report at one minus the confidence.
//     A verdict also requires that the figure's own interval excludes no change, and reaches beyond 5
//     %.
//
// The same recordings and seed give the same report. The report states its assumptions: cycles of
// one recording are alike and independent beyond a run, and nothing else changed between the two.
package prove
