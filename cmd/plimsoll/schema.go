package main

import (
	"embed"
	"strings"

	"github.com/spf13/cobra"
)

// schemas has the JSON Schema of each command's output, as schemas/<command with - for spaces>.json. A
// test generates them from the types that are written: go test ./cmd/plimsoll -run TestSchemas -update.
//
//go:embed schemas/*.json
var schemas embed.FS

const schemaHelp = "print the JSON Schema of -o json and exit"

// schemaName is the file with the schema of a command's output.
func schemaName(cmd *cobra.Command) string {
	words := strings.Fields(cmd.CommandPath())
	return "schemas/" + strings.Join(words[1:], "-") + ".json"
}

// addSchemas gives every command with JSON output the flag --schema. It needs no argument and no other
// flag, so it is checked before both.
func addSchemas(parent *cobra.Command) {
	for _, cmd := range parent.Commands() {
		addSchemas(cmd)

		text, err := schemas.ReadFile(schemaName(cmd))
		if err != nil {
			continue // no JSON, or a schema with its own flag: diagnose
		}

		var asked bool
		wanted := func() bool { return asked }
		if f := cmd.Flags().Lookup("schema"); f == nil {
			cmd.Flags().BoolVar(&asked, "schema", false, schemaHelp)
		} else {
			// simulate's own flag prints the schema of its input, unless JSON is asked for.
			wanted = func() bool {
				return f.Value.String() == "true" && cmd.Flags().Lookup("output").Value.String() == "json"
			}
		}

		args, run := cmd.Args, cmd.RunE
		cmd.Args = func(cmd *cobra.Command, words []string) error {
			if wanted() {
				return needArgs(0, 0, "")(cmd, words)
			}
			if args == nil { // any number
				return nil
			}
			return args(cmd, words)
		}
		cmd.RunE = func(cmd *cobra.Command, words []string) error {
			if wanted() {
				_, err := cmd.OutOrStdout().Write(text)
				return err
			}
			return run(cmd, words)
		}
	}
}
