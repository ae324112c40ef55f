package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"plimsoll/internal/model/catalog"
)

func newCatalogImportCommand(a *app) *cobra.Command {
	var output choice
	var to string
	cmd := &cobra.Command{
		Use:  "import FILE...",
		Args: needArgs(1, -1, "plimsoll catalog import --help lists the formats"),
		RunE: func(cmd *cobra.Command, files []string) error {
			if to == "" && cmd.Flags().Changed("to") {
				return usagef("leave --to out to use your own catalogue", "catalog import: --to is empty")
			}
			if to == "" {
				to = a.catalogPath()
			}
			if to == "" {
				return usagef("set $PLIMSOLL_CATALOG, or give --to", "catalog import: this user has no configuration folder")
			}
			return importCatalog(a, files, to, output.value == "json")
		},
	}
	addOutput(cmd, &output)
	cmd.Flags().StringVar(&to, "to", "", "store prices in this file instead of your own catalogue")
	return cmd
}

// An importResult is the contract of `catalog import -o json`.
type importResult struct {
	File    string           `json:"file"`
	Changes []catalog.Change `json:"changes"`
	Skipped int              `json:"skipped"` // entries for nothing in the catalogue
}

func importCatalog(a *app, files []string, to string, asJSON bool) error {
	store, err := catalog.OpenStore(to)
	if err != nil {
		return err
	}
	today := a.now().Format("2006-01-02")
	var results []importResult
	for _, file := range files {
		text, err := readBounded(file)
		if err != nil {
			return err
		}
		in, err := catalog.ReadImport(file, text, today)
		if err != nil {
			return err
		}
		changes, err := store.Add(in)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		results = append(results, importResult{file, changes, in.Skipped})
		if in.More {
			fmt.Fprintf(a.stderr, "plimsoll: note: %s is one page of several: import the others too, or request fewer prices\n", file)
		}
	}
	if err := store.Write(to); err != nil {
		return &failure{code: exitFailure, err: fmt.Errorf("catalog import: nothing was stored: %w", err), hint: "set $PLIMSOLL_CATALOG, or give --to, with a file that you can write"}
	}
	if asJSON {
		return writeJSON(a, results)
	}
	for _, r := range results {
		printChanges(a.stdout, r)
	}
	fmt.Fprintf(a.stderr, "plimsoll: stored in %s\n", to)
	return nil
}

// readBounded reads a file, at most one byte more than an import may have.
func readBounded(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var text bytes.Buffer
	if info, err := f.Stat(); err == nil { // in one allocation: growing would take twice the memory
		text.Grow(int(min(max(info.Size(), 0), catalog.ImportBytesMax)) + bytes.MinRead + 1)
	}
	_, err = text.ReadFrom(io.LimitReader(f, catalog.ImportBytesMax+1))
	return text.Bytes(), err
}

// linesMax is how many changes of each kind are listed; -o json has all.
const linesMax = 20

func printChanges(w io.Writer, r importResult) {
	n := map[string]int{}
	for _, c := range r.Changes {
		n[c.Kind]++
	}
	fmt.Fprintf(w, "%s: %d added, %d changed, %d unchanged; %d entries skipped\n", r.File, n["added"], n["changed"], n["same"], r.Skipped)
	for _, kind := range []string{"added", "changed"} {
		listed := 0
		for _, c := range r.Changes {
			if c.Kind != kind {
				continue
			}
			if listed++; listed > linesMax {
				fmt.Fprintf(w, "  and %d more %s\n", n[kind]-linesMax, kind)
				break
			}
			if kind == "changed" {
				fmt.Fprintf(w, "  changed  %s: %s (was %s)\n", c.Of, c.IsNow, c.Was)
			} else {
				fmt.Fprintf(w, "  added    %s: %s\n", c.Of, c.IsNow)
			}
		}
	}
}
