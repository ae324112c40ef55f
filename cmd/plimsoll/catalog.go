package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/advise/rollout"
	"plimsoll/internal/engine"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/present/results"
)

func newCatalogCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "catalog",
	}
	list := newCatalogListCommand(a)
	listByDefault(cmd, list)
	cmd.AddCommand(list, newCatalogShowCommand(a), newCatalogImportCommand(a))
	return cmd
}

// catalogVariable names the file of the imports.
const catalogVariable = "PLIMSOLL_CATALOG"

// catalogPath is where imports are kept: $PLIMSOLL_CATALOG, or a file in the user's configuration
// folder. It is "" if there is neither.
func (a *app) catalogPath() string {
	if path := a.getenv(catalogVariable); path != "" {
		return path
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "plimsoll", "catalog.json")
}

// loadCatalog reads what the user has imported. Each verb that looks something up calls it first; until then,
// the catalogue has no imports.
func (a *app) loadCatalog() error {
	path := a.catalogPath()
	if path == "" {
		return nil
	}

	_, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return nil
	case err != nil && a.getenv(catalogVariable) == "":
		// A service's HOME is often another user's. Files there were not imported for it.
		fmt.Fprintf(a.stderr, "plimsoll: warning: no imported catalogue is used: %s\n", printable(err.Error()))
		return nil
	}

	store, err := catalog.OpenStore(path)
	if err != nil {
		return fmt.Errorf("imported catalogue: %w", err)
	}

	a.catalog = store.Catalog()
	return nil
}

// deployments are the engines' parts for emitting files; plans are read with the user's catalogue.
func (a *app) deployments() emit.Engines {
	all := engine.All().Deployments()
	all.Language = a.language()
	return all
}

// rollouts are the engines' parts for carrying out plans, which are read with the user's catalogue.
func (a *app) rollouts() rollout.Engines {
	all := engine.All().Rollouts()
	all.Engines = a.deployments()
	return all
}

// A catalogFilter restricts a list.
type catalogFilter struct {
	provider choice
	minIOPS  int64
	like     string
}

func newCatalogListCommand(env *app) *cobra.Command {
	var output choice
	var filter catalogFilter
	cmd := &cobra.Command{
		Use:  "list [volumes|instances]",
		Args: needArgs(0, 1, ""),
		ValidArgsFunction: upTo(1, cobra.FixedCompletions([]string{"volumes", "instances"},
			cobra.ShellCompDirectiveNoFileComp)),
		RunE: func(_ *cobra.Command, args []string) error {
			what := "volumes"
			if len(args) == 1 {
				what = args[0]
			}

			if what != "volumes" && what != "instances" {
				return usagef("plimsoll catalog list volumes, or instances", "catalog list: no list of %q", what)
			}
			if filter.minIOPS < 0 {
				return usagef("", "catalog list: --min-iops %d: want 0 or more", filter.minIOPS)
			}

			// After the usage checks, because reading a catalogue may need a file of the user.
			if err := env.loadCatalog(); err != nil {
				return err
			}
			if what == "volumes" {
				return listVolumes(env, &filter, output)
			}

			return listInstances(env, &filter, output)
		},
	}

	addFormat(cmd, &output)
	addChoice(cmd, &filter.provider, "platform", "", "only this cloud", "aws", "gcp", "azure")
	cmd.Flags().Int64Var(&filter.minIOPS, "min-iops",
		0, "only what can have this many IOPS; for instances, without a burst")
	cmd.Flags().StringVar(&filter.like, "like", "", "only names that contain this")

	return cmd
}

// has reports whether a product is from the requested provider, and has the name.
func (f *catalogFilter) has(name, provider string) bool {
	return strings.Contains(name, strings.ToLower(f.like)) &&
		(f.provider.value == "" || f.provider.value == provider)
}

func listVolumes(a *app, f *catalogFilter, output choice) error {
	var types []*catalog.VolumeType
	rows := []catalog.VolumeReport{}
	for _, t := range catalog.VolumeTypes() {
		if f.has(t.Name, t.Provider) && (!t.IOPSMax.Known() || int64(t.IOPSMax.Value) >= f.minIOPS) {
			types, rows = append(types, t), append(rows, a.catalog.Report(t))
		}
	}
	if len(rows) == 0 && output.value != "json" {
		fmt.Fprintln(a.stderr, "plimsoll: no volume type matches")
		return nil
	}
	return a.showList(output, rows, results.Volumes(a.catalog, types))
}

func listInstances(a *app, f *catalogFilter, output choice) error {
	var types []*catalog.InstanceType
	rows := []catalog.InstanceReport{}
	all := a.catalog.Instances()
	for i := range all {
		if t := &all[i]; f.has(t.Name, t.Of()) && int64(t.MostIOPS()) >= f.minIOPS {
			types = append(types, t)
		}
	}

	slices.SortFunc(types, catalog.BySize)
	for _, t := range types {
		rows = append(rows, t.Report())
	}

	if len(rows) == 0 && output.value != "json" {
		fmt.Fprintln(a.stderr, "plimsoll: no instance type matches")
		return nil
	}

	return a.showList(output, rows, results.Instances(types))
}
