package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/advise/plan"
	"plimsoll/internal/base/shellword"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/present/results"
	"plimsoll/internal/record/recognise"
)

// origin is what a plan's page is made from: the scenarios of its layouts, the region of the prices and, for
// a recording, the command that fits its scenario.
func (o *planOptions) origin(path string, p *plan.Plan, command string) results.Origin {
	out := results.Origin{File: path, Command: o.given, Folder: o.target.emit.dir}
	if command != "" {
		out.File, out.Made = "fitted.yaml", command+" > fitted.yaml"
	}

	var all []*scenario.Scenario
	for _, l := range append([]*plan.Layout{p.Now, p.Chosen, p.Nearest}, p.Frontier...) {
		if l != nil && l.Scenario != nil {
			all = append(all, l.Scenario)
		}
	}

	out.Prices = pricesOf(o.region, all...)
	for _, x := range p.Platforms {
		for _, l := range []*plan.Layout{x.Chosen, x.Nearest} {
			if l != nil && l.Scenario != nil {
				out.Prices = append(out.Prices, pricesOf(x.Region, l.Scenario)...)
			}
		}
	}

	return out
}

// A deployment is the current deployment that a plan starts from.
type deployment struct {
	scenario *scenario.Scenario
	text     func() []byte // without what --set adds
	command  string        // that recreates a recording's scenario; "": it was read from a file
	added    []string      // assignments for what the scenario of a new deployment leaves out
	unsized  bool          // the size of its data is one of them
}

// deployed reads what to plan for: a scenario file, or, for sources, the scenario that would have
// produced them.
func (o *planOptions) deployed(cmd *cobra.Command, env *app, args []string,
	sets []scenario.Set) (*deployment, error) {
	i := slices.IndexFunc(args, func(arg string) bool { return !env.isSource(cmd.Context(), arg) })
	switch {
	case i < 0 && o.isNew:
		return nil, usagef("leave --new out, or give a scenario: plimsoll init writes one",
			"plan: --new is for a deployment that does not exist yet, and %s is a source", args[0])
	case i < 0:
		return o.recorded(cmd, env, args, sets)
	case len(args) > 1:
		return nil, usagef("give one scenario, or sources that cover the same time",
			"plan: %s is not a source, and there are %d arguments", args[i], len(args))
	}

	for _, name := range readingFlags {
		switch {
		// --to names a platform for a scenario and a time for sources.
		case !cmd.Flags().Changed(name), name == "to" && o.reading.to == "":
		case name == "to":
			return nil,
				usagef(
					meantPlatform(o.reading.to), "--to %q is none of %s, and as a time it is for sources: %s is a scenario",
					o.reading.to, strings.Join(emit.PlatformNames(), ", "), args[0])
		default:
			return nil, usagef("leave it out", "--%s is for sources, and %s is a scenario", name, args[0])
		}
	}

	file, err := openScenario(cmd.Context(), env.language(), args[0])
	if err != nil {
		return nil, err
	}

	if o.isNew {
		sc, added, unsized, err := o.parseNew(file)
		return &deployment{scenario: sc, text: file.Text, added: added, unsized: unsized}, asPlanFailure(err)
	}

	sc, err := file.Parse(o.sets)
	return &deployment{scenario: sc, text: file.Text}, asPlanFailure(err)
}

// recorded fits a scenario to sources.
func (o *planOptions) recorded(cmd *cobra.Command, env *app, args []string,
	sets []scenario.Set) (*deployment, error) {
	f := &o.reading
	if err := f.validateReading(cmd, args, env.now()); err != nil {
		return nil, err
	}

	// The result names the command that recreates the scenario, without secrets in addresses.
	words := append([]string{"plimsoll", "fit"}, publicWords(args)...)
	words = append(words, flagsAsGiven(cmd,
		func(name string) bool { return name != "to" && slices.Contains(readingFlags, name) })...)
	if f.to != "" {
		words = append(words, "--to", f.to)
	}

	said(sets, func(volume, word string) {
		words = append(words, "--volume", volume+"="+word)
		_ = f.know(volume, word) // errors in it are reported with their position when it is applied to the scenario
	})

	for i, w := range words {
		words[i] = shellword.Quote(w)
	}

	fitted, err := f.fit(cmd.Context(), env, args)
	if err != nil {
		return nil, asFitFailure(err)
	}

	if err := cmd.Context().Err(); err != nil {
		return nil, err // a live source that was interrupted ends without an error
	}

	for _, r := range fitted.Remarks {
		fmt.Fprintf(env.stderr, "plimsoll: note: %s\n", printable(r))
	}

	d := &deployment{text: fitted.YAML, command: strings.Join(words, " ")}
	if d.scenario, err = fitted.Scenario(env.language(), sets...); err != nil {
		return nil, asPlanFailure(err)
	}

	return d, priced(d.scenario, fitted)
}

// isSource distinguishes what can be read, as fit does (a recording, a capture, a log, an address),
// from a scenario, which is text.
func (a *app) isSource(ctx context.Context, arg string) bool {
	if strings.Contains(arg, "://") || a.keptAs(arg) != "" {
		return true
	}

	info, err := os.Stat(arg)
	switch {
	case err != nil:
		return arg == "host" || strings.HasPrefix(arg, "host?")
	case info.IsDir():
		return true
	case !info.Mode().IsRegular(): // a pipe can be read once
		return false
	}

	// A broken scenario must be reported as a scenario, not as an unknown source.
	if ext := filepath.Ext(arg); ext == ".yaml" || ext == ".yml" {
		return false
	}
	if isBinary(arg) {
		return true
	}

	in, err := opener(a.catalog).Open(ctx, arg, recognise.OpenOptions{})
	if err != nil {
		return false
	}

	if in.Reader != nil {
		_ = in.Reader.Close() // nothing was read
	}

	return true
}

func isBinary(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [512]byte
	n, _ := io.ReadFull(f, head[:]) // a short file has a short head
	return bytes.IndexByte(head[:n], 0) >= 0
}

// said passes on the volume types and sizes that --set gives, so that observed limits count as
// figures of these products. Other assignments are applied to the fitted scenario.
func said(sets []scenario.Set, each func(volume, word string)) {
	for _, s := range sets {
		keys := strings.Split(strings.TrimSpace(s.Path), ".")
		if len(keys) == 3 && keys[0] == "volumes" && (keys[2] == "type" || keys[2] == "size") {
			each(keys[1], strings.TrimSpace(s.Text()))
		}
	}
}
