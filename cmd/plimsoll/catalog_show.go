package main

import (
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/model/catalog"
	"plimsoll/internal/present/results"
)

func newCatalogShowCommand(a *app) *cobra.Command {
	var output choice
	cmd := &cobra.Command{
		Use:  "show NAME",
		Args: needArgs(1, 1, "plimsoll catalog list shows them"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 || a.useCatalog() != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, n := range append(catalog.TypeNames(), catalog.Current().InstanceNames()...) {
				if strings.HasPrefix(n, typed) {
					names = append(names, n)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.useCatalog(); err != nil {
				return err
			}
			return showProduct(a, args[0], output)
		},
	}
	addFormat(cmd, &output)
	return cmd
}

// unknownProduct suggests similar names. A name with a dot is taken for an instance.
func unknownProduct(name string, instance error) error {
	_, volume := catalog.Type(name)
	if strings.Contains(name, ".") {
		return usagef("plimsoll catalog list instances shows them", "%w", instance)
	}
	return usagef("plimsoll catalog list shows them", "%w", volume)
}

func showProduct(a *app, name string, output choice) error {
	if t, err := catalog.Type(name); err == nil {
		d, err := results.Volume(t)
		if err != nil {
			return err
		}
		return a.show(output, t.Report(), d)
	}
	i, err := catalog.Instance(name)
	if err != nil {
		return unknownProduct(name, err)
	}
	d, err := results.Instance(i)
	if err != nil {
		return err
	}
	return a.show(output, i.Report(), d)
}
