//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/base/diagnostics"
	"plimsoll/internal/base/units"
	"plimsoll/internal/engine/mongodb/buckets"
)

// labBucketsOptions are those of `plimsoll lab buckets`.
type labBucketsOptions struct {
	output    choice
	entries   []int
	sensors   int
	sustained time.Duration
	sets      []string
	verbose   bool
}

func newLabBucketsCommand(a *app) *cobra.Command {
	o := &labBucketsOptions{}
	cmd := &cobra.Command{
		Use:  "buckets",
		Args: needArgs(0, 0, "buckets are chosen by --entries"),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), a) },
	}
	d := buckets.Defaults()
	addOutput(cmd, &o.output)
	f := cmd.Flags()
	f.IntSliceVar(&o.entries, "entries", d.Entries, "readings of a full document, for each granularity: 12 are a minute")
	f.IntVar(&o.sensors, "sensors", d.Sensors, "documents that are pushed to")
	f.DurationVar(&o.sustained, "sustained", d.Sustained.Std(), "how long 32 writers push for pushes a second")
	f.StringArrayVar(&o.sets, "set", nil, "change a value: volumes.data.iops=16000 (again for more)")
	f.BoolVar(&o.verbose, "verbose", false, "print what the engine prints, on stderr")
	for _, name := range []string{"entries", "sensors", "sustained", "set"} {
		complete(cmd, name)
	}
	return cmd
}

func (o *labBucketsOptions) run(ctx context.Context, a *app) error {
	if err := a.useCatalog(); err != nil {
		return err
	}
	t := &tally{}
	cfg := buckets.Config{
		Language: language(),
		Entries:  o.entries, Sensors: o.sensors, Sustained: units.Duration(o.sustained), Sets: o.sets,
		Progress: t.setStage,
	}
	if o.verbose {
		cfg.Log = func(line string) { fmt.Fprintf(a.stderr, "plimsoll: %s\n", printable(line)) }
	}
	if err := cfg.Check().Err(); err != nil {
		return usagef("", "lab buckets: %w", err)
	}
	if err := sweep(a); err != nil {
		return err
	}
	stop := a.meter(t).show()
	r, err := buckets.Run(ctx, cfg)
	stop()
	var wrong diagnostics.List
	switch {
	case errors.As(err, &wrong):
		return usagef("", "lab buckets: %w", err)
	case err != nil:
		return asProblem(err)
	}
	if o.output.value == "json" {
		return writeJSON(a, map[string]any{"buckets": r, "corrections": buckets.Corrections()})
	}
	return writeBuckets(a.stdout, r)
}

// bucketColumns is how wide lines of text are beside the tables.
const bucketColumns = 100

// writeBuckets writes the table as a page of text.
func writeBuckets(w io.Writer, r *buckets.Result) error {
	var page strings.Builder
	fmt.Fprintf(&page, "Buckets in %s on %s; a reading of %s each %s\n\n", r.Server, strings.Join(r.Volume, "; "), buckets.Entry.Exact(), buckets.Interval.Std())
	rows := func(head string, cells func(*buckets.Row) []string) {
		t := tabwriter.NewWriter(&page, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(t, head+"\t")
		for i := range r.Rows {
			if all := cells(&r.Rows[i]); all != nil {
				fmt.Fprintln(t, strings.Join(append([]string{span(&r.Rows[i])}, all...), "\t")+"\t")
			}
		}
		_ = t.Flush() // to memory
		page.WriteByte('\n')
	}
	rows("BUCKET\twritten\tdocument\tpush, p50 / p99: first\thalf\tfull\tpublished", pushCells)
	rows("BUCKET\twritten\tto the volume a push: first\thalf\tfull\twrites a push, full\tpushes/s", volumeCells)
	last := 0
	rows("BUCKET\tdocuments a day\tstorage a day\tpublished\ta day of one sensor reads\tat a leaf each", func(row *buckets.Row) []string {
		if row.Entries == last {
			return nil // by the day it is the same, however pushes are written
		}
		last = row.Entries
		return dayCells(row)
	})
	text := simulateText{width: bucketColumns}
	for _, note := range r.Notes {
		text.para("- ", note)
	}
	text.line("")
	text.para("", "Published is case 4's (plimsoll casebook bucket-granularity), on hardware that it does not tell. What is wrong in it:")
	for _, c := range buckets.Corrections() {
		text.para("- ", c)
	}
	_, err := io.WriteString(w, page.String()+text.b.String())
	return err
}

func pushCells(row *buckets.Row) []string {
	said := "-"
	if p := row.Published; p != nil {
		said = fmt.Sprintf("%s at %d", units.Seconds(p.Push), p.PushEntries)
	}
	return []string{row.Written(), units.Bytes(float64(row.DocumentBytes)), pushText(row, "first"), pushText(row, "half"), pushText(row, "full"), said}
}

func volumeCells(row *buckets.Row) []string {
	requests := "-"
	if f := fillOf(row, "full"); f != nil {
		requests = units.Number(f.Requests)
	}
	return []string{row.Written(), bytesText(row, "first"), bytesText(row, "half"), bytesText(row, "full"), requests, units.Number(row.PushesPerSecond)}
}

func dayCells(row *buckets.Row) []string {
	said := "-"
	if p := row.Published; p != nil && p.StoragePerDay > 0 {
		said = units.Bytes(float64(p.StoragePerDay))
	}
	return []string{whole(row.DocumentsPerDay), units.Bytes(row.StoragePerDay), said, whole(row.DayDocuments) + " documents", units.Bytes(float64(row.DayBytes))}
}

// span is what a bucket spans: "5 min".
func span(row *buckets.Row) string {
	if s := int(row.SpanSeconds); s%60 == 0 {
		return strconv.Itoa(s/60) + " min"
	}
	return units.Seconds(row.SpanSeconds)
}

func fillOf(row *buckets.Row, name string) *buckets.Fill {
	for i := range row.Fills {
		if row.Fills[i].Name == name {
			return &row.Fills[i]
		}
	}
	return nil
}

func pushText(row *buckets.Row, fill string) string {
	f := fillOf(row, fill)
	if f == nil {
		return "-"
	}
	return units.Seconds(f.P50) + " / " + units.Seconds(f.P99)
}

func bytesText(row *buckets.Row, fill string) string {
	f := fillOf(row, fill)
	if f == nil {
		return "-"
	}
	return units.Bytes(f.PerPush)
}
