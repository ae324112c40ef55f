//go:build linux

package buckets

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"plimsoll/internal/base/units"
	wiredtigermodel "plimsoll/internal/engine/mongodb/model"
	wiredtiger "plimsoll/internal/engine/mongodb/worker"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/blockdev"
	"plimsoll/internal/lab/mount"
	"plimsoll/internal/model/scenario"
)

// Scenario is the volume and the engine for the measurement. Config.Sets change it.
//
//go:embed scenario.yaml
var Scenario []byte

// scenarioName is the file name in errors about assignments.
const scenarioName = "buckets.yaml"

// closing is the time limit for the engine to shut down, on volumes that are no longer slowed down.
const closing = 30 * time.Second

// Run measures all granularities. It leaves nothing behind, even after an error or a cancelled
// context.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	if err := Check(&cfg).Err(); err != nil {
		return nil, err
	}

	sc, err := cfg.Language.NewFile(scenarioName, Scenario).Parse(cfg.Sets)
	if err != nil {
		return nil, err
	}

	if scenario.ConfigOf[*wiredtigermodel.Config](sc) == nil {
		return nil, errors.New("buckets can only be measured on WiredTiger: --set cannot choose another engine")
	}

	if _, err := wiredtiger.NewBench(*scenario.ConfigOf[*wiredtigermodel.Config](sc), false); err != nil {
		return nil, err
	}

	if err := blockdev.Available(); err != nil {
		return nil, err
	}

	result := &Result{Version: 1, Sensors: cfg.Sensors, Cores: runtime.NumCPU(), Rows: []Row{}}
	if cfg.Progress == nil {
		cfg.Progress = func(string, int, int) {}
	}

	// Two concurrent runs would compete for the cores and distort each other.
	unlock, err := mount.Lock(ctx, "lab-run",
		func() { cfg.Progress("waiting for another run on this machine to end", 0, 0) })
	if err != nil {
		return nil, err
	}

	defer unlock()
	var rows []Row
	for _, n := range cfg.Entries {
		rows = append(rows, rowOf(n, true))
		if differs(n) {
			rows = append(rows, rowOf(n, false))
		}
	}

	for i := range rows {
		cfg.Progress(fmt.Sprintf("measuring buckets of %d readings, %s: row", rows[i].Entries, rows[i].Written()),
			i+1, len(rows))
		if err := measure(ctx, &cfg, sc, result, &rows[i]); err != nil {
			return nil, fmt.Errorf("buckets of %d readings: %w", rows[i].Entries, err)
		}
	}

	result.Rows = rows
	result.Notes = notes(result)
	return result, nil
}

// differs reports whether mongod passes on only the difference of a push into a document with up to
// that many readings: if the document is over 1 KiB and the change at most a tenth of it.
func differs(n int) bool { return size(n) > units.KiB && 10*Entry <= size(n) }

func size(entries int) units.Size { return Entry * units.Size(entries) }

// Written is how a push is passed to the engine, for display.
func (r *Row) Written() string {
	if r.Whole {
		return "whole"
	}
	return "difference"
}

// rowOf is the part of a row that is known without measuring.
func rowOf(n int, whole bool) Row {
	span := Interval * units.Duration(n)
	row := Row{
		Entries: n, SpanSeconds: span.Std().Seconds(), Whole: whole, DocumentBytes: int64(size(n)),
		DocumentsPerDay: Sensors * int64(day) / int64(span),
		DayDocuments:    (int64(day) + int64(span) - 1) / int64(span),
	}
	if p, ok := published[n]; ok {
		row.Published = &p
	}
	return row
}

// measure fills in a row, on a separate machine.
func measure(ctx context.Context, cfg *Config, sc *scenario.Scenario, r *Result, row *Row) (err error) {
	m, err := mount.Start(ctx, mount.Options{File: scenarioName, Text: Scenario, Sets: cfg.Sets,
		Command: cfg.Daemon, Log: cfg.Log})
	if err != nil {
		return err
	}

	server, err := wiredtiger.NewBench(*scenario.ConfigOf[*wiredtigermodel.Config](sc), row.Whole)
	if err == nil {
		b := &bench{cfg: cfg, sc: sc, mount: m, server: server, row: row}
		err = b.run(ctx, r)
	}

	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
	defer cancel()
	closed := []error{m.Pace(end, false)} // flushing dirty pages need not take the volume's time

	if server != nil {
		closed = append(closed, server.Crash()) // its files are not needed afterwards
	}

	closed = append(closed, m.Close(end, true))
	if err != nil {
		return err
	}

	return errors.Join(closed...)
}

// A bench is an emulated machine with its engine.
type bench struct {
	cfg    *Config
	sc     *scenario.Scenario
	mount  *mount.Machine
	server *wiredtiger.Bench
	row    *Row
}

func (b *bench) run(ctx context.Context, result *Result) error {
	if err := b.mount.Pace(ctx, false); err != nil {
		return err
	}

	machine := &lab.Machine{Dirs: b.mount.Dirs, Devices: b.mount.Devices, Scratch: b.mount.Scratch,
		Scenario: b.sc, Log: b.cfg.Log}
	if err := b.server.Start(ctx, machine, nil); err != nil {
		return err
	}

	if err := b.lay(ctx); err != nil {
		return err
	}

	if err := b.mount.Pace(ctx, true); err != nil {
		return err
	}

	path, err := b.path(ctx)
	if err != nil {
		return err
	}

	for _, s := range segments(b.row.Entries) {
		if err := b.segment(ctx, s); err != nil {
			return err
		}
	}

	if err := b.sustained(ctx); err != nil {
		return err
	}

	s, err := b.mount.Status(ctx)
	if err != nil {
		return err
	}

	v := s.Volumes[0]
	result.Server, result.Volume, result.Saturated = b.server.Describe(), v.Gives, result.Saturated ||
		v.Saturated
	if v.Refused > 0 {
		return fmt.Errorf("%d writes failed because memory for the volume's image ran out: measure fewer sensors",
			v.Refused)
	}

	// The lowest median is the least disturbed one.
	if result.Path == 0 || path < result.Path {
		result.Path = path
	}

	return nil
}

// notes are the caveats of a table.
func notes(r *Result) []string {
	out := []string{
		fmt.Sprintf(
			"Scaled down: %d sensors instead of %d; a checkpoint after every %d readings of a sensor, which represent 60 s regardless of how fast they are made. "+
				"Figures per day are computed for %d sensors.", r.Sensors, Sensors, CheckpointRounds, Sensors),
		fmt.Sprintf("A push does not wait for the journal (w: 1). Its time includes the path to the engine and back, %s for an operation that does nothing; mongod adds BSON and the network.",
			units.Seconds(r.Path)),
	}

	if slices.ContainsFunc(r.Rows, func(row Row) bool { return !differs(row.Entries) }) {
		out = append(out, "Documents of up to 1 KiB are passed on whole: there is no difference to measure.")
	}

	if r.Saturated {
		out = append(
			out, "The emulator could not keep up on this machine, so pushes per second are too low.")
	}

	return out
}
