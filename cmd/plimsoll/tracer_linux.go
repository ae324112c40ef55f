package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/trace"
	"plimsoll/internal/trace/chain"
	"plimsoll/internal/trace/series"
	"plimsoll/internal/trace/target"
	"plimsoll/internal/watch"
)

// A tracer traces this machine for other verbs.
type tracer struct{ slower time.Duration }

func newTracer(slower time.Duration) watch.Tracer { return tracer{slower} }

// Available implements [watch.Tracer].
func (tracer) Available() error { return trace.Available() }

// Trace implements [watch.Tracer].
func (t tracer) Trace(ctx context.Context, programs []string, lasts time.Duration) (*recording.Batch, error) {
	choice, err := choose(programs)
	if err != nil {
		return nil, err
	}

	collect := newCollector()
	began := time.Now()
	_, err = trace.Run(ctx, trace.Options{Target: choice, For: lasts, Slower: t.slower,
		Each: func(c *chain.Chain, end time.Time) {
			if int(c.Call.PID) != os.Getpid() { // the ring's own writes stall no client
				collect.Add(c, end)
			}
		}})
	if err != nil {
		return nil, err
	}

	return collect.Batch(series.Trace{Target: choice.String(), Slower: t.slower}, began, time.Now()), nil
}

// choose returns the first program that runs on this machine; without programs, all processes.
func choose(programs []string) (target.Choice, error) {
	// Without a known program, every process that waits for the disks matters.
	if len(programs) == 0 {
		return target.Choice{All: true}, nil
	}
	for _, p := range programs {
		if c := (target.Choice{Command: p}); target.Runs(c) {
			return c, nil
		}
	}
	return target.Choice{}, fmt.Errorf("no %s runs on this machine: trace where the database does",
		strings.Join(programs, " or "))
}
