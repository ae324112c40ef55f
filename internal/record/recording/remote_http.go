package recording

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
)

// transport adds what each request needs and bounds the answer.
type transport struct {
	base          http.RoundTripper
	scheme, host  string
	authorization identity
	header        http.Header
	maxBytes      int64
}

// An answer is the part of an HTTP answer that the request's context receives.
type answer struct {
	status     atomic.Int32
	retryAfter atomic.Int64 // seconds
}

// answerKey finds the answer in a request's context.
type answerKey struct{}

// limitKey finds a bound in a request's context that is lower than the transport's.
type limitKey struct{}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	// not to another server after a redirect
	if req.URL.Host == t.host && req.URL.Scheme == t.scheme {
		for name, values := range t.header {
			req.Header[http.CanonicalHeaderKey(name)] = values
		}
		switch who, err := t.authorization.authorization(); {
		case err != nil:
			return nil, err
		case who != "":
			req.Header.Set("Authorization", who)
		}
	}
	req.Header.Set("User-Agent", "plimsoll")
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if a, ok := req.Context().Value(answerKey{}).(*answer); ok {
		a.status.Store(int32(resp.StatusCode))
		if after, err := strconv.ParseInt(resp.Header.Get("Retry-After"), 10, 32); err == nil && after > 0 {
			a.retryAfter.Store(after)
		}
	}
	limit := t.maxBytes
	if least, ok := req.Context().Value(limitKey{}).(int64); ok {
		limit = min(limit, least)
	}
	resp.Body = &boundedBody{ReadCloser: resp.Body, left: limit, max: limit}
	return resp, nil
}

// A boundedBody fails if an answer is larger than allowed.
type boundedBody struct {
	io.ReadCloser
	left, max int64
}

// answerTooLarge is the error of an answer over [RemoteOptions] MaxBytes.
type answerTooLarge struct{ max int64 }

func (e *answerTooLarge) Error() string {
	return fmt.Sprintf("the response is larger than %d bytes: request fewer series, a shorter time or a longer step", e.max)
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, &answerTooLarge{b.max}
	}
	return n, err
}

// retryAfterMax bounds the wait that a server may ask for.
const retryAfterMax = 30 * time.Second

// call makes one request within the bounds on time and number, repeats it if the server defers it,
// and returns a clear error.
func (r *Server) call(ctx context.Context, f func(context.Context) error) error {
	wait := r.opt.RetryWait
	for tries := 0; ; tries++ {
		err := r.callOnce(ctx, r.opt.Timeout, f)
		var later *putOff
		if !errors.As(err, &later) || tries >= r.opt.Retries {
			return err
		}
		select {
		case <-time.After(max(wait, min(later.after, retryAfterMax))):
		case <-ctx.Done():
			return ctx.Err()
		}
		wait *= 2
	}
}

// putOff is the error of a request that the server wants to be retried later.
type putOff struct {
	err   error
	after time.Duration // given by the server, 0 if it is not
}

func (e *putOff) Error() string { return e.err.Error() }
func (e *putOff) Unwrap() error { return e.err }

func (r *Server) callOnce(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	a := new(answer)
	limited, cancel := context.WithTimeout(context.WithValue(ctx, answerKey{}, a), limit)
	defer cancel()
	err := f(limited)
	if err == nil {
		return nil
	}
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	status := int(a.status.Load())
	told := fmt.Errorf("prometheus %s: %w", r.name, r.who.explain(limited, limit, status, err))
	kind, _ := said(err)
	slow := kind == v1.ErrTimeout // a retry would be as slow
	if limited.Err() == nil && !slow && (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable) {
		return &putOff{err: told, after: time.Duration(a.retryAfter.Load()) * time.Second}
	}
	return told
}

// explain says what a failed request means and what to do.
func (i identity) explain(ctx context.Context, limit time.Duration, status int, err error) error {
	var large *answerTooLarge
	if errors.As(err, &large) {
		return large
	}
	if ctx.Err() != nil {
		return fmt.Errorf("no response within %s: request a shorter time or fewer series", limit)
	}
	var told *v1.Error
	isAPI := errors.As(err, &told)
	kind, words := said(err)
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return i.denied(status)
	case isAPI && wantsTLS(status, told.Detail+told.Msg):
		return errWantsTLS
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		return fmt.Errorf("%s: there is no Prometheus API here: give the base URL, the one before /api/v1", statusText(status))
	case kind == v1.ErrTimeout:
		return fmt.Errorf("the server aborted the query (%s): request a shorter time or fewer series, or raise the server's limit (Prometheus: --query.timeout)", words)
	case status == http.StatusTooManyRequests:
		return fmt.Errorf("%s: %s; retried several times: allow fewer concurrent requests (--parallel), or try later", statusText(status), words)
	case isAPI && told.Type == v1.ErrExec && status == http.StatusUnprocessableEntity:
		return fmt.Errorf("the server cannot answer the query (%s): if this is one of its limits, request a shorter time or fewer series", words)
	case isAPI && told.Type == v1.ErrBadResponse:
		return errors.New("the response is not JSON of the Prometheus API: give the base URL, the one before /api/v1")
	case isAPI && (told.Type == v1.ErrClient || told.Type == v1.ErrServer):
		return fmt.Errorf("%s: %s", statusText(status), words)
	case isAPI:
		return fmt.Errorf("%s: %s", told.Type, told.Msg)
	}
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err // the message already contains the URL
	}
	if better := untrusted(err); better != nil {
		return better
	}
	if status == 0 {
		return fmt.Errorf("cannot be reached: %w", err)
	}
	return err
}

// said returns the kind of error in a server's answer, and the first line of its text. The library
// reads the JSON for some status codes only.
func said(err error) (kind v1.ErrorType, words string) {
	var told *v1.Error
	if !errors.As(err, &told) {
		return "", firstLine(err.Error())
	}
	var body struct {
		Kind  v1.ErrorType `json:"errorType"`
		Error string       `json:"error"`
	}
	switch {
	case told.Detail == "":
		return told.Type, firstLine(told.Msg)
	case json.Unmarshal([]byte(told.Detail), &body) == nil && body.Error != "":
		return body.Kind, firstLine(body.Error)
	}
	return told.Type, firstLine(told.Detail)
}

func statusText(status int) string {
	return strings.TrimSpace(fmt.Sprintf("HTTP status %d %s", status, http.StatusText(status)))
}

// firstLine returns the start of a server's own text.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	const most = 200
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "..."
	}
	return line
}
