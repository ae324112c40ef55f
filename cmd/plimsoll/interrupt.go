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
	return &failure{code: exitInterrupted,
		err: errors.New("interrupted; " + what + " what was sampled until then")}
}
