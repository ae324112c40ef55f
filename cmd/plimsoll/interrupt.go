package main

import (
	"context"
	"errors"
	"time"
)

// lastWork is how long an interrupted command may continue to work on the data that it has. It is less
// than endWithin, so that it can also print the result.
const lastWork = time.Second

// afterReading returns the context for work on samples that were read. An interrupted live source
// ends without an error, and its samples are worth a result: computing it gets a short deadline of
// its own. Work that is itself interrupted ends immediately.
func afterReading(ctx context.Context) (context.Context, context.CancelFunc) {
	if !interrupted(ctx) {
		return ctx, func() {}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), lastWork)
}

// interrupted reports whether a signal ended a context, rather than a deadline.
func interrupted(ctx context.Context) bool { return errors.Is(ctx.Err(), context.Canceled) }

// partial is the error of an interrupted command that has printed a partial result.
func partial(ctx context.Context, what string) error {
	if !interrupted(ctx) {
		return ctx.Err()
	}
	return failf(exitInterrupted, "", "interrupted; %s what was sampled until then", what)
}

// unlessInterrupted returns what f does, or the end of ctx: a pipe that is opened or read may block forever.
func unlessInterrupted[T any](ctx context.Context, f func() (T, error)) (out T, err error) {
	type result struct {
		value T
		err   error
	}

	// The buffer lets the goroutine end after an interrupt.
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()

	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return out, ctx.Err()
	}
}
