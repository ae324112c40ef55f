package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/present/results"
)

func newCatalogShowCommand(a *app) *cobra.Command {
	var output choice
	cmd := &cobra.Command{
		Use:  "show NAME",
		Args: needArgs(1, 1, "plimsoll catalog list shows them"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, typed string) ([]string,
			cobra.ShellCompDirective) {
			if len(args) > 0 || a.loadCatalog() != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, n := range append(catalog.TypeNames(), a.catalog.InstanceNames()...) {
				if strings.HasPrefix(n, typed) {
					names = append(names, n)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.loadCatalog(); err != nil {
				return err
			}
			return showProduct(a, args[0], output)
		},
	}

	addFormat(cmd, &output)
	return cmd
}

// machineName matches how the providers spell machines: m6i.large, n4-standard-8, Standard_D8s_v5.
var machineName = regexp.MustCompile(`(?i)^([a-z][a-z0-9-]*\.|[a-z]\d+[a-z]*-|standard_)`)

// unknownProduct suggests similar names: of machines if the name looks like a machine's, otherwise of
// volume types.
func (a *app) unknownProduct(name string) error {
	what, other, names, list := "volume type", "machine", catalog.TypeNames(), "plimsoll catalog list shows them"
	if machineName.MatchString(name) {
		what, other, names = "machine", "volume type", a.catalog.InstanceNames()
		list = "plimsoll catalog list instances shows them, and plimsoll catalog import adds newer ones"
	}
	text := fmt.Sprintf("no %s is called %q, and no %s either", what, name, other)
	near := inputerror.Near(name, names, 3)
	if len(near) == 0 {
		near = inputerror.Near(name, append(catalog.TypeNames(), a.catalog.InstanceNames()...), 3)
	}
	if len(near) > 0 {
		text += "; did you mean " + strings.Join(near, ", ") + "?"
	}
	return usagef(list, "%s", text)
}

func showProduct(a *app, name string, output choice) error {
	if t, err := catalog.Type(name); err == nil {
		d, err := results.Volume(a.catalog, t)
		if err != nil {
			return err
		}
		return a.show(output, a.catalog.Report(t), d)
	}

	i, err := a.catalog.Instance(name)
	if err != nil {
		return a.unknownProduct(name)
	}

	d, err := results.Instance(i)
	if err != nil {
		return err
	}

	return a.show(output, i.Report(), d)
}
