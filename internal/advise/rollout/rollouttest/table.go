//go:build linux

package rollouttest

import (
	"fmt"
	"strings"
	"sync"
)

// step returns the step of a rollout that contains a point: "swap".
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

// backStep returns the step of an undo that contains a point. The undo of swap also copies the log back.
func (p point) backStep() string {
	if _, step, ok := strings.Cut(p.name, ": "); ok {
		return step
	}
	if p.name == "removed" {
		return "check"
	}
	return "swap"
}

// Kills counts killed rollouts by step and by how they ended.
type Kills struct {
	Acknowledged int // acknowledged writes, none of which was lost

	mu    sync.Mutex
	order []string
	count map[string]map[string]int
}

// Add records a rollout that was killed in a step, the direction that it had, and what was done then:
// "resume" or "undo". It adds the acknowledged writes to the total.
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

// Table returns the counts in Markdown. A rollout that loses a write, or does not complete, fails the
// test and is not in the table.
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
