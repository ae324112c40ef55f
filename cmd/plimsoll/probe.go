//go:build linux

package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"plimsoll/internal/base/latency"
	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	engines "plimsoll/internal/engine"
	"plimsoll/internal/lab/probe"
)

// probeOptions are those of `plimsoll probe`.
type probeOptions struct {
	profile string
	stage   string
	seed    uint64
	fit     bool
	yes     bool
	show    bool
	output  choice
	failOn  choice
}

func newProbeCommand(a *app) *cobra.Command {
	o := &probeOptions{}
	cmd := &cobra.Command{
		Use: "probe PATH",
		Args: func(cmd *cobra.Command, args []string) error {
			if o.show {
				return needArgs(0, 0, "")(cmd, args)
			}
			return needArgs(1, 1, "a folder on the device, for example plimsoll probe /data --profile "+profiles().Names()[0])(cmd, args)
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
	addChoice(cmd, &o.output, "output", "o", "how to write the result; fio: a job file that does the same, and nothing is run", "text", "json", "fio")
	f := cmd.Flags()
	f.StringVar(&o.profile, "profile", "", strings.Join(profiles().Names(), ", ")+", or a file")
	f.StringVar(&o.stage, "stage", "", "how long each stage measures, instead of the profile's: 30s")
	f.Uint64Var(&o.seed, "seed", 1, "the seed of where and when")
	f.BoolVar(&o.fit, "fit", false, "also measure the device by short ramps, and print a volume for a scenario")
	f.BoolVar(&o.yes, "yes", false, "go on though the files take more than half of what is free")
	f.BoolVar(&o.show, "show", false, "print the profile, to change it, and end")
	addChoice(cmd, &o.failOn, "fail-on", "", "exit with 3 if the profile's criterion is not met", "criterion")
	for _, name := range []string{"stage", "seed"} {
		complete(cmd, name)
	}
	if err := cmd.RegisterFlagCompletionFunc("profile", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return profiles().Names(), cobra.ShellCompDirectiveDefault
	}); err != nil {
		panic(err) // the flag was just added
	}
}

// profiles are the built-in ones.
func profiles() probe.Library {
	l, err := probe.LibraryOf(engines.All())
	if err != nil {
		panic(err) // they are a part of the program
	}
	return l
}

func exampleProfile() string { return "--profile " + profiles().Names()[0] + ", for example" }

// load reads the profile.
func (o *probeOptions) load() (*probe.Profile, error) {
	if o.profile == "" {
		return nil, usagef(exampleProfile(), "probe: which profile? %s, or a file", strings.Join(profiles().Names(), ", "))
	}
	p, err := profiles().Load(o.profile)
	if err != nil {
		return nil, err
	}
	if o.stage != "" {
		if err := p.Stage.UnmarshalText([]byte(o.stage)); err != nil {
			return nil, usagef("--stage 30s", "--stage: %w", err)
		}
		if err := p.Check().Err(); err != nil {
			return nil, usagef("--stage 30s", "--stage: %w", err)
		}
	}
	if o.failOn.value != "" && p.Criterion == nil {
		return nil, usagef("a profile with a criterion: "+strings.Join(profiles().WithCriterion(), ", ")+", or one of your own", "--fail-on criterion: profile %s has none", o.profile)
	}
	return p, nil
}

// Show prints a built-in profile.
func (o *probeOptions) Show(a *app) error {
	text, ok := profiles()[o.profile]
	if !ok {
		return usagef(exampleProfile(), "probe --show: which built-in profile? %s", strings.Join(profiles().Names(), ", "))
	}
	_, err := a.stdout.Write(text)
	return err
}

// Run probes, or prints the job file.
func (o *probeOptions) Run(ctx context.Context, a *app, path string) error {
	p, err := o.load()
	if err != nil {
		return err
	}
	if o.output.value == "fio" {
		_, err := fmt.Fprint(a.stdout, probe.FioJob(p, path))
		return err
	}
	t := &tally{}
	stop := a.meter(t).show()
	r, err := probe.Run(ctx, p, probe.Options{Path: path, Seed: random.Seed(o.seed), Yes: o.yes, Fit: o.fit, Progress: t.setStage})
	stop()
	if err != nil {
		return err
	}
	if o.output.value == "json" {
		err = writeJSON(a, r)
	} else {
		_, err = fmt.Fprint(a.stdout, probeText(r))
	}
	if err == nil && o.failOn.value != "" && !r.Criterion.Met {
		err = &failure{code: exitFindings, err: fmt.Errorf("criterion not met: %s (--fail-on)", r.Criterion.Text)}
	}
	return err
}

// probeText is a result as a page: the verdict first.
func probeText(r *probe.Result) string {
	var b strings.Builder
	device := r.Device
	if device == "" {
		device = "no block device"
	}
	fmt.Fprintf(&b, "%s on %s (%s), %s\n\n", r.Profile, printable(r.Path), device, units.Seconds(r.Seconds))
	fmt.Fprintf(&b, "to blame   %s\n", printable(r.Blame.Text))
	if v := r.Criterion; v != nil {
		fmt.Fprintf(&b, "criterion  %s: %s\n", printable(v.Text), met(v.Met))
		for _, s := range v.Stages {
			fmt.Fprintf(&b, "           %s, %s: %s\n", printable(s.Stage), seconds(s.Seconds), met(s.Met))
		}
		fmt.Fprintf(&b, "           source: %s\n", printable(v.Source))
	}
	probeLimits(&b, &r.Limits)
	b.WriteByte('\n')
	probeTable(&b, r)
	if r.Fitted != nil {
		b.WriteString("\nas a volume of a scenario (a burst's credits, if there are any, are in it):\n")
		for line := range strings.Lines(r.Fitted.YAML) {
			b.WriteString("  " + line)
		}
	}
	return b.String()
}

func met(ok bool) string {
	if ok {
		return "met"
	}
	return "NOT MET"
}

func probeLimits(b *strings.Builder, l *probe.Limits) {
	switch bit := l.Bit(); {
	case l.Reason != "":
		fmt.Fprintf(b, "limits     not measurable: %s\n", printable(l.Reason))
	case len(bit) == 0:
		fmt.Fprintf(b, "limits     none was exceeded, neither the volume's nor the instance's\n")
	default:
		fmt.Fprintf(b, "limits     exceeded: %s (IOPS %s, throughput %s; instance: IOPS %s, throughput %s)\n", strings.Join(bit, ", "),
			units.Seconds(l.VolumeIOPS), units.Seconds(l.VolumeThroughput), units.Seconds(l.InstanceIOPS), units.Seconds(l.InstanceThroughput))
	}
}

func probeTable(b *strings.Builder, r *probe.Result) {
	var table strings.Builder
	t := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "stage\tstream\tIOPS\tbytes/s\tp50\tp95\tp99\tp99.9\tmax\tfdatasync p99\tof the time\n")
	for _, st := range r.Stages {
		for i, s := range st.Streams {
			name := st.Name
			if i > 0 {
				name = ""
			}
			sync := "-"
			if s.Fdatasync != nil {
				sync = seconds(s.Fdatasync.P99Seconds)
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, s.Name, units.Number(s.IOPS), units.Throughput(s.BytesPerSecond).String(), quantileCells(&s.Latency), sync, shares(&s))
			if i > 0 {
				continue
			}
			for _, w := range st.While {
				if w.Off.Operations > 0 {
					fmt.Fprintf(t, "\t  while %s on\t\t\t%s\t\t\n", w.Companion, quantileCells(&w.On))
					fmt.Fprintf(t, "\t  while off\t\t\t%s\t\t\n", quantileCells(&w.Off))
				}
			}
		}
	}
	_ = t.Flush() // into memory
	for line := range strings.Lines(table.String()) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
}

func quantileCells(l *latency.Latency) string {
	return strings.Join([]string{seconds(l.P50Seconds), seconds(l.P95Seconds), seconds(l.P99Seconds), seconds(l.P999Seconds), seconds(l.MaxSeconds)}, "\t")
}

// shares tells where a stream's time went.
func shares(s *probe.StreamResult) string {
	var parts []string
	if s.Share != nil {
		for _, x := range []struct {
			share float64
			what  string
		}{{s.Share.Synced, "fdatasync"}, {s.Share.Moved, "read/write"}, {s.Share.Waited, "waiting for its turn"}} {
			if x.share >= 0.01 {
				parts = append(parts, units.Percent(x.share)+" "+x.what)
			}
		}
	}
	if s.Missed > 0 {
		parts = append(parts, fmt.Sprintf("%d not begun in time", s.Missed))
	}
	return strings.Join(parts, ", ")
}
