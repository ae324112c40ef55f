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

	etcd "plimsoll/internal/engine/etcd/server"
	wiredtigermodel "plimsoll/internal/engine/mongodb/model"
	mongodb "plimsoll/internal/engine/mongodb/server"
	postgresmodel "plimsoll/internal/engine/postgres/model"
	postgres "plimsoll/internal/engine/postgres/server"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/existing"
	"plimsoll/internal/lab/run"
	"plimsoll/internal/model/scenario"
)

// visitOptions are those of verbs that ask a server which runs already.
type visitOptions struct {
	server string // "": none
	name   string // of the database or prefix; "": one by chance
	tls    etcd.Files
	keep   bool
	yes    bool
}

func (o *visitOptions) AddFlags(cmd *cobra.Command, what string) {
	f := cmd.Flags()
	f.StringVar(&o.server, "server", "", what)
	f.StringVar(&o.name, "database", "", "with --server: what is made there is called so ("+existing.NamePrefix+"...; default: by chance)")
	f.StringVar(&o.tls.CACert, "cacert", "", "with an etcd: who signs its certificates, as in etcdctl")
	f.StringVar(&o.tls.Cert, "cert", "", "with an etcd: the client's certificate")
	f.StringVar(&o.tls.Key, "key", "", "with an etcd: the certificate's key")
	f.BoolVar(&o.keep, "keep", false, "with --server: leave there what was made")
	f.BoolVarP(&o.yes, "yes", "y", false, "with --server: do not ask before anything is written")
	complete(cmd, "server", "etcd://", "postgres://", "mongodb://")
	complete(cmd, "database", existing.NamePrefix)
	for _, name := range []string{"cacert", "cert", "key"} {
		if err := cmd.MarkFlagFilename(name); err != nil {
			panic(err) // the flag was just added
		}
	}
}

// Validate finds flags that say nothing without a server, or of another one.
func (o *visitOptions) Validate(cmd *cobra.Command) error {
	if cmd.Flags().Changed("server") && o.server == "" {
		return usagef(existing.Wanted, "--server: no address is given")
	}
	for _, name := range []string{"database", "cacert", "cert", "key", "keep", "yes"} {
		if o.server == "" && cmd.Flags().Changed(name) {
			return usagef(existing.Wanted, "--%s: only with --server", name)
		}
	}
	if o.name != "" {
		if err := existing.CheckName(o.name); err != nil {
			return usagef("leave it out, and it has a name that nothing else has", "--database: %w", err)
		}
	}
	return nil
}

// address reads --server.
func (o *visitOptions) address(a *app) (*existing.Address, error) {
	address, err := existing.Parse(o.server, a.getenv)
	if err != nil {
		return nil, usagef(existing.Wanted, "--server: %w", err)
	}
	if address.Engine() != "etcd" && o.tls != (etcd.Files{}) {
		return nil, usagef("the address tells it: sslrootcert=, sslcert= and sslkey= (PostgreSQL), tlsCAFile= and tlsCertificateKeyFile= (MongoDB)",
			"--cacert, --cert and --key are for etcd")
	}
	if o.name == "" {
		o.name = existing.NewName()
	}
	return address, nil
}

// guest prepares the visitor of a scenario's engine.
func (o *visitOptions) guest(address *existing.Address, sc *scenario.Scenario) (existing.Guest, error) {
	if sc.Engine.Name() != address.Engine() {
		return nil, usagef("name a server of that engine, or another scenario", "the scenario's engine is %s, and --server is %s", sc.Engine.Name(), address)
	}
	wrong := func(err error) error {
		if err == nil {
			return nil
		}
		return usagef(existing.Wanted, "--server: %w", err)
	}
	switch address.Engine() {
	case "etcd":
		v, err := etcd.Visit(etcd.VisitOptions{Address: address, Name: o.name, TLS: o.tls, Keep: o.keep})
		return v, wrong(err)
	case "wiredtiger":
		v, err := mongodb.Visit(*scenario.ConfigOf[*wiredtigermodel.Config](sc), mongodb.VisitOptions{Address: address, Name: o.name, Keep: o.keep})
		return v, wrong(err)
	default:
		v, err := postgres.Visit(*scenario.ConfigOf[*postgresmodel.Config](sc), postgres.VisitOptions{Address: address, Name: o.name, Keep: o.keep})
		return v, wrong(err)
	}
}

// ask says what is going to happen to a server, and asks whether it may.
func (o *visitOptions) ask(ctx context.Context, a *app, in *existing.Intent) error {
	plan := printable(in.Plan())
	for _, note := range in.Sight.Notes {
		fmt.Fprintf(a.stderr, "plimsoll: %s\n", printable(note))
	}
	if in.Sight.Remove != "" && !o.keep {
		fmt.Fprintf(a.stderr, "plimsoll: if this is killed, remove it by hand: %s\n", printable(in.Sight.Remove))
	}
	if o.yes {
		fmt.Fprintf(a.stderr, "plimsoll: %s\n", plan)
		return nil
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return usagef("--yes says yes beforehand", "this %s, and there is no terminal to ask at", plan)
	}
	fmt.Fprintf(a.stderr, "plimsoll: %s; continue? [y/N] ", plan)
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
		fmt.Fprintln(a.stderr)
		return context.Canceled
	}
}

// prepare looks at the server, asks, and gives options of a run with it.
func (o *visitOptions) prepare(ctx context.Context, a *app, sc *scenario.Scenario, opt *run.Options) error {
	address, err := o.address(a)
	if err != nil {
		return err
	}
	guest, err := o.guest(address, sc)
	if err != nil {
		return err
	}
	sight, err := guest.Look(ctx, sc)
	if err != nil {
		return fmt.Errorf("--server %s: %w", address, err)
	}
	in := existing.IntentOf(address, o.name, sc, sight)
	in.Keep = o.keep
	if err := o.ask(ctx, a, in); err != nil {
		return err
	}
	opt.Visit = &run.Visit{Address: address.String(), Database: in.What(), Kept: o.keep, Local: address.Local()}
	opt.Server = func(*scenario.Scenario) (lab.Server, error) { return guest, nil }
	opt.Log = func(line string) { fmt.Fprintf(a.stderr, "plimsoll: %s\n", printable(line)) } // what could not be removed, among others
	return nil
}
