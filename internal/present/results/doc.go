// Package results makes documents of results: a builder for each kind, from a simulation to a plan,
// a proof, a fleet or a walk through a published case. Each takes the result as the verb has it and
// gives a [document.Document], which package text, html or markdown then writes.
//
// A diagnosis has a package of its own, so that plimsoll watch links no model and no planner.
package results
