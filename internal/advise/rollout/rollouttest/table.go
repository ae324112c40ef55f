//go:build linux

package rollouttest

import (
	"fmt"
	"strings"
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

// kills counts what became of rollouts that were killed, by their steps.
type kills struct {
	order        []string
	count        map[string]map[string]int
	acknowledged int
}

func (k *kills) add(direction, step, then string) {
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

// table is the counts in Markdown. A rollout that lost a write, or did not end as a whole, fails the test and is
// not in it.
func (k *kills) table() string {
	var b strings.Builder
	b.WriteString("\n| direction | killed in | times | resumed | undone |\n|---|---|---|---|---|\n")
	for _, at := range k.order {
		n := k.count[at]
		fmt.Fprintf(&b, "| %s | %d | %d | %d |\n", at, n["resume"]+n["undo"], n["resume"], n["undo"])
	}
	fmt.Fprintf(&b, "%d writes were acknowledged, none lost\n", k.acknowledged)
	return b.String()
}
