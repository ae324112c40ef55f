//go:build linux

package main

import (
	"cmp"
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/advise/rollout"
	"plimsoll/internal/advise/rollout/steps"
	"plimsoll/internal/base/shellword"
)

// rolloutDir is the folder of a rollout without --out.
const rolloutDir = "rollout"

// rolloutOptions are the flags of `plimsoll rollout`.
type rolloutOptions struct {
	rolloutModes
	cluster clusterRollout
	site    string
	force   bool
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
				return o.asFailure(o.cluster.Run(cmd.Context(), a, args, &o.rolloutModes))
			}
			return o.asFailure(o.Run(cmd.Context(), a, args))
		},
	}

	o.AddFlags(cmd)
	return cmd
}

func (o *rolloutOptions) AddFlags(cmd *cobra.Command) {
	o.rolloutModes.AddFlags(cmd)
	o.cluster.AddFlags(cmd)
	f := cmd.Flags()
	f.StringVar(
		&o.site, "site",
		"", "what is installed on this machine: members, folders, units (YAML); with --resume or --undo, one with other commands")
	f.BoolVar(&o.force, "force", false, "with --finish: remove it, whatever the recordings say")
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
	case onCluster && (o.site != "" || o.force):
		return usagef(
			"--on changes a cluster, --site this machine", "rollout: --site and --force do not go with --on")
	case onCluster && len(o.cluster.record) == 0 && (o.dir != "" || cmd.Flags().Changed("record-for")):
		return usagef(
			"for example --record http://prometheus:9090", "rollout: --record is missing: what to record before and after; --out and --record-for need it")
	case modes > 1:
		return usagef("one at a time", "rollout: --resume, --undo and --finish exclude each other")
	case o.force && !o.finish:
		return usagef("", "rollout: --force goes with --finish")
	case modes > 0 && (len(args) > 0 || cmd.Flags().Changed("record-for")):
		return usagef(
			"leave the plan and --record-for out", "rollout: a rollout that was begun has its plan in its folder")
	case onCluster:
	case len(args) > 0 && o.site == "":
		return usagef(
			"plimsoll rollout --help shows one", "rollout: --site is missing: the file that describes this machine; or --on, a StatefulSet")
	case len(args) == 0 && modes == 0 && o.site != "":
		return usagef(seeHelp(cmd), "rollout: PLAN.json missing")
	}

	return nil
}

// Run starts a rollout, resumes one, or shows its state.
func (o *rolloutOptions) Run(ctx context.Context, env *app, args []string) error {
	if err := env.loadCatalog(); err != nil {
		return err
	}

	o.dir = cmp.Or(o.dir, rolloutDir)
	if len(args) == 0 && !o.begun() && !o.dryRun {
		return o.look(ctx, env)
	}

	// Remember whether the folder existed, because OpenFolder creates it.
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
		// A second plan in the same folder would overwrite what --undo needs.
		if state != nil && state.Begun() {
			return usagef("--resume continues, --undo goes back; a new rollout takes a new --out",
				"rollout: %s holds a rollout already (%s)", o.dir, state.Direction)
		}
		state, err = o.begin(ctx, args[0])
	} else if o.site != "" {
		err = o.amend(ctx, state)
	}

	if err != nil {
		return err
	}

	r, err := rollout.New(env.rollouts(), folder, state, o.options(env))
	if err == nil {
		err = o.act(ctx, r, len(args) > 0)
	}

	if _, e := os.Stat(folder.Path("state.json")); errors.Is(e, os.ErrNotExist) &&
		errors.Is(statErr, os.ErrNotExist) {
		defer os.RemoveAll(folder.Path()) // nothing was begun, so nothing is left
	}

	if r == nil {
		return err
	}

	return errors.Join(o.show(ctx, env, r, false), err)
}

// look shows the state of a rollout, even while another process is working on it.
func (o *rolloutOptions) look(ctx context.Context, a *app) error {
	folder, busy, err := rollout.ViewFolder(o.dir)
	if err != nil {
		return err
	}
	state, err := folder.Load()
	if err != nil {
		return err
	}
	r, err := rollout.New(a.rollouts(), folder, state, o.options(a))
	if err != nil {
		return err
	}
	return o.show(ctx, a, r, busy)
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

func (o *rolloutOptions) show(ctx context.Context, a *app, r *rollout.Rollout, busy bool) error {
	report := r.Report()
	report.Busy = busy
	// Once begun, a rollout has passed these checks.
	if report.DryRun = o.dryRun; o.dryRun && report.Direction == steps.GoesForward && !r.Begun() {
		report.Problems = append(report.Problems, r.Problems(ctx)...)
	}
	return showRollout(a, o.output, report)
}

// options join the rollout with the verbs that record and prove.
func (o *rolloutOptions) options(a *app) rollout.Options {
	return rollout.Options{Say: a.saysStep, Recorder: recorderOf(a), With: o.with()}
}

// with returns the arguments that commands for this rollout need.
func (o *rolloutOptions) with() string {
	if o.dir == "" || o.dir == rolloutDir {
		return ""
	}
	return " --out " + shellword.Quote(o.dir)
}

// asFailure gives errors their exit codes.
func (o *rolloutOptions) asFailure(err error) error {
	if errors.Is(err, rollout.ErrInterrupted) {
		return &failure{code: exitInterrupted, err: err, hint: "plimsoll rollout" + o.with() +
			" --resume continues, --undo goes back"}
	}
	var stopped *rollout.StepError
	if errors.As(err, &stopped) { // even if its reason is in the site file
		return &failure{code: exitFailure, err: err, hint: stopped.Hint()}
	}
	var input *emit.InputError
	if errors.As(err, &input) {
		return asEmitFailure(err)
	}
	return err
}
