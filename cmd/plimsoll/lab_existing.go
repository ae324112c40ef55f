//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"plimsoll/internal/engine"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/existing"
	"plimsoll/internal/lab/run"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/scenario"
)

// serverOptions are the flags of verbs that use an existing server.
type serverOptions struct {
	server string // "": none
	name   string // of the database or prefix; "": random
	tls    existing.Files
	keep   bool
	yes    bool
}

// addresses are the kinds of server address that a run can use.
func addresses() existing.Kinds { return existing.KindsOf(engine.All().Existing()) }

// withFiles are the products that take TLS files by flags.
func withFiles(kinds existing.Kinds) string {
	var products []string
	for _, k := range kinds {
		if k.Files {
			products = append(products, k.Product)
		}
	}
	return strings.Join(products, " or ")
}

func (o *serverOptions) AddFlags(cmd *cobra.Command, what string) {
	f := cmd.Flags()
	files := withFiles(addresses())
	f.StringVar(&o.server, "server", "", what)
	f.StringVar(&o.name, "database", "", "with --server: the name of the database or prefix to create ("+
		existing.NamePrefix+"...; default: random)")
	f.StringVar(&o.tls.CACert, "cacert", "", "with an "+files+": the CA certificate")
	f.StringVar(&o.tls.Cert, "cert", "", "with an "+files+": the client's certificate")
	f.StringVar(&o.tls.Key, "key", "", "with an "+files+": the client certificate's key")
	f.BoolVar(&o.keep, "keep-data", false, "with --server: keep what was created")
	f.BoolVarP(&o.yes, "yes", "y", false, "with --server: do not ask before writing")

	var schemes []string
	for _, k := range addresses() {
		schemes = append(schemes, k.Schemes[0]+"://")
	}

	complete(cmd, "server", schemes...)
	complete(cmd, "database", existing.NamePrefix)
}

// Validate rejects flags that need a server, or another kind of server.
func (o *serverOptions) Validate(cmd *cobra.Command) error {
	wanted := addresses().Wanted()
	if cmd.Flags().Changed("server") && o.server == "" {
		return usagef(wanted, "--server is empty")
	}

	for _, name := range []string{"database", "cacert", "cert", "key", "keep-data", "yes"} {
		if o.server == "" && cmd.Flags().Changed(name) {
			return usagef(wanted, "--%s needs --server", name)
		}
	}

	if o.name != "" {
		if err := existing.CheckName(o.name); err != nil {
			return usagef("leave it out to use a unique name", "--database: %w", err)
		}
	}

	return nil
}

// address reads --server.
func (o *serverOptions) address(a *app) (*existing.Address, error) {
	kinds := addresses()
	address, err := kinds.Parse(o.server, a.getenv)
	if err != nil {
		return nil, usagef(kinds.Wanted(), "--server: %w", err)
	}

	if !address.Kind().Files && o.tls != (existing.Files{}) {
		var others []string
		for _, k := range kinds {
			if !k.Files {
				others = append(others, k.Parameters+" ("+k.Product+")")
			}
		}
		return nil, usagef("the address contains them: "+strings.Join(others, ", "),
			"--cacert, --cert and --key are for %s", withFiles(kinds))
	}

	if o.name == "" {
		o.name = existing.NewName()
	}

	return address, nil
}

// existing prepares the existing server at an address for a scenario's engine.
func (o *serverOptions) existing(address *existing.Address, sc *scenario.Scenario) (existing.Server, error) {
	if sc.Engine.Name() != address.Engine() {
		return nil, usagef("name a server of that engine, or another scenario",
			"the scenario's engine is %s, and --server is %s", sc.Engine.Name(), address)
	}
	e, err := database.Find(engine.All().Existing(), address.Engine(), "use an existing server")
	if err != nil {
		return nil, err
	}
	server, err := e.Part.New(sc, existing.Options{Address: address, Name: o.name, TLS: o.tls, Keep: o.keep})
	if err != nil {
		return nil, usagef(addresses().Wanted(), "--server: %w", err)
	}
	return server, nil
}

// ask announces what will be done to a server and asks for confirmation.
func (o *serverOptions) ask(ctx context.Context, env *app, in *existing.Intent) error {
	plan := printable(in.Plan())
	for _, note := range in.Inspection.Notes {
		fmt.Fprintf(env.stderr, "plimsoll: %s\n", printable(note))
	}

	if in.Inspection.Remove != "" && !o.keep {
		fmt.Fprintf(env.stderr, "plimsoll: if this process is killed, clean up with: %s\n",
			printable(in.Inspection.Remove))
	}

	// The plan is printed even with --yes, so that logs show what was done.
	if o.yes {
		fmt.Fprintf(env.stderr, "plimsoll: %s\n", plan)
		return nil
	}

	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return usagef("--yes confirms in advance", "this %s, and there is no terminal for the confirmation", plan)
	}

	fmt.Fprintf(env.stderr, "plimsoll: %s; continue? [y/N] ", plan)

	// Reading a terminal cannot be cancelled, so it runs in a goroutine that an interrupt leaves
	// behind.
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(io.LimitReader(os.Stdin, 100)).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()

	select {
	case word := <-answer:
		if word == "y" || word == "yes" {
			return nil
		}
		return errors.New("nothing was done")
	case <-ctx.Done():
		fmt.Fprintln(env.stderr)
		return context.Canceled
	}
}

// prepare inspects the server, asks for confirmation, and sets a run's options.
func (o *serverOptions) prepare(ctx context.Context, a *app, sc *scenario.Scenario, opt *run.Options) error {
	address, err := o.address(a)
	if err != nil {
		return err
	}

	server, err := o.existing(address, sc)
	if err != nil {
		return err
	}

	seen, err := server.Inspect(ctx, sc)
	if err != nil {
		return fmt.Errorf("--server %s: %w", address, err)
	}

	in := existing.IntentOf(address, o.name, sc, seen)
	in.Keep = o.keep
	if err := o.ask(ctx, a, in); err != nil {
		return err
	}

	opt.Existing = &run.Existing{Address: address.String(), Database: in.What(), Kept: o.keep,
		Local: address.Local()}
	opt.Server = func(*scenario.Scenario) (lab.Server, error) { return server, nil }

	// for example what could not be removed
	opt.Log = a.say
	return nil
}
