package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/engine"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/present/document"
	"plimsoll/internal/present/results"
)

// emitOptions are the flags of `plimsoll emit`.
type emitOptions struct {
	sets        []string
	to          []string
	dir         string
	diff        bool
	force       bool
	statefulSet string
	container   string
	claims      []string
	move        emit.MoveRequest
	output      choice
}

func newEmitCommand(a *app) *cobra.Command {
	o := &emitOptions{}
	cmd := &cobra.Command{
		Use:  "emit PLAN.json|SCENARIO.yaml --target TARGET...",
		Long: emitTargets(),
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("move-log") {
				return nil // checked with its flags
			}
			return needArgs(1, 1,
				"a plan (plimsoll plan SCENARIO -o json > plan.json), or a scenario with --set")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Validate(cmd, args); err != nil {
				return err
			}
			if cmd.Flags().Changed("move-log") {
				return o.runMove(a)
			}
			return o.Run(cmd.Context(), a, args[0])
		},
	}

	o.AddFlags(cmd)
	return cmd
}

// emitTargets is the part of the help that lists them.
func emitTargets() string {
	var b strings.Builder
	for _, t := range emit.Targets(engine.All().Deployments().Deployments) {
		fmt.Fprintf(&b, "  %-11s %s\n", t.Name, t.About)
	}
	return b.String()
}

func emitTargetNames() []string {
	var out []string
	for _, t := range emit.Targets(engine.All().Deployments().Deployments) {
		out = append(out, t.Name)
	}
	return out
}

func (o *emitOptions) AddFlags(cmd *cobra.Command) {
	addFormat(cmd, &o.output)
	f := cmd.Flags()
	f.StringArrayVar(&o.sets, "set",
		nil, "for a scenario: a value that the layout changes, volumes.data.iops=16000 (repeatable)")
	f.StringSliceVar(&o.to, "target", nil, strings.Join(emitTargetNames(), ", ")+" (repeatable)")
	f.StringVar(&o.dir, "out", "", "write into this folder: new, empty, or written by an earlier emit")
	f.BoolVar(&o.diff, "diff", false, "print how --out would change and write nothing")
	f.BoolVar(&o.force, "force", false, "overwrite files that were edited since")
	o.addManifestFlags(cmd, "for kubernetes")
	o.addMoveFlags(cmd)
	complete(cmd, "target", emitTargetNames()...)

	cmd.ValidArgsFunction = oneFile("json", "yaml", "yml")
}

// addManifestFlags adds the flags for the StatefulSet that a layout is for.
func (o *emitOptions) addManifestFlags(cmd *cobra.Command, when string) {
	f := cmd.Flags()
	f.StringVar(&o.statefulSet, "statefulset", "", when+": the manifest of the StatefulSet that runs the database")
	f.StringVar(&o.container, "container",
		"", "the database's container in it (default: the one named after the engine, or the only one)")
	f.StringArrayVar(&o.claims, "claim",
		nil, "the claim template of a volume, if the names differ: data=db-storage (repeatable)")
}

func (o *emitOptions) Validate(cmd *cobra.Command, args []string) error {
	if err := o.validateMove(cmd, args); err != nil {
		return err
	}

	changed := cmd.Flags().Changed
	switch {
	case o.dir == "" && (changed("out") || o.diff || o.force):
		return usagef("for example --out layout", "emit: --out is missing: --diff and --force need it")
	case o.diff && o.force:
		return usagef("first --diff, then --force", "emit: --diff writes nothing, so there is nothing to force")
	case o.statefulSet == "" && (changed("statefulset") || o.container != "" || len(o.claims) > 0):
		return usagef(
			"kubectl get statefulset NAME -o yaml > statefulset.yaml creates it", "emit: --statefulset FILE is missing: --container and --claim need it")
	}
	return nil
}

// Run creates the files and writes them.
func (o *emitOptions) Run(ctx context.Context, env *app, path string) error {
	if err := env.loadCatalog(); err != nil {
		return err
	}

	layout, planned, err := o.layout(ctx, env.deployments(), path)
	if err != nil {
		return asEmitFailure(err)
	}

	opt, err := o.options(ctx)
	if err != nil {
		return asEmitFailure(err)
	}

	result, err := emit.Files(layout, o.to, opt)
	var input *emit.InputError

	// A scenario with --set that changes nothing is a mistake; a plan that changes nothing is a
	// result.
	if errors.As(err, &input) && input.Unchanged && planned {
		return o.unchanged(env, layout, path)
	}

	if err != nil {
		return asEmitFailure(err)
	}

	report := result.Report(layout)
	report.Dir = o.dir

	// The JSON report contains the warnings itself.
	if o.output.value != "json" {
		o.warn(env, layout, report)
	}

	if o.dir != "" {
		if err := o.write(result, report); err != nil {
			return asEmitFailure(err)
		}
	}

	return o.show(env, result, report, results.Emit(report))
}

// show prints the files, how the folder would change, or what was written.
func (o *emitOptions) show(a *app, r *emit.Result, report *emit.Report, d *document.Document) error {
	switch text := o.output.value == "text"; {
	case o.diff && text:
		_, err := io.WriteString(a.stdout, report.Diff) // as patch(1) reads it
		return err
	case o.diff:
		return a.show(o.output, report, results.EmitDiff(report))
	case o.dir == "" && text:
		return emit.Print(a.stdout, r.Files)
	}

	return a.showList(o.output, report, d)
}

// unchanged reports that a plan needs no files. That is not an error, so that a script that plans and
// emits can continue.
func (o *emitOptions) unchanged(a *app, l *emit.Transition, path string) error {
	fmt.Fprintf(a.stderr, "plimsoll: nothing has to change according to %s: no file is written\n", printable(path))
	if o.output.value == "text" {
		return nil
	}
	report := (&emit.Result{}).Report(l)
	return a.showList(o.output, report, results.Emit(report))
}

// write writes the folder, or finds how it would change.
func (o *emitOptions) write(r *emit.Result, report *emit.Report) error {
	folder, err := emit.OpenFolder(o.dir)
	if err != nil {
		return err
	}
	// The diff must be taken before the files are written.
	report.Diff = folder.Diff(r.Files)
	if o.diff {
		return nil
	}
	report.Written = true
	return folder.Write(r.Files, o.force)
}

// layout reads a plan or a scenario; planned is false for a scenario.
func (o *emitOptions) layout(ctx context.Context, engines emit.Engines, path string) (
	transition *emit.Transition, planned bool, err error) {
	text, err := readInput(ctx, path, emit.PlanBytesMax)
	if err != nil {
		hint := "plimsoll emit --help shows the usage"
		if info, e := os.Stat(path); e == nil && info.IsDir() {
			hint = "name the plan or the scenario in it"
		} else if path == "-" {
			hint = "to read a plan from a pipe, use /dev/stdin"
		}
		return nil, false, &failure{code: exitFailure, err: err, hint: hint}
	}

	// A damaged plan must be reported as a plan, so the name counts as well.
	if emit.IsPlan(text) || strings.HasSuffix(path, ".json") {
		if len(o.sets) > 0 {
			return nil, true, usagef("--set goes with a scenario; a plan has its own changes",
				"emit: --set is for a scenario, and %s is a plan", path)
		}

		p, err := emit.ReadPlan(path, text)
		if err != nil {
			return nil, true, err
		}

		transition, err = p.Transition(engines)
		var problems scenario.Problems
		if errors.As(err, &problems) {
			err = fmt.Errorf("the plan %s cannot be applied:\n%w", path, err)
		}

		return transition, true, err
	}

	p := &emit.Request{File: path, Text: string(text), Sets: o.sets}
	transition, err = p.Transition(engines)
	var problems scenario.Problems
	if errors.As(err, &problems) {
		err = fmt.Errorf("the layout cannot be emitted:\n%w", err)
	}

	return transition, false, err
}

// options reads the targets' other options.
func (o *emitOptions) options(ctx context.Context) (emit.Options, error) {
	claims, err := claimsOf("emit", o.claims)
	opt := emit.Options{Container: o.container, StatefulSetFile: o.statefulSet, Claims: claims}
	if err != nil {
		return opt, err
	}
	if o.statefulSet == "" {
		return opt, nil
	}

	text, err := readInput(ctx, o.statefulSet, emit.StatefulSetBytesMax)
	if err != nil {
		return opt, &failure{code: exitFailure, err: err,
			hint: "kubectl get statefulset NAME -o yaml > statefulset.yaml creates it"}
	}

	opt.StatefulSet = append([]byte{}, text...)
	return opt, nil
}

// warn reports what is accepted but may be a mistake, and what the files do not apply.
func (o *emitOptions) warn(a *app, l *emit.Transition, r *emit.Report) {
	warn(a, []variant{{sc: l.After}})
	for _, name := range r.Idle {
		fmt.Fprintf(a.stderr, "plimsoll: --target %s: the layout changes nothing that this target applies\n", name)
	}
	o.warnLeft(a, r)
}

// warnLeft reports what the files do not apply.
func (o *emitOptions) warnLeft(a *app, r *emit.Report) {
	if left := r.Left(); len(left) > 0 {
		fmt.Fprintf(a.stderr, "plimsoll: not in these files (README.md says who applies it): %s\n",
			printable(strings.Join(left, ", ")))
	}
}

// asEmitFailure gives errors their exit codes: wrong input, or a plan that met no objective.
func asEmitFailure(err error) error {
	var input *emit.InputError
	var problems scenario.Problems
	switch {
	case errors.As(err, &input) && input.Unmet:
		return &failure{code: exitFindings, err: err, hint: input.Next}
	case errors.As(err, &input):
		return failf(exitUsage, input.Next, "emit: %w", err)
	case errors.As(err, &problems):
		return &failure{code: exitUsage, err: err, hint: problems.Hint()}
	}
	return err
}

// readInput reads a file, at most one byte more than it may have. A pipe may never end, so the read
// can be interrupted.
func readInput(ctx context.Context, path string, most int64) ([]byte, error) {
	return unlessInterrupted(ctx, func() ([]byte, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return io.ReadAll(io.LimitReader(f, most+1))
	})
}
