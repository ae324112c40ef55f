package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// formerFlags are names that flags had before each concept got one name, by command. They are accepted in
// scripts and not shown. Words of --to that are not times are in [formatOrTime] and [placeOrTime].
var formerFlags = map[string]map[string]string{
	"catalog":        {"provider": "platform"},
	"catalog import": {"to": "out"},
	"catalog list":   {"provider": "platform"},
	"diagnose":       {"select": "selector"},
	"emit":           {"to": "target", "dir": "out"},
	"init":           {"on": "platform"},
	"lab check-perf": {"duration": "for", "keep": "keep-data"},
	"lab run":        {"record": "out", "keep": "keep-data"},
	"lab table":      {"record": "out"},
	"man":            {"dir": "out"},
	"mark":           {"to": "in"},
	"mcp":            {"at-once": "parallel"},
	"metrics":        {"match": "like"},
	"plan":           {"emit": "out"},
	"rollout":        {"dir": "out", "patience": "wait"},
	"rules export":   {"to": "output", "dir": "out", "interval": "every"},
	"simulate":       {"record": "out"},
	"trace":          {"record": "out"},
	"watch":          {"dir": "out", "keep": "keep-for", "host": "web.host"},
}

// acceptFormerFlags makes every command accept the former names of its flags.
func acceptFormerFlags(root *cobra.Command) {
	for _, c := range append([]*cobra.Command{root}, everyBelow(root)...) {
		renamed := formerFlags[verb(c)]
		if len(renamed) == 0 {
			continue
		}
		// A normalised name is the flag itself, so that it counts as given and is shown by its name.
		c.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
			if now := renamed[name]; now != "" {
				name = now
			}
			return pflag.NormalizedName(name)
		})
	}
}

// everyBelow are all commands below one, hidden ones included.
func everyBelow(c *cobra.Command) (out []*cobra.Command) {
	for _, sub := range c.Commands() {
		out = append(append(out, sub), everyBelow(sub)...)
	}
	return out
}
