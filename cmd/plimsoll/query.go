package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/results"
	"plimsoll/internal/record/export"
	"plimsoll/internal/record/query"
	"plimsoll/internal/record/recording"
)

// sampleBriefly is how long query, metrics and export sample live sources by default.
const sampleBriefly = 10 * time.Second

// asCSV writes a query's values as a table for a spreadsheet.
const asCSV = "csv"

// queryOptions are the flags of `plimsoll query`.
type queryOptions struct {
	sourceOptions
	display
	at       string
	step     time.Duration
	output   choice
	atMoment time.Time
}

func newQueryCommand(a *app) *cobra.Command {
	o := &queryOptions{sourceOptions: sourceOptions{durationUnless: sampleBriefly}}
	cmd := &cobra.Command{Use: "query SOURCE... PROMQL",
		Args: needArgs(2,
			-1, "plimsoll query diagnostic.data 'rate(node_disk_io_time_seconds_total[1m])'"),
		ValidArgsFunction: completeSources}

	f := cmd.Flags()
	f.StringVar(&o.at, "at", "", "the values of one moment, in place of --from and --to")
	f.DurationVar(&o.step, "step", 0, "time between two values (default: the sources' own period)")
	o.output.value = "text"
	addChoice(cmd,
		&o.output, "output",
		"o", "how to write the result; csv has a column per series, json is as Prometheus writes it",
		"text", "json",
		asCSV, asMarkdown)

	o.sourceOptions.AddFlags(cmd)
	o.display.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		given, expr := args[:len(args)-1], args[len(args)-1]
		if err := o.Validate(cmd, given, a.now()); err != nil {
			return err
		}
		return o.Run(cmd.Context(), a, given, expr)
	}

	return cmd
}

func (o *queryOptions) Validate(cmd *cobra.Command, args []string, now time.Time) (err error) {
	if cmd.Flags().Changed("step") && o.step < time.Millisecond {
		return usagef("for example --step 10s", "--step %s: want 1ms or more", o.step)
	}
	if o.at != "" && (o.from != "" || o.to != "") {
		return usagef("", "--at is one moment: it does not go with --from and --to")
	}
	if err := o.sourceOptions.Validate(cmd, args, now); err != nil {
		return err
	}
	if o.atMoment, err = parseMoment("--at", o.at, now, o.zone); err != nil {
		return err
	}
	return o.display.Validate(cmd)
}

// Run reads the metrics that the expression needs and evaluates it.
func (o *queryOptions) Run(ctx context.Context, env *app, args []string, text string) error {
	expr, err := query.Parse(text)
	if err != nil {
		return usagef("the last argument is the expression", "query: %w", err)
	}

	o.lookback = expr.Lookback()
	var seen names
	r, done, err := o.reader(ctx, env, args, func(metric string) bool {
		// Names of metrics that are not read are kept for suggestions if the expression matches
		// nothing.
		seen.add(metric)
		return expr.Wants(metric)
	})
	if err != nil {
		return err
	}

	defer done()

	// An interrupt ends the sampling; what was sampled is still evaluated.
	evaluating, cancel := afterReading(ctx)
	defer cancel()
	sampled := ctx.Err()

	found, err := query.Run(evaluating, r, expr,
		query.Options{From: o.fromAt, To: o.toAt, At: o.atMoment, Step: o.step, Names: seen.all()})
	if sampled != nil && err != nil {
		return sampled // too few samples
	}

	if errors.Is(err, query.ErrNoMetric) {
		return &failure{code: exitFailure, err: err, hint: "plimsoll metrics lists what a source has"}
	}
	if err != nil {
		return err
	}

	if err := o.write(env, found); err != nil || sampled == nil {
		return err
	}

	return partial(ctx, "these values cover")
}

func (o *queryOptions) write(a *app, found *query.Result) error {
	switch o.output.value {
	case "json":
		return writeJSON(a, responseOf(found, !o.atMoment.IsZero()))
	case asCSV:
		return export.WriteWide(a.stdout, found.Series)
	}
	return a.write(results.Query(found, o.zone), o.output, o.options(a))
}

// names is a set of names that several sources add to at the same time. The zero value is empty.
type names struct {
	mu  sync.Mutex
	set map[string]bool
}

func (n *names) add(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.set == nil {
		n.set = map[string]bool{}
	}
	n.set[name] = true
}

func (n *names) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(maps.Keys(n.set))
}

// A response has the form of Prometheus' API (/api/v1/query and query_range). It is the contract of
// `query -o json`.
type response struct {
	Status string       `json:"status"`
	Data   responseData `json:"data"`
}

type responseData struct {
	ResultType string           `json:"resultType"` // vector for one moment, matrix for a time range range
	Result     []responseSeries `json:"result"`
}

type responseSeries struct {
	Metric map[string]string `json:"metric"`
	Value  *[2]any           `json:"value,omitempty"`  // of a vector: [seconds since the epoch, "value"]
	Values [][2]any          `json:"values,omitempty"` // of a matrix
}

func responseOf(r *query.Result, moment bool) response {
	out := response{Status: "success", Data: responseData{ResultType: "matrix", Result: []responseSeries{}}}
	if moment {
		out.Data.ResultType = "vector"
	}

	for _, s := range r.Series {
		row := responseSeries{Metric: s.Labels.Map()}
		for _, p := range s.Points {
			// Prometheus encodes times in seconds and values as strings, because JSON has no NaN.
			value := [2]any{float64(p.T) / 1000, strconv.FormatFloat(p.F, 'f', -1, 64)}
			if moment {
				row.Value = &value
				break
			}
			row.Values = append(row.Values, value)
		}

		if row.Value != nil || row.Values != nil {
			out.Data.Result = append(out.Data.Result, row)
		}
	}

	return out
}

// reader returns one recording of all sources, with progress on stderr: the only source if it can
// be queried directly, otherwise all of them in memory. done closes it.
func (o *sourceOptions) reader(ctx context.Context, a *app, args []string,
	want func(string) bool) (r recording.Reader, done func(), err error) {
	counts, stop := a.progress()
	defer stop()

	inputs, err := o.open(ctx, a, args)
	if err != nil {
		return nil, nil, err
	}

	readers, memories := readersOf(inputs)
	done = func() {
		a.reportDamage(readers)
		closeAll(inputs)
	}

	// A single recording is queried on disk. It may be larger than memory.
	if len(inputs) == 1 && inputs[0].Reader != nil {
		return inputs[0].Reader, done, nil
	}

	// Labelling several sources needs the metrics that identify hosts and databases, too.
	both := want
	if len(inputs) > 1 {
		both = func(metric string) bool { return want(metric) || pack().Wants(metric) }
	}

	err = o.readAll(ctx, inputs, both, counts, func(i int) recording.Writer { return memories[i] })
	if err != nil || len(inputs) == 1 {
		return readers[0], done, err
	}

	// Series of several servers get labels, as in a recording of them.
	copying, cancel := afterReading(ctx)
	defer cancel()
	l, err := diagnose.Label(copying, readers, pack(), o.hosts.of(inputs))

	memory := recording.NewMemory(recording.MemoryOptions{})
	to := labelled(l, memory)
	for i, r := range readers {
		if err == nil {
			err = copyReader(copying, r, to(i), o.readFrom(), o.toAt, counts)
		}
	}

	if err != nil {
		done()
		return nil, nil, err
	}

	return memory, done, nil
}
