package httpclient

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// afterMax is the default bound of the wait that a server may ask for.
const afterMax = 30 * time.Second

// A DeferredError is the error of a request that may succeed later: the server is busy, restarting
// or throttling.
type DeferredError struct {
	Err   error
	After time.Duration // the wait that the server asks for; 0 if it does not say
}

func (e *DeferredError) Error() string { return e.Err.Error() }
func (e *DeferredError) Unwrap() error { return e.Err }

// A Retry says how often and for how long a deferred request is retried.
type Retry struct {
	// Attempts bounds the requests, including the first one; 0 means that only Patience does.
	Attempts int
	// Patience bounds the time until the last attempt begins; 0 means that only Attempts does.
	Patience time.Duration
	// Wait is the time before the second attempt. It doubles for each further attempt, up to Most
	// (0 means half a minute). A longer wait that the server asks for is respected, up to Most.
	Wait, Most time.Duration
	// Pause replaces the wait after an attempt, counted from 1, in tests.
	Pause func(attempt int) time.Duration
}

// Do makes a request until its error is not a [DeferredError]. After the last attempt, it returns
// the error inside.
func (r Retry) Do(ctx context.Context, request func(context.Context) error) error {
	begun, wait := time.Now(), r.Wait
	most := r.Most
	if most == 0 {
		most = afterMax
	}

	for attempt := 1; ; attempt++ {
		err := request(ctx)
		var later *DeferredError
		if !errors.As(err, &later) {
			return err
		}

		pause := min(max(wait, later.After), most)
		if r.Pause != nil {
			pause = r.Pause(attempt)
		}

		// No pause is started that would exceed the patience.
		if r.Attempts > 0 && attempt >= r.Attempts || r.Patience > 0 && time.Since(begun)+pause > r.Patience {
			return later.Err
		}

		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}

		wait = min(2*wait, most)
	}
}

// RetryAfter returns the wait that an answer asks for, or 0. HTTP allows seconds and dates (RFC
// 9110, 10.2.3).
func RetryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if s, err := strconv.ParseInt(text, 10, 32); err == nil {
		return max(0, time.Duration(s)*time.Second)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// An Answer has the status of the last answer to a request. It is safe for concurrent use.
type Answer struct {
	status atomic.Int32
	after  atomic.Int64
}

func (a *Answer) set(resp *http.Response) {
	a.status.Store(int32(resp.StatusCode)) //nolint:gosec // three digits
	a.after.Store(int64(RetryAfter(resp.Header, time.Now())))
}

// Status returns the status, or 0 if there was no answer.
func (a *Answer) Status() int { return int(a.status.Load()) }

// After returns the wait that the answer asks for.
func (a *Answer) After() time.Duration { return time.Duration(a.after.Load()) }
