//go:build linux

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/base/safefile"
	"plimsoll/internal/base/units"
	"plimsoll/internal/engine"
	"plimsoll/internal/present/results"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/trace"
	"plimsoll/internal/trace/chain"
	"plimsoll/internal/trace/events"
	"plimsoll/internal/trace/perfetto"
	"plimsoll/internal/trace/series"
	"plimsoll/internal/trace/target"
)

// traceOptions are the flags of `plimsoll trace`.
type traceOptions struct {
	target   target.Choice
	lasts    time.Duration
	slower   time.Duration
	save     string
	perfetto string
	force    bool
	record   string
	server   string // that names data files
	output   choice
	display  display
	full     bool
}

const traceExample = "for example --pid 4711, --command NAME, --unit NAME, or --path /var/lib/NAME"

// serverExample is an address of the first engine whose server can name the contents of its files.
func serverExample() string {
	for _, e := range engine.All() {
		if e.FileNames != nil && len(e.Source.Schemes) > 0 {
			return fmt.Sprintf("for example --server %s://USER@localhost:%s", e.Source.Schemes[0], e.Source.Port)
		}
	}
	return ""
}

func newTraceCommand(a *app) *cobra.Command {
	opt := &traceOptions{}
	cmd := &cobra.Command{
		Use:  "trace [SAVED]",
		Args: needArgs(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := opt.Validate(cmd, args); err != nil {
				return err
			}
			if len(args) == 1 {
				return opt.replay(cmd.Context(), a, args[0])
			}
			return opt.Run(cmd.Context(), a)
		},
	}

	f := cmd.Flags()
	f.IntVar(&opt.target.PID, "pid", 0, "trace this process, all its threads")
	f.StringVar(&opt.target.Unit, "unit", "", "trace the processes of this systemd unit")
	f.StringVar(&opt.target.Command, "command", "", "trace the processes that run this program")
	f.StringVar(&opt.target.Path, "path", "", "trace every process's calls on files below this folder")
	f.DurationVar(&opt.lasts, "for", time.Minute, "how long to trace; Ctrl-C ends earlier")
	f.DurationVar(&opt.slower, "slower-than",
		20*time.Millisecond, "explain calls that took at least this long; faster ones are counted")
	f.StringVar(&opt.save, "save", "", "write all events to this file: plimsoll trace FILE explains them again")
	f.StringVar(
		&opt.perfetto, "perfetto",
		"", "write the worst calls and the disks' requests around them to this file, for ui.perfetto.dev")
	f.BoolVar(&opt.force, "force", false, "overwrite the files of --save and --perfetto")
	f.StringVar(&opt.record, "out", "", "record the stages and culprits as series into this folder")

	f.StringVar(&opt.server, "server", "",
		"ask the database at this address what its files hold (default: the one on this machine that has them)")

	addFormat(cmd, &opt.output)
	opt.display.AddFlags(cmd)
	addFull(cmd, &opt.full)
	return cmd
}

// Validate checks the flags.
func (o *traceOptions) Validate(cmd *cobra.Command, args []string) error {
	n := 0
	for _, name := range []string{"pid", "unit", "command", "path"} {
		if cmd.Flags().Changed(name) {
			n++
		}
	}

	switch {
	case len(args) == 1 && n > 0:
		return usagef("", "trace: a saved trace has its target; leave out --pid, --unit, --command and --path")
	case len(args) == 1 && (o.save != "" || o.record != ""):
		return usagef("", "trace: --save and --out apply to a new trace, not to a saved one")
	case len(args) == 0 && n != 1:
		return usagef(traceExample, "trace: no target: want one of --pid, --unit, --command, --path")
	case o.force && o.save == "" && o.perfetto == "":
		return usagef("give a file with --save or --perfetto", "--force: there is no file to overwrite")
	case o.server != "" && !canNameFiles(o.server):
		return usagef(serverExample(), "--server: want the address of a database that can name the contents of its files")
	case o.target.PID < 0 || len(args) == 0 && o.target == (target.Choice{}):
		return usagef(traceExample, "trace: an empty target")
	case o.lasts < 100*time.Millisecond || o.lasts > 24*time.Hour:
		return usagef("--for 60s", "--for %s: want 100ms to 24h", o.lasts)
	case o.slower < 100*time.Microsecond || o.slower > time.Hour:
		return usagef("--slower-than 20ms", "--slower-than %s: want 100us to 1h", o.slower)
	}

	// Checked before the trace, which would be lost after it.
	if err := cmp.Or(replaces("--save", o.save, o.force),
		replaces("--perfetto", o.perfetto, o.force)); err != nil {
		return err
	}

	return o.display.Validate(cmd)
}

// Run traces.
func (o *traceOptions) Run(ctx context.Context, env *app) error {
	disk, err := createRecording(o.record)
	if err != nil {
		return err
	}
	_ = trace.GiveWay() // if this is refused, the trace only runs at normal priority
	t := &tally{}
	collect := newCollector()
	began := env.now()
	stop := env.meter(t).show()

	// Events are kept in memory only if a file needs them.
	result, err := trace.Run(ctx, trace.Options{Target: o.target, Background: inBackground, For: o.lasts,
		Slower: o.slower, Keep: o.save != "" || o.perfetto != "",
		Progress: func(done float64, slow int, waited time.Duration) {
			t.setStage(fmt.Sprintf("tracing %s: %s slow calls, %s in all", o.target, units.Count(int64(slow)),
				units.Seconds(waited.Seconds())), int(100*min(done, 1)), 100)
		},
		Each: func(c *chain.Chain, end time.Time) { collect.Add(c, end) },
	})

	stop()
	if err != nil {
		return disk.close(err)
	}

	// The verdict is shown even if a file cannot be written.
	var unwritten []error
	if disk != nil {
		disk.disk.Source(recording.Source{Name: "trace", Kind: "trace"})
		err := collect.Batches(series.Trace{Target: o.target.String(), Slower: o.slower}, began, env.now(),
			func(b *recording.Batch) error {
				return disk.disk.Append(context.WithoutCancel(ctx), b)
			})
		unwritten = append(unwritten, disk.close(err))
	}

	nameFiles(ctx, env, o.server, result.Report)
	if o.save != "" {
		if err := events.SaveFile(o.save, result.Report.Header, result.Events, o.force); err != nil {
			unwritten = append(unwritten, fmt.Errorf("--save: %w", err))
		}
	}

	unwritten = append(unwritten, o.writePerfetto(result.Report, result.Events), o.show(env, result.Report))
	return errors.Join(unwritten...)
}

// newCollector makes a collector of series. It names disks, and programs, because a thread may have its own
// name.
func newCollector() *series.Collector {
	c := series.New()
	program, disk := remembered(target.Program), remembered(target.Disk)
	c.Program = func(t events.Task) string { return program(t.PID) }
	c.Device = disk
	return c
}

// remembered looks up each name once. It bounds the lookups of programs by process, and of disks by
// file system.
func remembered(lookUp func(id uint32) string) func(id uint32) string {
	const most = 10_000
	names := map[uint32]string{}
	return func(id uint32) string {
		name, known := names[id]
		if !known && len(names) < most {
			name = lookUp(id)
			names[id] = name
		}
		return name
	}
}

// replay explains a saved trace again.
func (o *traceOptions) replay(ctx context.Context, a *app, path string) error {
	h, b, err := events.LoadFile(path)
	if err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	r := chain.Replay(h, b)
	r.NameFiles()
	// A saved trace has no server unless an address is given: it may be from another machine.
	if o.server != "" {
		nameFiles(ctx, a, o.server, r)
	}
	return errors.Join(o.writePerfetto(r, b), o.show(a, r))
}

func (o *traceOptions) show(a *app, r *chain.Report) error {
	r.Notes = append(r.Notes, fileHints(r)...)
	if o.output.value == "json" {
		return writeJSON(a, r.JSON())
	}
	return a.screen(results.Trace(r), o.output, o.display.options(a), o.full)
}

// inBackground reports whether a process does work that no client of its engine waits for.
func inBackground(commandLine string) bool {
	for _, e := range engine.All() {
		if e.Background != nil && e.Background(commandLine) {
			return true
		}
	}
	return false
}

// namedMax bounds the number of files whose contents a trace looks up.
const namedMax = 100

// nameFiles names the files of a report by their contents, which it queries from the engine's server. If that
// fails, the report has a note; it is complete without the names.
func nameFiles(ctx context.Context, a *app, server string, r *chain.Report) {
	ctx = context.WithoutCancel(ctx) // Ctrl-C ends the trace, and not its explanation
	files := r.Files(namedMax)
	for _, e := range engine.All() {
		if e.FileNames == nil || server != "" && !hasScheme(server, e.Source.Schemes) {
			continue
		}

		names, err := e.FileNames(ctx, server, files, recognise.LiveOptions{Getenv: a.getenv})
		if err != nil {
			r.Notes = append(r.Notes, "cannot ask "+e.Product+" what its files hold: "+err.Error())
		}
		if len(names) > 0 {
			if r.Header.Holds == nil {
				r.Header.Holds = map[string]string{}
			}
			maps.Copy(r.Header.Holds, names)
		}
	}
	r.NameFiles()
}

// hasScheme reports whether an address has one of the schemes.
func hasScheme(address string, schemes []string) bool {
	scheme, _, ok := strings.Cut(address, "://")
	return ok && slices.Contains(schemes, strings.ToLower(scheme))
}

// canNameFiles reports whether an address is of an engine whose server can name the contents of its files.
func canNameFiles(address string) bool {
	for _, e := range engine.All() {
		if e.FileNames != nil && hasScheme(address, e.Source.Schemes) {
			return true
		}
	}
	return false
}

// fileHintsMax is the maximum number of files whose contents a trace explains.
const fileHintsMax = 3

// fileHints explains how to find out what the files that blocked calls most contain, if their names do
// not say it.
func fileHints(r *chain.Report) (out []string) {
	for _, b := range r.Behind {
		for _, e := range engine.All() {
			if e.FileHint == nil || len(out) == fileHintsMax {
				continue
			}
			if b.Culprit.Holds != "" {
				continue
			}
			if hint := e.FileHint(b.Culprit.File); hint != "" && !slices.Contains(out, hint) {
				out = append(out, hint)
			}
		}
	}
	return out
}

// writePerfetto writes the worst calls and the requests on their disks.
func (o *traceOptions) writePerfetto(r *chain.Report, b *events.Batch) error {
	if o.perfetto == "" {
		return nil
	}

	// Only requests around the worst calls: a whole trace is too large for the viewer.
	w := chain.NewWindow(r.Header)
	w.Add(b)
	seen := map[int64]bool{}

	var requests []events.Request
	for i := range r.Worst {
		for _, q := range w.Around(&r.Worst[i].Call) {
			if !seen[q.First] {
				seen[q.First] = true
				requests = append(requests, q)
			}
		}
	}

	f, err := safefile.Create(o.perfetto, safefile.Options{New: !o.force})
	if err != nil {
		return fmt.Errorf("--perfetto: %w", err)
	}

	if err := perfetto.Write(f, r.Header, r.Worst, requests, w.Label); err != nil {
		return errors.Join(fmt.Errorf("--perfetto: %w", err), f.Discard())
	}

	return f.Commit()
}
