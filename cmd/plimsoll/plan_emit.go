package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/advise/plan"
	"plimsoll/internal/advise/starter"
)

// A planTarget is where a plan is to be carried out, and the folder for the files that do it.
type planTarget struct {
	to   platformList
	emit emitOptions // emit's other options
}

// placeOrTime is --to of plan: as in every verb that reads sources, a time. A platform's name is still
// accepted there, as it was before --platform; no word is both.
type placeOrTime struct {
	place *platformList
	time  *string
}

func (v placeOrTime) String() string { return strings.Join(v.GetSlice(), ",") }

// Type is the name of the value in the help.
func (v placeOrTime) Type() string { return "string" }

// Set accepts both.
func (v placeOrTime) Set(word string) error {
	if v.place.Set(word) != nil {
		*v.time = word
	}
	return nil
}

// Append is Set.
func (v placeOrTime) Append(word string) error { return v.Set(word) }

// Replace implements pflag.SliceValue. It never fails.
func (v placeOrTime) Replace(words []string) error { //nolint:unparam // pflag.SliceValue
	v.place.value, *v.time = "", ""
	for _, w := range words {
		_ = v.Set(w) // never fails
	}
	return nil
}

// GetSlice returns the words that were given.
func (v placeOrTime) GetSlice() []string {
	return slices.DeleteFunc([]string{v.place.value, *v.time}, func(s string) bool { return s == "" })
}

// AddFlags adds the flags. until receives --to if it is a time; its flag already exists.
func (t *planTarget) AddFlags(cmd *cobra.Command, until *string) {
	f := cmd.Flags()
	to := f.Lookup("to")
	to.Usage = "for sources, only up to this time"
	to.Value = placeOrTime{&t.to, until}
	t.to.among = emit.PlatformNames()
	f.Var(&t.to, "platform", "only layouts that can be carried out there: "+strings.Join(emit.PlatformNames(), ", ")+
		"; several clouds, aws,azure,gcp, are compared")
	complete(cmd, "platform", append(emit.PlatformNames(), strings.Join(starter.CloudNames(), ","))...)
	f.StringVar(
		&t.emit.dir, "out",
		"", "with --platform: write the files that apply the layout into this folder: new, empty, or written by an earlier emit")
	f.BoolVar(&t.emit.force, "force", false, "with --out: overwrite files that were edited since")
	t.emit.addManifestFlags(cmd, "with --platform kubernetes and --out")
}

// meantPlatform returns a hint for a word that is not a platform.
func meantPlatform(word string) string {
	_, err := emit.PlatformNamed(word)
	var input *emit.InputError
	if errors.As(err, &input) && input.Next != "" {
		return input.Next
	}
	return "leave it out"
}

// target reads the flags; nil if there is none.
func (t *planTarget) target(cmd *cobra.Command) (plan.Target, error) {
	for _, name := range []string{"force", "statefulset", "container", "claim"} {
		if cmd.Flags().Changed(name) && t.emit.dir == "" {
			return nil, usagef("add --out DIR", "plan: --%s is for the files of --out", name)
		}
	}

	if t.to.value == "" {
		if cmd.Flags().Changed("out") {
			return nil, usagef("add --platform "+emit.PlatformNames()[0], "plan: --out DIR needs --platform: one of %s",
				strings.Join(emit.PlatformNames(), ", "))
		}
		return nil, nil
	}

	if len(t.to.names()) > 1 {
		return nil, nil // each has its own plan
	}
	return t.named(t.to.value)
}

// named returns a platform as a plan's target.
func (t *planTarget) named(name string) (plan.Target, error) {
	p, err := emit.PlatformNamed(name)
	if err != nil {
		return nil, asEmitFailure(err)
	}
	return p, nil
}

// write writes the files of the layout that a plan chose.
func (t *planTarget) write(ctx context.Context, env *app, d *deployment, made *plan.Plan) error {
	if t.emit.dir == "" || made.Chosen == nil {
		return nil
	}

	// The current layout already meets the objective.
	if len(made.Chosen.Changes) == 0 {
		fmt.Fprintf(env.stderr, "plimsoll: nothing changes, so nothing is written to %s\n", printable(t.emit.dir))
		return nil
	}

	chosen := &emit.Request{File: made.Scenario.File, Text: string(d.text()), Facts: made.Scenario.Facts,
		Sets: made.Chosen.Sets, New: made.New}
	layout, err := chosen.Transition(env.deployments())
	if err != nil {
		return asEmitFailure(err)
	}

	opt, err := t.emit.options(ctx)
	if err != nil {
		return asEmitFailure(err)
	}

	opt.Skip = true // the platform has a target for each
	platform, err := emit.PlatformNamed(made.To)
	if err != nil {
		return asEmitFailure(err)
	}

	r, err := emit.Files(layout, platform.Targets(layout), opt)
	if err != nil {
		return asEmitFailure(err)
	}

	report := r.Report(layout)
	t.emit.warnLeft(env, report)
	if err := t.emit.write(r, report); err != nil {
		return asEmitFailure(err)
	}

	fmt.Fprintf(env.stderr, "plimsoll: %d files in %s; README.md there says how to apply them\n", len(r.Files),
		printable(t.emit.dir))
	return nil
}
