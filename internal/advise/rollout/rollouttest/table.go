//go:build linux

package rollouttest

import (
	"fmt"
	"strings"
	"sync"
)

// step is the step of a rollout that a point is in: "swap".
func (p point) step() string {
	if _, step, ok := strings.Cut(p.name, ": "); ok {
		return step
	}
	switch p.name {
	case "linked", "before exchanging", "exchanged", "kept":
		return "swap"
	}
	return "copy"
}

// backStep is the step of an undo that a point is in. The log is copied back where the steps are swapped
// back.
func (p point) backStep() string {
	if _, step, ok := strings.Cut(p.name, ": "); ok {
		return step
	}
	if p.name == "removed" {
		return "check"
	}
	return "swap"
}

// Kills counts what became of rollouts that were killed, by their steps.
type Kills struct {
	Acknowledged int // writes, all of which were there in the end

	mu    sync.Mutex
	order []string
	count map[string]map[string]int
}

// Add notes a rollout that was killed in a step while it went forward or back, and what was done
// then: "resume" or "undo". acknowledged writes are added to the others.
func (k *Kills) Add(direction, step, then string, acknowledged int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.Acknowledged += acknowledged
	at := direction + " | " + step
	if k.count == nil {
		k.count = map[string]map[string]int{}
	}
	if k.count[at] == nil {
		k.count[at] = map[string]int{}
		k.order = append(k.order, at)
	}
	k.count[at][then]++
}

// Table is the counts in Markdown. A rollout that lost a write, or did not end as a whole, fails
// the test and is not in it.
func (k *Kills) Table() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var b strings.Builder
	b.WriteString("\n| direction | killed in | times | resumed | undone |\n|---|---|---|---|---|\n")
	total := 0
	for _, at := range k.order {
		n := k.count[at]
		total += n["resume"] + n["undo"]
		fmt.Fprintf(&b, "| %s | %d | %d | %d |\n", at, n["resume"]+n["undo"], n["resume"], n["undo"])
	}
	fmt.Fprintf(&b, "%d kills, %d writes were acknowledged, none lost\n", total, k.Acknowledged)
	return b.String()
}
