package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/advise/discover"
	"plimsoll/internal/engine"
	"plimsoll/internal/record/kubeclient"
)

// clusterOptions are the flags that select a Kubernetes cluster, named like kubectl's.
type clusterOptions struct{ kubeclient.Options }

func (o *clusterOptions) AddFlags(cmd *cobra.Command, of string) {
	f := cmd.Flags()
	f.StringVar(&o.Kubeconfig, "kubeconfig", "",
		of+"the kubeconfig (default: as kubectl; in a pod, its service account)")
	f.StringVar(&o.Context, "context", "", of+"the kubeconfig's context (default: its current one)")
	f.StringVarP(&o.Namespace, "namespace", "n", "", of+
		"the namespace, if the address has none (default: the context's)")
}

// given reports whether any of the flags was.
func (o *clusterOptions) given() bool { return o.Options != kubeclient.Options{} }

// open finds the cluster of an address.
func (o *clusterOptions) open(text string) (*kubeclient.Client, discover.Address, error) {
	at, err := discover.ParseAddress(text)
	if err != nil {
		return nil, at, err
	}
	c, err := kubeclient.Open(o.Options)
	// As with kubectl, the context's namespace is the default.
	if err == nil && at.Namespace == "" {
		at.Namespace = c.Namespace
	}
	return c, at, err
}

// discoverOptions are the flags of `plimsoll discover`.
type discoverOptions struct {
	clusterOptions
	output    choice
	engine    choice
	container string
	claims    []string
	name      string
	out       string
}

func newDiscoverCommand(a *app) *cobra.Command {
	o := &discoverOptions{}
	cmd := &cobra.Command{
		Use:  "discover k8s://NAMESPACE/NAME",
		Args: needArgs(1, 1, "for example k8s://db/store"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.Run(cmd.Context(), a, args[0]) },
	}
	o.AddFlags(cmd)
	return cmd
}

func (o *discoverOptions) AddFlags(cmd *cobra.Command) {
	o.output.value = "yaml"
	addChoice(cmd,
		&o.output, "output", "o", "output format: the scenario, or its values with the source of each",
		"yaml", "json")

	addEngineChoice(cmd, &o.engine, "the database's engine (default: the one whose container is recognised)",
		engine.All().Containers())
	f := cmd.Flags()
	f.StringVar(&o.container, "container", "", "the database's container (default: the one that is recognised)")
	f.StringArrayVar(&o.claims, "claim",
		nil, "the claim template of a volume, if it is not recognised: data=db-storage (repeatable)")
	f.StringVar(&o.name, "name", "", "the scenario's name (default: the StatefulSet's)")
	f.StringVar(&o.out, "out", "", "write into this file, which must not exist yet")
	o.clusterOptions.AddFlags(cmd, "")
}

// Run reads the cluster and writes the scenario.
func (o *discoverOptions) Run(ctx context.Context, env *app, address string) error {
	claims, err := claimsOf("discover", o.claims)
	if err != nil {
		return err
	}

	if err := env.loadCatalog(); err != nil {
		return err
	}

	client, at, err := o.open(address)
	if err != nil {
		return err
	}

	found, err := discover.Discover(ctx, client, discover.Options{
		Engines: engine.All().Containers(), At: at, Engine: o.engine.value, Container: o.container, Claims: claims,
		Name: o.name, Catalog: env.catalog,
	})
	if err != nil {
		return err
	}

	text := found.YAML()

	// Simulate must accept what is printed: if it does not, that is a bug, and the error says so.
	if _, err := env.language().Parse(found.Name, text, nil); err != nil {
		return failf(exitFailure, "plimsoll discover -o json prints the values", "the scenario is not valid:\n%w",
			err)
	}

	err = env.toFile(o.out, false, "name another file", func(a *app) error {
		if o.output.value == "json" {
			return a.show(o.output, found, nil)
		}
		_, err := a.stdout.Write(text)
		return err
	})
	if err != nil {
		return err
	}

	for _, r := range found.Remarks {
		fmt.Fprintf(env.stderr, "plimsoll: note: %s\n", printable(r))
	}

	return nil
}

// claimsOf reads the claim templates of volumes: data=db-storage.
func claimsOf(verb string, given []string) (map[string]string, error) {
	var out map[string]string
	for _, c := range given {
		volume, name, ok := strings.Cut(c, "=")
		if !ok || volume == "" || name == "" {
			return nil, usagef("for example --claim data=db-storage",
				"%s: --claim %q does not map a volume to a claim template", verb, c)
		}
		if out == nil {
			out = map[string]string{}
		}
		out[volume] = name
	}
	return out, nil
}
