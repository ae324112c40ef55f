package recording

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"

	"plimsoll/internal/record/httpclient"
)

const (
	// objectsMax bounds the JSON objects of one answer, mostly series.
	objectsMax = 500_000
	// namesBytesMax and listBytesMax bound the answers that list names and series.
	namesBytesMax = 16 << 20
	listBytesMax  = 32 << 20
	// largeBytes is the size above which answers of all servers are decoded largeTurns at a time,
	// because they take several times their size in memory.
	largeBytes = 8 << 20
	largeTurns = 2
	// silentTimeout bounds a request to a server that did not answer the previous one in time.
	silentTimeout = 10 * time.Second
)

// largeAnswers is shared by all servers of a command, so that many servers take no more memory than
// one.
var largeAnswers = httpclient.NewTurns(largeBytes, largeTurns)

// tooLarge is the hint for an answer over its bounds.
const tooLarge = "request fewer series, a shorter time or a longer step"

// call makes a request within the bounds on time and concurrency, retries it if the server defers
// it, and explains its error.
func (r *Server) call(ctx context.Context, f func(context.Context) error) error {
	retry := httpclient.Retry{Attempts: 1 + max(0, r.opt.Retries), Wait: r.opt.RetryWait}
	return retry.Do(ctx, func(ctx context.Context) error { return r.callOnce(ctx, r.opt.Timeout, f) })
}

func (r *Server) callOnce(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}

	// A silent server is abandoned quickly, even if the first missing answer was not necessary.
	if r.silent.Load() {
		limit = min(limit, silentTimeout)
	}

	a := new(httpclient.Answer)
	limited, cancel := context.WithTimeout(httpclient.WithAnswer(ctx, a), limit)
	defer cancel()

	// Large answers are decoded one at a time.
	turn, end := r.turns.Begin(limited)
	defer end()

	err := f(turn)
	r.silent.Store(err != nil && ctx.Err() == nil && limited.Err() != nil)
	if err == nil {
		return nil
	}

	if ended := ctx.Err(); ended != nil {
		return ended
	}

	failed := fmt.Errorf("prometheus %s: %w", r.name, explain(limited, r.auth, limit, a.Status(), err))
	kind, _ := answerOf(err)
	slow := kind == v1.ErrTimeout // a retry would be just as slow
	if limited.Err() == nil && !slow && (a.Status() == http.StatusTooManyRequests ||
		a.Status() == http.StatusServiceUnavailable) {
		return &httpclient.DeferredError{Err: failed, After: a.After()}
	}

	return failed
}

// explain says what a failed request means and what to do about it.
func explain(ctx context.Context, auth httpclient.Credentials, limit time.Duration, status int,
	err error) error {
	var large *httpclient.TooLargeError
	if errors.As(err, &large) {
		return large
	}

	if ctx.Err() != nil {
		return fmt.Errorf("no response within %s: request a shorter time or fewer series", limit)
	}

	var apiErr *v1.Error
	isAPI := errors.As(err, &apiErr)

	kind, words := answerOf(err)
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return denied(auth, status)
	case isAPI && wantsTLS(status, apiErr.Detail+apiErr.Msg):
		return errWantsTLS
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		return fmt.Errorf("%s: no Prometheus API at this address: give the base URL, without /api/v1",
			statusText(status))
	case kind == v1.ErrTimeout:
		return fmt.Errorf("the server aborted the query (%s): request a shorter time or fewer series, or raise the server's limit (Prometheus: --query.timeout)",
			words)
	case status == http.StatusTooManyRequests:
		return fmt.Errorf("%s: %s; retried several times: allow fewer concurrent requests (--parallel), or try again later",
			statusText(status), words)
	case isAPI && apiErr.Type == v1.ErrExec && status == http.StatusUnprocessableEntity:
		return fmt.Errorf("the server cannot answer the query (%s): if this is one of its limits, request a shorter time or fewer series",
			words)
	case isAPI && apiErr.Type == v1.ErrBadResponse:
		return errors.New("the response is not JSON of the Prometheus API: give the base URL, without /api/v1")
	case isAPI && (apiErr.Type == v1.ErrClient || apiErr.Type == v1.ErrServer):
		return fmt.Errorf("%s: %s", statusText(status), words)
	case isAPI:
		return fmt.Errorf("%s: %s", apiErr.Type, apiErr.Msg)
	}

	err = httpclient.Cause(err)
	if better := httpclient.Untrusted(err); better != nil {
		return better
	}

	// The server was reached if it sent a status. Its response may still be cut off, or be JSON of
	// another format, which the library describes in terms of its decoder.
	var network *net.OpError
	switch {
	case status == 0, errors.As(err, &network) && network.Op == "dial": // dials again after a redirect
		return fmt.Errorf("cannot reach the server: %w", err)
	case errors.As(err, &network), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("the connection broke in the middle of the response: check the server's log and proxies in between")
	}

	return errors.New("the response is JSON, but not of the Prometheus API: give the base URL, without /api/v1")
}

// answerOf returns the kind of error in a server's answer, and the first line of its text. The
// library parses the JSON only for some status codes.
func answerOf(err error) (kind v1.ErrorType, words string) {
	var apiErr *v1.Error
	if !errors.As(err, &apiErr) {
		return "", firstLine(err.Error())
	}

	var body struct {
		Kind  v1.ErrorType `json:"errorType"`
		Error string       `json:"error"`
	}

	switch {
	case apiErr.Detail == "":
		return apiErr.Type, firstLine(apiErr.Msg)
	case json.Unmarshal([]byte(apiErr.Detail), &body) == nil && body.Error != "":
		return body.Kind, firstLine(body.Error)
	}

	return apiErr.Type, firstLine(apiErr.Detail)
}

func statusText(status int) string {
	return strings.TrimSpace(fmt.Sprintf("HTTP status %d %s", status, http.StatusText(status)))
}

// firstLine returns the beginning of a server's own text.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	const most = 200
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "..."
	}
	return line
}
