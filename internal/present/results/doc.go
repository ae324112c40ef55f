// Package results converts results to documents. It has a builder for each kind of result: a
// simulation, a plan, a proof, a fleet, a walk through a published case and so on. Each takes the
// result of a verb and returns a [document.Document], which package text, html or markdown then
// writes.
//
// Diagnosis has a separate package, so that plimsoll watch does not link the model and the planner.
package results
