package main

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/present/results"
	"plimsoll/internal/record/query"
	"plimsoll/internal/record/recording"
)

// metricsOptions are the flags of `plimsoll metrics`.
type metricsOptions struct {
	sourceOptions
	display
	match  string
	output choice
	names  *regexp.Regexp
}

func newMetricsCommand(a *app) *cobra.Command {
	return newSourcesCommand(a, "metrics SOURCE...",
		&metricsOptions{sourceOptions: sourceOptions{durationUnless: sampleBriefly}})
}

func (o *metricsOptions) AddFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(
		&o.match, "like", "", "only names that this regular expression matches somewhere: disk")
	o.output.value = "text"
	addChoice(cmd, &o.output, "output", "o", "how to write the list", "text", "json", asMarkdown)
	o.sourceOptions.AddFlags(cmd)
	o.display.AddFlags(cmd)
}

func (o *metricsOptions) Validate(cmd *cobra.Command, args []string, now time.Time) (err error) {
	if o.names, err = regexp.Compile(o.match); err != nil {
		return usagef("for example --like '^node_disk'", "--like: %w", err)
	}
	return cmp.Or(o.sourceOptions.Validate(cmd, args, now), o.display.Validate(cmd))
}

// A metricLine is a metric in `metrics -o json`.
type metricLine struct {
	Name          string    `json:"name"`
	Unit          string    `json:"unit,omitempty"`
	Series        int       `json:"series"`
	PeriodSeconds float64   `json:"period_seconds,omitempty"`
	From          time.Time `json:"from"`
	To            time.Time `json:"to"`
}

// Run reads the sources and lists their metrics.
func (o *metricsOptions) Run(ctx context.Context, a *app, args []string) error {
	r, done, err := o.reader(ctx, a, args, o.names.MatchString)
	if err != nil {
		return err
	}

	defer done()
	listing, cancel := afterReading(ctx)
	defer cancel()
	sampled := ctx.Err()

	all, err := r.Metrics(listing)
	if err != nil {
		return err
	}

	all = slices.DeleteFunc(all, func(m recording.Metric) bool { return !o.names.MatchString(m.Name) })
	if err := o.write(a, all); err != nil || sampled == nil {
		return err
	}

	return partial(ctx, "this list covers")
}

func (o *metricsOptions) write(a *app, all []recording.Metric) error {
	if o.output.value == "json" {
		lines := []metricLine{}
		for _, m := range all {
			lines = append(lines, metricLine{Name: m.Name, Unit: query.Unit(m.Name), Series: m.Series,
				PeriodSeconds: m.Period.Seconds(), From: m.From.UTC(), To: m.To.UTC()})
		}
		return writeJSON(a, lines)
	}
	return a.write(results.Metrics(all, o.zone), o.output, o.options(a))
}
