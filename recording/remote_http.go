package recording

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
)

// transport adds what each request needs and bounds what comes back.
type transport struct {
	base          http.RoundTripper
	scheme, host  string
	authorization string
	header        http.Header
	maxBytes      int64
}

// statusKey finds the place in a request's context that its HTTP status goes to.
type statusKey struct{}

// limitKey finds a bound in a request's context that is lower than the transport's.
type limitKey struct{}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	if req.URL.Host == t.host && req.URL.Scheme == t.scheme { // not where a redirect leads
		for name, values := range t.header {
			req.Header[http.CanonicalHeaderKey(name)] = values
		}
		if t.authorization != "" {
			req.Header.Set("Authorization", t.authorization)
		}
	}
	req.Header.Set("User-Agent", "plimsoll")
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if status, ok := req.Context().Value(statusKey{}).(*atomic.Int32); ok {
		status.Store(int32(resp.StatusCode))
	}
	limit := t.maxBytes
	if least, ok := req.Context().Value(limitKey{}).(int64); ok {
		limit = min(limit, least)
	}
	resp.Body = &boundedBody{ReadCloser: resp.Body, left: limit, max: limit}
	return resp, nil
}

// boundedBody ends with an error where an answer is larger than it may be.
type boundedBody struct {
	io.ReadCloser
	left, max int64
}

// answerTooLarge is the error of an answer over [RemoteOptions] MaxBytes.
type answerTooLarge struct{ max int64 }

func (e *answerTooLarge) Error() string {
	return fmt.Sprintf("the answer is larger than %d bytes: ask for fewer series, a shorter time or a longer step", e.max)
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, &answerTooLarge{b.max}
	}
	return n, err
}

// call makes one request within the bounds on time and number, and tells its error clearly.
func (r *remote) call(ctx context.Context, f func(context.Context) error) error {
	return r.callWithin(ctx, r.opt.Timeout, f)
}

func (r *remote) callWithin(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	status := new(atomic.Int32)
	limited, cancel := context.WithTimeout(context.WithValue(ctx, statusKey{}, status), limit)
	defer cancel()
	err := f(limited)
	if err == nil {
		return nil
	}
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	return fmt.Errorf("prometheus %s: %w", r.name, explain(limited, limit, int(status.Load()), err))
}

// explain says what a failed request means and what to do.
func explain(ctx context.Context, limit time.Duration, status int, err error) error {
	var large *answerTooLarge
	if errors.As(err, &large) {
		return large
	}
	if ctx.Err() != nil {
		return fmt.Errorf("no answer within %s: ask for a shorter time or fewer series", limit)
	}
	var told *v1.Error
	isAPI := errors.As(err, &told)
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return fmt.Errorf("%s: set user and password in the URL, or %s and %s, or %s",
			statusText(status), EnvUser, EnvPassword, EnvToken)
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		return fmt.Errorf("%s: there is no Prometheus API here: give the base URL, the one before /api/v1", statusText(status))
	case isAPI && told.Type == v1.ErrBadResponse:
		return errors.New("what it answered is not JSON of the Prometheus API: give the base URL, the one before /api/v1")
	case isAPI && (told.Type == v1.ErrClient || told.Type == v1.ErrServer):
		return fmt.Errorf("%s: %s", statusText(status), firstLine(told.Detail))
	case isAPI:
		return fmt.Errorf("%s: %s", told.Type, told.Msg)
	}
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err // the URL was told
	}
	if status == 0 {
		return fmt.Errorf("cannot be reached: %w", err)
	}
	return err
}

func statusText(status int) string {
	return strings.TrimSpace(fmt.Sprintf("HTTP status %d %s", status, http.StatusText(status)))
}

// firstLine is the start of a server's own words.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	const most = 200
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "..."
	}
	return line
}
