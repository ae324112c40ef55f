//go:build linux

package main

import (
	"os/exec"

	"github.com/spf13/cobra"

	engines "plimsoll/internal/engine"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/engine"
	"plimsoll/internal/model/scenario"
)

// A program is a flag that names an engine's program of a person's own.
type program struct {
	lab.Program
	engine string // in scenarios
	path   string // "": that which the lab runs
}

// addPrograms adds a flag for each engine that can be run from such a program.
func addPrograms(cmd *cobra.Command) (out []*program) {
	for _, e := range engine.Facets[lab.ProgramEngine](engines.All()) {
		p := &program{Program: e.Program(), engine: e.Traits().Key}
		cmd.Flags().StringVar(&p.path, p.Flag, "", p.Usage)
		if err := cmd.MarkFlagFilename(p.Flag); err != nil {
			panic(err) // the flag was just added
		}
		out = append(out, p)
	}
	return out
}

// check finds a program that is not there, or is another engine's than the scenario's.
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
