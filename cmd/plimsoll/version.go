package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"plimsoll/internal/judge/diagnose"
)

// build describes this program: the contract of `version -o json`.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	// Date is when the revision was committed (RFC 3339, UTC), not when it was built.
	Date     string `json:"date,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// Contract is the version of `diagnose -o json`.
	Contract int `json:"diagnose_json_version"`
}

func thisBuild() build {
	b := build{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Contract: diagnose.Version}
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
			b := thisBuild()
			if output.value == "json" {
				return writeJSON(a, b)
			}
			return b.print(a)
		},
	}
	addOutput(cmd, &output)
	return cmd
}

// print writes it in one line.
func (b build) print(a *app) error {
	line := "plimsoll " + b.Version
	if b.Revision != "" {
		line += " (" + b.Revision
		if b.Modified {
			line += ", modified"
		}
		line += ")"
	}
	_, err := fmt.Fprintf(a.stdout, "%s, %s, %s\n", line, b.Go, b.Platform)
	return err
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
