package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"plimsoll/internal/model/catalog"
	"plimsoll/internal/present/results"
)

func newCatalogImportCommand(a *app) *cobra.Command {
	var output choice
	var to string
	cmd := &cobra.Command{
		Use:  "import FILE...",
		Args: needArgs(1, -1, "plimsoll catalog import --help lists the formats"),
		RunE: func(_ *cobra.Command, files []string) error {
			if to == "" {
				to = a.catalogPath()
			}
			if to == "" {
				return usagef(
					"set $PLIMSOLL_CATALOG, or give --out", "catalog import: this user has no configuration folder")
			}
			return importCatalog(a, files, to, output)
		},
	}

	addFormat(cmd, &output)
	cmd.Flags().StringVar(&to, "out", "", "store prices in this file instead of your own catalogue")
	return cmd
}

func importCatalog(env *app, files []string, to string, output choice) error {
	store, err := catalog.OpenStore(to)
	if err != nil {
		return err
	}

	today := env.now().Format("2006-01-02")
	var all []catalog.ImportReport
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

		all = append(all, catalog.ImportReport{File: file, Changes: changes, Skipped: in.Skipped})
		if in.More {
			fmt.Fprintf(
				env.stderr, "plimsoll: note: %s is one page of several: import the others too, or request fewer prices\n",
				file)
		}
	}

	// All files are written together, so an error in one of them changes nothing.
	if err := store.Write(to); err != nil {
		return failf(exitFailure, "set $PLIMSOLL_CATALOG, or give --out, with a file that you can write",
			"catalog import: nothing was stored: %w", err)
	}

	if err := env.showList(output, all, results.Import(all)); err != nil || output.value == "json" {
		return err
	}

	fmt.Fprintf(env.stderr, "plimsoll: stored in %s\n", to)
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
