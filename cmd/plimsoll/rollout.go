//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/advise/prove"
	"plimsoll/internal/advise/rollout"
	engines "plimsoll/internal/engine"
	"plimsoll/internal/present/results"
	"plimsoll/internal/record/recording"
)

// rolloutOptions are the flags of `plimsoll rollout`.
type rolloutOptions struct {
	rolloutModes
	cluster   clusterRollout
	site      string
	dir       string
	recordFor time.Duration
	force     bool
}

func newRolloutCommand(a *app) *cobra.Command {
	o := &rolloutOptions{}
	cmd := &cobra.Command{
		Use:  "rollout PLAN.json (--site SITE.yaml | --on k8s://NAMESPACE/NAME) | --resume | --undo | --finish",
		Args: needArgs(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Validate(cmd, args); err != nil {
				return err
			}
			if o.cluster.on != "" {
				return asRolloutFailure(o.cluster.Run(cmd.Context(), a, args, &o.rolloutModes))
			}
			return asRolloutFailure(o.Run(cmd.Context(), a, args))
		},
	}
	o.AddFlags(cmd)
	return cmd
}

func (o *rolloutOptions) AddFlags(cmd *cobra.Command) {
	o.rolloutModes.AddFlags(cmd)
	o.cluster.AddFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.site, "site", "", "what is installed on this machine: members, folders, units (YAML); with --resume or --undo, one with other commands")
	f.StringVar(&o.dir, "dir", "rollout", "folder for the rollout's state and recordings")
	f.DurationVar(&o.recordFor, "record-for", 10*time.Minute, "how long to record before and after; 0: not at all")
	f.BoolVar(&o.force, "force", false, "with --finish: remove it, whatever the recordings say")
	complete(cmd, "record-for")
	for _, err := range []error{cmd.MarkFlagDirname("dir"), cmd.MarkFlagFilename("site", "yaml", "yml")} {
		if err != nil {
			panic(err) // the flags were just added
		}
	}
	cmd.ValidArgsFunction = oneFile("json", "yaml", "yml")
}

func (o *rolloutOptions) Validate(cmd *cobra.Command, args []string) error {
	modes := 0
	for _, m := range []bool{o.resume, o.undo, o.finish} {
		if m {
			modes++
		}
	}
	if err := o.cluster.Validate(args, &o.rolloutModes); err != nil {
		return err
	}
	onCluster := o.cluster.on != ""
	switch {
	case onCluster && (o.site != "" || o.force || cmd.Flags().Changed("dir") || cmd.Flags().Changed("record-for")):
		return usagef("--on changes a cluster, --site this machine", "rollout: --site, --dir, --record-for and --force do not go with --on")
	case modes > 1:
		return usagef("one at a time", "rollout: --resume, --undo and --finish exclude each other")
	case o.force && !o.finish:
		return usagef("", "rollout: --force goes with --finish")
	case modes > 0 && (len(args) > 0 || cmd.Flags().Changed("record-for")):
		return usagef("leave the plan and --record-for out", "rollout: a rollout that was begun has its plan in its folder")
	case onCluster:
	case len(args) > 0 && o.site == "":
		return usagef("plimsoll rollout --help shows one", "rollout: --site is missing: what is installed on this machine; or --on, a StatefulSet")
	case len(args) == 0 && modes == 0 && o.site != "":
		return usagef(seeHelp(cmd), "rollout: PLAN.json missing")
	case o.recordFor < 0:
		return usagef("for example 10m", "rollout: --record-for %s: want a length of time", o.recordFor)
	}
	return nil
}

// Run begins a rollout, goes on with one, or shows where it stands.
func (o *rolloutOptions) Run(ctx context.Context, a *app, args []string) error {
	if err := errors.Join(a.pageGoesSomewhere(o.output), a.useCatalog()); err != nil {
		return err
	}
	_, statErr := os.Stat(o.dir)
	folder, err := rollout.OpenFolder(o.dir, len(args) > 0)
	if err != nil {
		return err
	}
	defer folder.Close()
	state, err := folder.Load()
	if err != nil {
		return err
	}
	if len(args) > 0 {
		if state != nil && state.Begun() {
			return usagef("--resume goes on, --undo goes back; a new rollout takes a new --dir", "rollout: %s holds a rollout already (%s)", o.dir, state.Direction)
		}
		state, err = o.begin(ctx, args[0])
	} else if o.site != "" {
		err = o.amend(ctx, state)
	}
	if err != nil {
		return err
	}
	r, err := rollout.New(engines.All(), folder, state, o.options(a))
	if err == nil {
		err = o.act(ctx, r, len(args) > 0)
	}
	if _, e := os.Stat(folder.Path("state.json")); errors.Is(e, os.ErrNotExist) && errors.Is(statErr, os.ErrNotExist) {
		defer os.RemoveAll(folder.Path()) // nothing was begun, so nothing is left
	}
	if r == nil {
		return err
	}
	return errors.Join(o.show(ctx, a, r), err)
}

// begin makes the state of a new rollout.
func (o *rolloutOptions) begin(ctx context.Context, plan string) (*rollout.State, error) {
	text, err := readInput(ctx, plan, emit.PlanBytesMax)
	if err != nil {
		return nil, err
	}
	site, err := readInput(ctx, o.site, rollout.SiteBytesMax)
	if err != nil {
		return nil, err
	}
	return rollout.NewState(plan, string(text), o.site, string(site), o.recordFor), nil
}

// amend gives a rollout a site with other commands.
func (o *rolloutOptions) amend(ctx context.Context, state *rollout.State) error {
	site, err := readInput(ctx, o.site, rollout.SiteBytesMax)
	if err != nil {
		return err
	}
	return state.Amend(o.site, string(site))
}

// act does what was asked for.
func (o *rolloutOptions) act(ctx context.Context, r *rollout.Rollout, begin bool) error {
	switch {
	case o.dryRun:
		return nil
	case o.undo:
		return r.Undo(ctx)
	case o.finish:
		return r.Finish(ctx, o.force)
	case o.resume, begin:
		return r.Run(ctx)
	}
	return nil
}

func (o *rolloutOptions) show(ctx context.Context, a *app, r *rollout.Rollout) error {
	report := r.Report()
	if report.DryRun = o.dryRun; o.dryRun && report.Direction == rollout.Forward && !r.Begun() {
		report.Problems = append(report.Problems, r.Problems(ctx)...)
	}
	if err := a.show(o.output, report, results.Rollout(report)); err != nil {
		return err
	}
	if len(report.Problems) > 0 {
		return &failure{code: exitFailure, err: errors.New("rollout: it cannot begin yet"), hint: "remove what is named above, then try the dry run again"}
	}
	return nil
}

// options join the rollout with the verbs that record and prove.
func (o *rolloutOptions) options(a *app) rollout.Options {
	return rollout.Options{
		Say: func(text string) {
			fmt.Fprintf(a.stderr, "plimsoll: %s %s\n", a.now().Format(time.TimeOnly), printable(text))
		},
		Record: func(ctx context.Context, dir string, sources []string, long time.Duration) error {
			return recordFor(ctx, a, dir, sources, long)
		},
		Prove: func(ctx context.Context, before, after string) (verdict, text string, err error) {
			p := &proveOptions{compare: prove.Options{Pack: pack(), Seed: 1}}
			p.zone = time.Local
			report, err := p.prove(ctx, a, []string{before, after})
			if err != nil {
				return "", "", err
			}
			return string(report.Verdict), report.Sentence, nil
		},
	}
}

// recordFor records live sources into a new folder.
func recordFor(ctx context.Context, a *app, dir string, sources []string, long time.Duration) error {
	o := &recordOptions{out: dir}
	o.zone, o.period, o.duration = time.Local, time.Second, long
	t := &tally{}
	stop := a.meter(t).show()
	defer stop()
	inputs, err := o.open(ctx, a, sources)
	if err != nil {
		return err
	}
	defer closeAll(inputs)
	disk, err := recording.Create(dir, recording.DiskOptions{})
	if err != nil {
		return err
	}
	w := &countedWriter{Writer: disk, sources: map[string]recording.Source{}}
	if err := errors.Join(o.record(ctx, inputs, w, t), disk.Close()); err != nil {
		return err
	}
	if w.samples == 0 && ctx.Err() == nil {
		return errors.New("nothing was recorded: the sources had no samples")
	}
	return ctx.Err()
}

// asRolloutFailure gives errors their exit codes.
func asRolloutFailure(err error) error {
	if errors.Is(err, rollout.ErrInterrupted) {
		return &failure{code: exitInterrupted, err: err, hint: "plimsoll rollout --resume goes on, --undo goes back"}
	}
	var input *emit.InputError
	if errors.As(err, &input) {
		return asEmitFailure(err)
	}
	return err
}
