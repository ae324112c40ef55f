package main

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/advise/rollout"
	"plimsoll/internal/advise/rollout/pods"
	"plimsoll/internal/advise/rollout/steps"
	"plimsoll/internal/present/results"
	"plimsoll/internal/record/address"
)

// rolloutModes are the flags of every rollout.
type rolloutModes struct {
	dryRun, resume, undo, finish bool
	dir                          string
	recordFor                    time.Duration
	output                       choice
}

func (o *rolloutModes) AddFlags(cmd *cobra.Command) {
	addFormat(cmd, &o.output)
	f := cmd.Flags()
	f.BoolVar(&o.dryRun, "dry-run", false, "print the steps and check what can be checked; change nothing")
	f.BoolVar(&o.resume, "resume", false, "continue a rollout that was killed or stopped")
	f.BoolVar(&o.undo, "undo", false, "go back to where it began")
	f.StringVar(
		&o.dir, "out",
		"", "folder for the rollout's state and recordings (default: rollout; with --on, rollout-NAME for the recordings)")
	f.DurationVar(&o.recordFor, "record-for",
		10*time.Minute, "how long to record before and after, longer if that holds too few checkpoints to compare; 0: not at all")
	f.BoolVar(&o.finish, "finish",
		false, "end it: remove the old log, if the recordings prove an improvement; on a cluster nothing is removed")
}

// begun reports whether a rollout that was begun is meant.
func (o *rolloutModes) begun() bool { return o.resume || o.undo || o.finish }

// clusterRollout are the flags of a rollout on a cluster.
type clusterRollout struct {
	clusterOptions
	on        string
	container string
	claims    []string
	patience  time.Duration
	record    []string
}

func (o *clusterRollout) AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.on, "on", "", "carry it out on this StatefulSet: k8s://NAMESPACE/NAME")
	f.StringVar(
		&o.container, "container",
		"", "with --on: the database's container (default: the one named after the engine, or the only one)")
	f.StringArrayVar(&o.claims, "claim",
		nil, "with --on: the claim template of a volume, if the names differ: data=db-storage (repeatable)")
	f.DurationVar(&o.patience, "wait",
		30*time.Minute, "with --on: how long a pod may take to be ready, or a claim to change")
	f.StringArrayVar(&o.record, "record",
		nil, "with --on: what to record before and after, such as a Prometheus server's address (repeatable)")
	o.clusterOptions.AddFlags(cmd, "with --on: ")
}

// Validate checks what goes with --on.
func (o *clusterRollout) Validate(args []string, modes *rolloutModes) error {
	switch {
	case o.on == "" && (o.given() || o.container != "" || len(o.claims)+len(o.record) > 0):
		return usagef(
			"for example --on k8s://db/store", "rollout: --on is missing: --container, --claim, --record, --kubeconfig, --context and -n need it")
	case len(o.record) > 0 && len(args) == 0:
		return usagef("leave --record out", "rollout: what a rollout records cannot change once it was begun")
	case modes.recordFor < 0:
		return usagef("for example 10m", "rollout: --record-for %s: want a length of time", modes.recordFor)
	case address.OfArguments(o.record).Hide(strings.Join(o.record, " ")) != strings.Join(o.record, " "):
		return usagef(
			"give it by the environment: PLIMSOLL_PROMETHEUS_TOKEN, or what plimsoll diagnose --help names", "rollout: --record has a password or a token, and the rollout's state is in a ConfigMap")
	case o.on != "" && len(args) > 0 && modes.begun():
		return usagef("leave the plan out", "rollout: a rollout that was begun has its plan in the cluster")
	case o.patience <= 0:
		return usagef("for example 30m", "rollout: --wait %s: want a length of time", o.patience)
	}

	return nil
}

// Run starts a rollout on a cluster, resumes one, or shows its state.
func (o *clusterRollout) Run(ctx context.Context, env *app, args []string, modes *rolloutModes) error {
	claims, err := claimsOf("rollout", o.claims)
	if err != nil {
		return err
	}

	if err := env.loadCatalog(); err != nil {
		return err
	}

	client, at, err := o.open(o.on)
	if err != nil {
		return err
	}

	// Absolute, because the cluster's state refers to it and --resume may run from another folder.
	dir, err := filepath.Abs(cmp.Or(modes.dir, "rollout-"+at.Name))
	if err != nil {
		return err
	}

	opt := pods.Options{
		Engines: env.deployments(), Container: o.container, Claims: claims, Patience: o.patience,
		Say:      env.saysStep,
		Recorder: recorderOf(env), Dir: dir, RecordFor: modes.recordFor,
	}

	// Without recordings, the sources are not needed.
	if modes.recordFor > 0 {
		opt.Sources = o.record
	}

	var rollout *pods.Rollout
	if len(args) > 0 {
		var plan *emit.Request
		if plan, err = readPlan(ctx, args[0]); err == nil {
			rollout, err = pods.New(ctx, client, at, plan, opt)
		}
	} else if rollout, err = pods.Open(ctx, client, at, opt); err == nil && rollout == nil {
		err = usagef("plimsoll rollout PLAN.json --on "+at.String()+" begins one",
			"rollout: there is no rollout of %s", at)
	}

	if err != nil {
		return err
	}

	switch {
	case modes.dryRun:
	case modes.undo:
		err = rollout.Undo(ctx)
	case modes.finish:
		err = rollout.Finish()
	case modes.resume, len(args) > 0:
		err = rollout.Run(ctx)
	}

	if errors.Is(err, steps.ErrInterrupted) {
		err = &failure{code: exitInterrupted, err: err, hint: "plimsoll rollout --on " + at.String() +
			" --resume continues, --undo goes back"}
	}

	// The state is shown even after an error: the user needs it to choose between --resume and
	// --undo.
	return errors.Join(o.show(ctx, env, rollout, modes), err)
}

func (o *clusterRollout) show(ctx context.Context, a *app, r *pods.Rollout, modes *rolloutModes) error {
	report := r.Report(ctx, modes.dryRun && !r.Begun())
	report.DryRun = modes.dryRun
	return showRollout(a, modes.output, report)
}

// showRollout shows a rollout's state; problems that keep it from beginning are a failure.
func showRollout(a *app, output choice, report *rollout.Report) error {
	if err := a.show(output, report, results.Rollout(report)); err != nil {
		return err
	}
	if len(report.Problems) > 0 {
		return failf(exitFailure, "fix the problems above, then try the dry run again", "rollout: it cannot begin yet")
	}
	return nil
}

// readPlan reads the plan of a rollout.
func readPlan(ctx context.Context, path string) (*emit.Request, error) {
	text, err := readInput(ctx, path, emit.PlanBytesMax)
	if err != nil {
		return nil, err
	}
	return emit.ReadPlan(path, text)
}
