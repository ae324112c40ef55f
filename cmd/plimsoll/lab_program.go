//go:build linux

package main

import (
	"os/exec"

	"github.com/spf13/cobra"

	"plimsoll/internal/engine"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/scenario"
)

// A program is a flag for the user's own build of an engine.
type program struct {
	lab.Program
	engine string // the engine's name in scenarios
	path   string // "": the lab's default
}

// addPrograms adds a flag for each engine whose program can be replaced.
func addPrograms(cmd *cobra.Command) (out []*program) {
	for _, e := range engine.All().Labs() {
		if e.Part.Program == nil {
			continue
		}
		p := &program{Program: *e.Part.Program, engine: e.Key}
		cmd.Flags().StringVar(&p.path, p.Flag, "", p.Usage)
		offer(cmd, p.Flag, anyFile)
		out = append(out, p)
	}
	return out
}

// check rejects a missing program, and one for an engine that the scenario does not use.
func (p *program) check(sc *scenario.Scenario) error {
	if p.path == "" {
		return nil
	}
	if name := sc.Engine.Name(); name != p.engine {
		return usagef("leave it out", "--%s %s: the scenario's engine is %s", p.Flag, p.path, name)
	}
	if _, err := exec.LookPath(p.path); err != nil {
		return usagef(p.Missing, "--%s: %w", p.Flag, err)
	}
	return nil
}
