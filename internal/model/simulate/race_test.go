//go:build race

package simulate_test

// The race detector makes a run ten times as slow and has nothing to find: a run has one goroutine.
const raced = true
