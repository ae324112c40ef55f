package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/advise/fit"
	"plimsoll/internal/base/units"
	engines "plimsoll/internal/engine"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/engine"
)

// fitOptions are those of `plimsoll fit`.
type fitOptions struct {
	sourceOptions
	output  choice
	engine  choice
	name    string
	out     string
	force   bool
	devices []string
	known   []string

	volumes map[string]string        // devices by the volume they are
	orders  map[string]catalog.Order // what is known of volumes
}

func newFitCommand(a *app) *cobra.Command {
	o := &fitOptions{sourceOptions: sourceOptions{durationUnless: sampleUnasked}}
	return newSourcesCommand(a, "fit SOURCE...", o)
}

func (o *fitOptions) AddFlags(cmd *cobra.Command) {
	o.output.value = "yaml"
	addChoice(cmd, &o.output, "output", "o", "output format", "yaml", "json")
	addChoice(cmd, &o.engine, "engine", "", "the engine to fit (default: the one the sources tell of)", fitEngines()...)
	f := cmd.Flags()
	f.StringVar(&o.name, "name", "", "the scenario's name (default: after the sources)")
	f.StringVar(&o.out, "out", "", "write into this file, which must not be there yet")
	f.BoolVar(&o.force, "force", false, "write over the file of --out")
	f.StringArrayVar(&o.devices, "device", nil, "which device a volume is, where that is not told by what it does: journal=nvme2n1 (again for more)")
	f.StringArrayVar(&o.known, "volume", nil, "what a volume is known to be, its type, its size or both: data=gp3,500GiB (again for more)")
	o.sourceOptions.AddFlags(cmd)
	complete(cmd, "name")
	complete(cmd, "device")
	complete(cmd, "volume")
	if err := cmd.MarkFlagFilename("out", "yaml", "yml", "json"); err != nil {
		panic(err) // the flag was just added
	}
}

func (o *fitOptions) Validate(cmd *cobra.Command, args []string, now time.Time) error {
	o.volumes = map[string]string{}
	for _, d := range o.devices {
		volume, device, ok := strings.Cut(d, "=")
		if !ok || volume == "" || device == "" {
			return usagef("for example --device data=nvme1n1", "--device %q: want VOLUME=DEVICE", d)
		}
		if o.volumes[volume] != "" {
			return usagef("a volume is one device; of a stripe, the device over its parts (dm-0, md0)", "--device %s: %s is given twice", d, volume)
		}
		o.volumes[volume] = strings.TrimPrefix(device, "/dev/")
	}
	for _, text := range o.known {
		volume, words, ok := strings.Cut(text, "=")
		if !ok || volume == "" || words == "" {
			return usagef("for example --volume data=gp3,500GiB", "--volume %q: want VOLUME=TYPE,SIZE, or one of the two", text)
		}
		for word := range strings.SplitSeq(words, ",") {
			if err := o.know(volume, strings.TrimSpace(word)); err != nil {
				return usagef("for example --volume data=gp3,500GiB; plimsoll catalog list names the types", "--volume %s: %v", text, err)
			}
		}
	}
	switch {
	case o.out == "" && cmd.Flags().Changed("out"):
		return usagef("for example --out scenario.yaml", "--out: no file is named")
	case o.force && o.out == "":
		return usagef("--out FILE says which file", "--force: there is no file to write over")
	}
	if o.out != "" && !o.force {
		if _, err := os.Lstat(o.out); err == nil {
			return &failure{code: exitFailure, err: fmt.Errorf("--out: %s is there already", o.out), hint: "--force writes over it"}
		}
	}
	return o.sourceOptions.Validate(cmd, args, now)
}

// know takes in a type or a size of a volume.
func (o *fitOptions) know(volume, word string) error {
	if o.orders == nil {
		o.orders = map[string]catalog.Order{}
	}
	order := o.orders[volume]
	size, notSize := units.ParseSize(word)
	t, err := catalog.Type(word)
	switch {
	case notSize == nil && size > 0 && order.Size == 0:
		order.Size = size
	case notSize == nil && order.Size == 0:
		return fmt.Errorf("a size of %s", word)
	case notSize == nil:
		return errors.New("two sizes")
	case err != nil:
		return fmt.Errorf("%q is neither a type nor a size", word)
	case t.Name == "custom":
		return errors.New("custom is what nothing is known of: leave it out")
	case order.Type != "":
		return errors.New("two types")
	default:
		order.Type = t.Name
	}
	o.orders[volume] = order
	return nil
}

// Run reads the sources, fits, and writes the scenario.
func (o *fitOptions) Run(ctx context.Context, a *app, args []string) error {
	if err := a.useCatalog(); err != nil {
		return err
	}
	fitted, err := o.fit(ctx, a, args)
	if err != nil {
		return asFitFailure(err)
	}
	// What is printed is taken by simulate: a fit that makes anything else is a mistake of ours, and says so.
	if _, err := fitted.Scenario(language()); err != nil {
		return &failure{code: exitFailure, err: fmt.Errorf("what was fitted is no scenario:\n%w", err), hint: "plimsoll fit -o json prints the values; --from and --to choose another stretch of time"}
	}
	if err := o.write(a, fitted, fitted.YAML()); err != nil {
		return err
	}
	for _, r := range fitted.Remarks {
		fmt.Fprintf(a.stderr, "plimsoll: note: %s\n", printable(r))
	}
	if ctx.Err() != nil {
		return &failure{code: exitInterrupted, err: errors.New("interrupted; this is the scenario of what was sampled until then")}
	}
	return nil
}

func (o *fitOptions) write(a *app, fitted *fit.Fitted, text []byte) error {
	to := *a
	if o.out != "" {
		flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
		if o.force {
			flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
		}
		f, err := os.OpenFile(o.out, flags, 0o644)
		if errors.Is(err, fs.ErrExist) {
			return &failure{code: exitFailure, err: fmt.Errorf("--out: %s is there already", o.out), hint: "--force writes over it"}
		}
		if err != nil {
			return &failure{code: exitFailure, err: fmt.Errorf("--out: %w", err), hint: "name a file where you may write"}
		}
		to.stdout = stream{Writer: f}
		return errors.Join(o.print(&to, fitted, text), f.Close())
	}
	return o.print(&to, fitted, text)
}

func (o *fitOptions) print(a *app, fitted *fit.Fitted, text []byte) error {
	if o.output.value == "json" {
		return writeJSON(a, fitted)
	}
	_, err := a.stdout.Write(text)
	return err
}

// asFitFailure gives errors of what is in a recording the exit code of a failure, with their hint.
func asFitFailure(err error) error {
	var h hinted
	if errors.As(err, &h) {
		return &failure{code: exitFailure, err: err, hint: h.Hint()}
	}
	return err
}

// fit reads what is to be read and fits it, with progress on stderr.
func (o *fitOptions) fit(ctx context.Context, a *app, args []string) (*fit.Fitted, error) {
	t := &tally{}
	stop := a.meter(t).show()
	defer stop()
	opt := fit.Options{Pack: pack(), Engines: engines.All(), From: o.fromAt, To: o.toAt, Engine: o.engine.value, Name: o.name, Devices: o.volumes, Volumes: o.orders, Progress: t.setStage}
	in, done, err := o.readers(ctx, a, args, t)
	if err != nil {
		return nil, err
	}
	defer done()
	// A live source ends without an error, whatever ends it: what was sampled until a signal is fitted all the same.
	interrupted := ctx.Err()
	if interrupted != nil {
		ctx = context.WithoutCancel(ctx)
	}
	fitted, err := fit.Fit(ctx, in, opt)
	if interrupted != nil && err != nil {
		return nil, interrupted // too little was sampled
	}
	return fitted, err
}

// fitEngines are the keys of the engines that can be fitted.
func fitEngines() []string {
	var out []string
	for _, e := range engine.Facets[fit.Engine](engines.All()) {
		out = append(out, e.Traits().Key)
	}
	return out
}
