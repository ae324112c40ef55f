//go:build linux

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/base/random"
	"plimsoll/internal/engine"
	"plimsoll/internal/lab/probe"
	"plimsoll/internal/present/results"
)

// probeOptions are the flags of `plimsoll probe`.
type probeOptions struct {
	profile string
	stage   string
	seed    uint64
	fit     bool
	yes     bool
	show    bool
	output  choice
	failOn  choice
	display display
}

func newProbeCommand(a *app) *cobra.Command {
	o := &probeOptions{}
	cmd := &cobra.Command{
		Use: "probe PATH",
		Args: func(cmd *cobra.Command, args []string) error {
			if o.show {
				return needArgs(0, 0, "")(cmd, args)
			}
			return needArgs(1, 1, "a folder on the device, for example plimsoll probe /data --profile "+
				profiles().Names()[0])(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.show {
				return o.Show(a)
			}
			return o.Run(cmd.Context(), a, args[0])
		},
	}

	o.AddFlags(cmd)
	return cmd
}

func (o *probeOptions) AddFlags(cmd *cobra.Command) {
	o.output.value = "text"
	addChoice(cmd,
		&o.output, "output", "o", "how to write the result; fio: print an equivalent job file and run nothing",
		"text", "json",
		asPage, asMarkdown, "fio")

	f := cmd.Flags()
	f.StringVar(&o.profile, "profile", "", strings.Join(profiles().Names(), ", ")+", or a file")
	f.StringVar(&o.stage, "stage", "", "how long each stage measures, overriding the profile: 30s")
	f.Uint64Var(&o.seed, "seed", 1, "the random seed of offsets and times")
	f.BoolVar(&o.fit, "fit",
		false, "also measure the device with short ramps, and print a volume for a scenario")
	f.BoolVar(&o.yes, "yes", false, "continue even if the files take more than half of the free space")
	f.BoolVar(&o.show, "show", false, "print the profile, for editing, and exit")
	addChoice(cmd, &o.failOn, "fail-on", "", "exit with 3 if the profile's criterion is not met", "criterion")

	offer(cmd, "profile", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return profiles().Names(), cobra.ShellCompDirectiveDefault
	})
}

// profiles are the built-in ones.
func profiles() probe.Profiles {
	l, err := probe.ProfilesOf(engine.All().Profiles())
	if err != nil {
		panic(err) // they are built in
	}
	return l
}

func exampleProfile() string { return "--profile " + profiles().Names()[0] + ", for example" }

// load reads the profile.
func (o *probeOptions) load() (*probe.Profile, error) {
	if o.profile == "" {
		return nil, usagef(exampleProfile(), "probe: which profile? %s, or a file",
			strings.Join(profiles().Names(), ", "))
	}

	p, err := profiles().Load(o.profile)
	if err != nil {
		return nil, err
	}

	if o.stage != "" {
		if err := p.Stage.UnmarshalText([]byte(o.stage)); err != nil {
			return nil, usagef("--stage 30s", "--stage: %w", err)
		}
		// A built-in profile is valid, but a longer stage may exceed its bounds.
		if err := p.Check().Err(); err != nil {
			return nil, usagef("--stage 30s", "--stage: %w", err)
		}
	}

	// Fail before the measurement, which takes minutes.
	if o.failOn.value != "" && p.Criterion == nil {
		return nil, usagef("a profile with a criterion: "+strings.Join(profiles().WithCriterion(), ", ")+
			", or your own profile", "--fail-on criterion: profile %s has no criterion", o.profile)
	}

	return p, nil
}

// Show prints a built-in profile.
func (o *probeOptions) Show(a *app) error {
	text, ok := profiles()[o.profile]
	if !ok {
		return usagef(exampleProfile(), "probe --show: which built-in profile? %s",
			strings.Join(profiles().Names(), ", "))
	}
	_, err := a.stdout.Write(text)
	return err
}

// Run measures the device, or prints the job file.
func (o *probeOptions) Run(ctx context.Context, a *app, path string) error {
	p, err := o.load()
	if err != nil {
		return err
	}

	if o.output.value == "fio" {
		_, err := fmt.Fprint(a.stdout, probe.FioJob(p, path))
		return err
	}

	t, stop := a.progress()
	r, err := probe.Run(ctx, p, probe.Options{Path: path, Seed: random.Seed(o.seed), Yes: o.yes, Fit: o.fit,
		Progress: t.setStage})
	stop()

	if err != nil {
		return err
	}

	if o.output.value == "json" {
		err = writeJSON(a, r)
	} else {
		err = a.write(results.Probe(r), o.output, o.display.options(a))
	}

	if err == nil && o.failOn.value != "" && !r.Criterion.Met {
		err = failf(exitFindings, "", "criterion not met: %s (--fail-on)", r.Criterion.Text)
	}

	return err
}
