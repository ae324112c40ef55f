package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/results"
)

func thisBuild() *results.Build {
	b := &results.Build{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Contract: diagnose.Version}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	b.Revision = setting(info, "vcs.revision")
	b.Date = setting(info, "vcs.time")
	b.Modified = setting(info, "vcs.modified") == "true"
	return b
}

// setting is a value that the go command put into the program, "" if there is none.
func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

func newVersionCommand(a *app) *cobra.Command {
	var output choice
	cmd := &cobra.Command{
		Use:  "version",
		Args: needArgs(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			return showVersion(a, output)
		},
	}
	addFormat(cmd, &output)
	return cmd
}

func showVersion(a *app, output choice) error {
	b := thisBuild()
	return a.showList(output, b, results.Version(b))
}

// addOutput adds -o.
func addOutput(cmd *cobra.Command, output *choice) {
	output.value = "text"
	addChoice(cmd, output, "output", "o", "how to write the result, and errors", "text", "json")
}

// writeJSON writes a value as indented JSON.
func writeJSON(a *app, v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	return nil
}
