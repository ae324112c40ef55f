package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/base/safefile"
	"plimsoll/internal/base/units"
	"plimsoll/internal/record/export"
	"plimsoll/internal/record/recording"
)

// exportOptions are the flags of `plimsoll export`.
type exportOptions struct {
	sourceOptions
	format choice
	out    string
	force  bool
	match  []string
	chosen export.Selection
}

// formatOrTime is --to of export: a time, as in every verb that reads sources. A format's name is still
// accepted there, as it was before --output; no word is both.
type formatOrTime struct {
	format *choice
	time   *string
}

func (v formatOrTime) String() string { return "" }

// Type is the name of the value in the help.
func (v formatOrTime) Type() string { return "string" }

// Set accepts both.
func (v formatOrTime) Set(word string) error {
	if v.format.Set(word) != nil {
		*v.time = word
	}
	return nil
}

func newExportCommand(a *app) *cobra.Command {
	return newSourcesCommand(a, "export SOURCE... -o csv|openmetrics|parquet",
		&exportOptions{sourceOptions: sourceOptions{durationUnless: sampleBriefly}})
}

func (o *exportOptions) AddFlags(cmd *cobra.Command) {
	var names []string
	for _, f := range export.Formats {
		names = append(names, string(f))
	}
	addChoice(cmd, &o.format, "output", "o", "the format (default: by the name of --out)", names...)
	cmd.Flags().StringVar(&o.out, "out", "", "file to write (default: stdout)")
	cmd.Flags().BoolVar(&o.force, "force", false, "overwrite the file of --out")
	cmd.Flags().StringArrayVar(&o.match, "match",
		nil, `only series that this selects: 'node_disk_io_time_seconds_total{device="sda"}' (repeatable)`)
	o.sourceOptions.AddFlags(cmd)
	to := cmd.Flags().Lookup("to")
	to.Value = formatOrTime{&o.format, &o.to}
}

// formatOf are the formats by a file's extension.
var formatOf = map[string]export.Format{".csv": export.CSV, ".om": export.OpenMetrics,
	".prom": export.OpenMetrics, ".txt": export.OpenMetrics, ".parquet": export.Parquet}

func (o *exportOptions) Validate(cmd *cobra.Command, args []string, now time.Time) error {
	if _, err := parseMoment("--to", o.to, now, time.UTC); err != nil {
		return usagef(seeHelp(cmd), "--to %q is not a time; -o has the format, one of %s", o.to,
			strings.Join(o.format.among, ", "))
	}
	if o.format.value == "" {
		o.format.value = string(formatOf[filepath.Ext(o.out)])
	}

	if o.format.value == "" {
		return usagef("for example -o csv", "export: no format: want -o with one of %s",
			strings.Join(o.format.among, ", "))
	}

	if info, err := os.Stat(o.out); o.out != "" && err == nil && info.Mode().IsRegular() && !o.force {
		return usagef("--force overwrites it", "--out %s: the file exists", o.out)
	}

	var err error
	if o.chosen, err = export.Select(o.match); err != nil {
		return usagef(`for example --match 'node_disk_io_time_seconds_total{device="sda"}'`, "--match: %w", err)
	}

	return o.sourceOptions.Validate(cmd, args, now)
}

// Run reads the sources and exports what they hold.
func (o *exportOptions) Run(ctx context.Context, env *app, args []string) error {
	if o.format.value == string(export.Parquet) && o.out == "" && env.stdout.terminal {
		return usagef("append --out series.parquet", "-o parquet: a terminal cannot show it")
	}

	reader, done, err := o.reader(ctx, env, args, o.chosen.Wants)
	if err != nil {
		return err
	}

	defer done()
	t, stop := env.progress()
	defer stop()
	exporting, cancel := afterReading(ctx)
	defer cancel()
	sampled := ctx.Err()
	opt := export.Options{Select: o.chosen, From: o.fromAt, To: o.toAt,
		Progress: func(n, of int) { t.setStage("exporting metrics", n, of) }}

	if o.out == "" {
		if _, err := o.write(exporting, env.stdout, reader, opt); err != nil || sampled == nil {
			return cmp.Or(sampled, err)
		}
		return partial(ctx, "this export covers")
	}

	// The file replaces an older one only when it is complete.
	f, err := safefile.Create(o.out, safefile.Options{})
	if err != nil {
		return err
	}

	sum, err := o.write(exporting, f, reader, opt)
	if err != nil {
		return errors.Join(cmp.Or(sampled, err), f.Discard()) // sampled: too few samples
	}

	if err := f.Commit(); err != nil {
		return err
	}

	stop()
	if _, err = fmt.Fprintf(env.stderr, "%s: %s samples of %s series, %s of time\n", o.out,
		units.Count(sum.Samples), units.Count(int64(sum.Series)),
		units.Seconds(sum.To.Sub(sum.From).Seconds())); err != nil || sampled == nil {
		return err
	}

	return partial(ctx, "this export covers")
}

func (o *exportOptions) write(ctx context.Context, w io.Writer, r recording.Reader,
	opt export.Options) (export.Summary, error) {
	sum, err := export.Write(ctx, w, r, export.Format(o.format.value), opt)
	if errors.Is(err, export.ErrNothing) {
		return sum, &failure{code: exitFailure, err: err,
			hint: "check --match, --from and --to; plimsoll metrics lists what a source has"}
	}
	return sum, err
}
