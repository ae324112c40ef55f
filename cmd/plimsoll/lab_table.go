//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/base/safefile"
	"plimsoll/internal/engine"
	"plimsoll/internal/lab/run"
	"plimsoll/internal/lab/table"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/present/results"
)

// labTableOptions are the flags of `plimsoll lab table`.
type labTableOptions struct {
	output   choice
	runs     int
	only     []string
	save     string
	measured string
	record   string
	display  display
}

// tableRunsMax bounds how often each scenario runs: a run takes minutes.
const tableRunsMax = 100

func newLabTableCommand(a *app) *cobra.Command {
	o := &labTableOptions{}
	cmd := &cobra.Command{
		Use:  "table FOLDER | SCENARIO...",
		Args: needArgs(1, -1, "name scenarios, or a folder of them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.runs < 1 || o.runs > tableRunsMax {
				return usagef("each takes a minute or two", "--runs %d: want 1 to %d", o.runs, tableRunsMax)
			}
			return o.run(cmd.Context(), a, args)
		},
	}

	addFormat(cmd, &o.output)
	f := cmd.Flags()
	f.IntVar(&o.runs, "runs", 1, "run each scenario this many times in the lab, and use the median")
	f.StringSliceVar(&o.only, "only", nil, "of a suite, run only these names")
	f.StringVar(&o.save, "save", "", "append the measurements to this file")
	f.StringVar(&o.record, "out", "", "record each run in its own folder below this one")
	f.StringVar(&o.measured, "measured", "", "read the measurements from this file, and run no engine")
	cmd.MarkFlagsMutuallyExclusive("measured", "runs")
	cmd.MarkFlagsMutuallyExclusive("measured", "save")
	cmd.MarkFlagsMutuallyExclusive("measured", "out")

	return cmd
}

// errorTable is the contract of `lab table -o json`.
type errorTable struct {
	Version int             `json:"version"`
	Rows    []table.Row     `json:"rows"`    // measured next to modelled
	Summary []table.Summary `json:"summary"` // for each kind of figure
	Advice  []table.Verdict `json:"advice"`  // published advice, tried
}

// A tableJob is a run of a suite with everything it needs.
type tableJob struct {
	table.Run
	file string // the scenario's file
	sc   *scenario.Scenario
}

func (o *labTableOptions) run(ctx context.Context, a *app, args []string) error {
	if err := a.loadCatalog(); err != nil {
		return err
	}

	suite, jobs, err := o.jobs(a.language(), args)
	if err != nil {
		return err
	}

	var measured *table.Measured
	if o.measured != "" {
		measured, err = table.ReadMeasured(os.DirFS(filepath.Dir(o.measured)), filepath.Base(o.measured))
		if err != nil {
			return usagef("--save writes such a file", "--measured %s: %w", o.measured, err)
		}
	} else if measured, err = o.measure(ctx, a, jobs); err != nil {
		return err
	}

	rows, err := modelled(ctx, a, jobs, measured)
	if err != nil {
		return err
	}

	verdicts := suite.Verdicts(rows)
	if o.output.value == "json" {
		return json.NewEncoder(a.stdout).Encode(errorTable{Version: 1, Rows: rows, Summary: table.Summarise(rows),
			Advice: verdicts})
	}

	return a.write(results.ErrorTable(rows, verdicts), o.output, o.display.options(a))
}

// jobs reads all scenarios before the first run starts.
func (o *labTableOptions) jobs(language *scenario.Language, args []string) (*table.Suite, []tableJob, error) {
	suite, folder, err := suiteOf(args)
	if err != nil {
		return nil, nil, err
	}

	var jobs []tableJob
	for _, r := range suite.Runs {
		if len(o.only) > 0 && !slices.Contains(o.only, r.Name) {
			continue
		}

		// Suites are written with slashes and are relative to their own folder.
		file := filepath.Join(folder, filepath.FromSlash(r.Scenario))
		sc, err := language.Load(file, r.Set)
		if err != nil {
			return nil, nil, failf(exitUsage, "", "%s cannot be run:\n%w", file, err)
		}

		if r.Title != "" {
			sc.Name = r.Title
		}

		jobs = append(jobs, tableJob{r, file, sc})
	}

	for _, name := range o.only {
		if !slices.ContainsFunc(jobs, func(j tableJob) bool { return j.Name == name }) {
			var names []string
			for _, r := range suite.Runs {
				names = append(names, r.Name)
			}
			return nil, nil, usagef("there are "+strings.Join(names, ", "), "--only %s: there is no such run", name)
		}
	}

	return suite, jobs, nil
}

// suiteOf is the suite that the arguments name: a folder's own, or one of all named scenarios.
func suiteOf(args []string) (s *table.Suite, folder string, err error) {
	if len(args) == 1 {
		s, err := table.ReadSuite(os.DirFS(args[0]))
		if err == nil {
			return s, args[0], nil
		}
		// A folder without a suite file is a folder of scenarios; a suite that cannot be read is an
		// error.
		if info, statErr := os.Stat(args[0]); statErr == nil && info.IsDir() && !errors.Is(err, fs.ErrNotExist) {
			return nil, "", usagef("", "lab table: %s: %w", args[0], err)
		}
	}

	s = &table.Suite{}
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, "", usagef("", "lab table: %w", err)
		}

		files := []string{arg}
		if info.IsDir() {
			if files, err = filepath.Glob(filepath.Join(arg, "*.yaml")); err != nil || len(files) == 0 {
				return nil, "", usagef("", "lab table: no scenario (*.yaml) in %s", arg)
			}
		}

		for _, f := range files {
			s.Runs = append(s.Runs, table.Run{Name: strings.TrimSuffix(filepath.Base(f), ".yaml"), Scenario: f})
		}
	}

	return s, "", nil
}

// measure runs the engines, one scenario at a time.
func (o *labTableOptions) measure(ctx context.Context, env *app, jobs []tableJob) (*table.Measured, error) {
	if err := sweep(env); err != nil {
		return nil, err
	}

	measured := &table.Measured{Version: 1}

	// Each round runs all scenarios, so that drift of the machine affects them alike.
	for round := range o.runs {
		for i, j := range jobs {
			began := time.Now()
			r, err := o.once(ctx, &j, round)

			// An interrupted run fails in some way; the interruption is the reason.
			if ctx.Err() != nil {
				return nil, context.Canceled
			}

			if err != nil {
				fmt.Fprintf(env.stderr, "plimsoll: %s: skipped: %s\n", j.sc.Name, printable(err.Error()))
				continue
			}

			fmt.Fprintf(env.stderr, "plimsoll: %d of %d, %s: %s in %.0f s\n", round*len(jobs)+i+1,
				o.runs*len(jobs), j.sc.Name,
				r.Lab.Server, time.Since(began).Seconds())
			for _, remark := range r.Lab.Remarks {
				fmt.Fprintf(env.stderr, "  %s\n", printable(remark))
			}

			m := table.Measurement{
				Run: j.Name, Date: env.now().UTC().Format(time.DateOnly), Server: r.Lab.Server, Kernel: r.Lab.Kernel,
				Cores:    r.Lab.Cores,
				Doubtful: r.Lab.Saturated || r.Lab.Dispatch.Behind, Figures: table.FiguresOf(r.Result),
			}

			measured.Runs = append(measured.Runs, m)
			if err := o.keep(m); err != nil {
				return nil, err
			}
		}
	}

	if len(measured.Runs) == 0 {
		return nil, errors.New("no scenario could be run")
	}

	return measured, nil
}

// once runs a scenario, and records it if requested.
func (o *labTableOptions) once(ctx context.Context, j *tableJob, round int) (*run.Result, error) {
	opt := run.Options{Engines: engine.All().Labs(), File: j.file, Sets: j.Set}
	folder := o.record
	if folder != "" {
		folder = filepath.Join(folder, fmt.Sprintf("%s-%d", j.Name, round+1))
	}

	kept, err := createRecording(folder)
	if err != nil {
		return nil, err
	}

	opt.Record = kept.writer()
	r, err := run.Run(ctx, j.sc, opt)
	return r, kept.close(err)
}

// keep appends a measurement to the file of --save immediately: the next run may be interrupted.
func (o *labTableOptions) keep(m table.Measurement) error {
	if o.save == "" {
		return nil
	}

	folder, name := filepath.Dir(o.save), filepath.Base(o.save)
	all, err := table.ReadMeasured(os.DirFS(folder), name)
	if errors.Is(err, fs.ErrNotExist) {
		all, err = &table.Measured{Version: 1}, nil
	}

	if err != nil {
		return err
	}

	all.Runs = append(all.Runs, m)
	var text bytes.Buffer
	if err := all.Write(&text); err != nil {
		return err
	}
	return safefile.Write(o.save, text.Bytes(), safefile.Options{})
}

// modelled simulates the measured scenarios and returns the rows.
func modelled(ctx context.Context, a *app, jobs []tableJob, measured *table.Measured) ([]table.Row, error) {
	rows := []table.Row{}
	for _, j := range jobs {
		if of, _ := measured.Of(j.Name); len(of) == 0 {
			fmt.Fprintf(a.stderr, "plimsoll: %s: not measured, skipped\n", j.sc.Name)
			continue
		}

		model, err := simulate.Run(ctx, j.sc, simulate.Options{})
		if err != nil {
			return nil, err
		}

		of, err := measured.Compare(j.Name, j.sc.Name, model)
		if err != nil {
			return nil, err
		}

		rows = append(rows, of...)
	}

	return rows, nil
}
