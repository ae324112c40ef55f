//go:build race

package simulate_test

// The race detector makes a run ten times as slow, and has nothing to find in one that has one
// goroutine.
const raced = true
