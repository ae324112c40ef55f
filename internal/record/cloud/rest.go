package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"plimsoll/internal/base/jsonerror"
	"plimsoll/internal/record/httpclient"
)

const (
	// attemptsMax bounds the attempts of a request while the provider throttles or fails.
	attemptsMax = 6
	// answerWithin, answerBytesMax and answerObjectsMax bound one answer.
	answerWithin     = 30 * time.Second
	answerBytesMax   = 64 << 20
	answerObjectsMax = 2_000_000
	// redirectsMax bounds the redirects of a request.
	redirectsMax = 5
	// waitMost bounds the wait before the next attempt, even if the provider asks for a longer one.
	waitMost = 20 * time.Second
)

// A REST reads JSON from a provider's API with a bearer token.
type REST struct {
	// Token returns the token of a request.
	Token func(ctx context.Context) (string, error)
	Bill  *Bill
	// Client replaces the default HTTP client if it is not nil.
	Client *http.Client
	// Wait replaces the wait after an attempt, counted from 1; nil means that it starts at a second
	// and doubles.
	Wait func(attempt int) time.Duration

	once   sync.Once
	client *http.Client
}

// A StatusError is an error status of a provider.
type StatusError struct {
	Status  int
	Code    string // the provider's own: "AuthorizationFailed", "PERMISSION_DENIED"
	Message string
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message)
}

// Throttled reports whether the provider refused the request because of its rate limits.
func (e *StatusError) Throttled() bool { return e.Status == http.StatusTooManyRequests }

// NewClient returns a client whose answers are bounded. It uses base's transport, or Go's own if
// base is nil.
func NewClient(base *http.Client) *http.Client {
	o := httpclient.Options{Redirects: redirectsMax,
		Most: httpclient.Bounds{Bytes: answerBytesMax, Objects: answerObjectsMax}}
	if base != nil {
		o.Base = base.Transport
	}
	return httpclient.New(o)
}

// Get reads a URL. It retries with growing waits while the provider throttles or fails. The error
// of an answer with an error status is a [StatusError].
func (r *REST) Get(ctx context.Context, url string, into any) error {
	r.once.Do(func() { r.client = NewClient(r.Client) })
	retry := httpclient.Retry{Attempts: attemptsMax, Wait: time.Second, Most: waitMost, Pause: r.Wait}
	return retry.Do(ctx, func(ctx context.Context) error { return r.get(ctx, url, into) })
}

// get sends one request.
func (r *REST) get(ctx context.Context, url string, into any) error {
	// The deadline includes getting a token, which may need a request itself.
	limited, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	token, err := r.Token(limited)
	if err != nil {
		return err
	}

	request, err := http.NewRequestWithContext(limited, http.MethodGet, url, nil)
	if err != nil {
		return err
	}

	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := r.client.Do(request)
	if err != nil {
		return noAnswer(ctx, request, err)
	}

	defer answer.Body.Close()
	// Counted regardless of the status, because a refused request also uses up quota.
	r.Bill.Call(1)

	text, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		return noAnswer(ctx, request, err)
	case answer.StatusCode == http.StatusOK:
		return jsonerror.Explain(text, json.Unmarshal(text, into))
	}

	refused := refusalOf(answer.StatusCode, text)
	if refused.Throttled() {
		r.Bill.Throttle()
	}

	// Only these errors are temporary; any other answer will be the same next time.
	if refused.Throttled() || refused.Status >= http.StatusInternalServerError {
		return &httpclient.DeferredError{Err: refused, After: httpclient.RetryAfter(answer.Header, time.Now())}
	}

	return refused
}

// noAnswer names the server in the error of a request without an answer, or with one that is too
// large.
func noAnswer(ctx context.Context, to *http.Request, err error) error {
	err = httpclient.Cause(err)
	// The caller cancelled or ran out of time: that is not the server's fault.
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: no answer within %s: check the network, proxies and firewalls", to.URL.Host,
			answerWithin)
	}
	return fmt.Errorf("%s: %w", to.URL.Host, err)
}

// refusalOf parses the body of an error. Azure has the code as a word, some of its services at the
// top level; Google has the status as a word.
func refusalOf(status int, text []byte) *StatusError {
	type detail struct {
		Code    any    `json:"code"`
		Status  string `json:"status"`
		Message string `json:"message"`
	}

	var found struct {
		detail
		Error detail `json:"error"`
	}

	out := &StatusError{Status: status, Code: http.StatusText(status)}
	if json.Unmarshal(text, &found) != nil {
		return out
	}

	// Most services nest the error; some have it at the top level.
	for _, d := range []detail{found.Error, found.detail} {
		if word, ok := d.Code.(string); ok {
			out.Code, out.Message = word, d.Message
			break
		}
		if d.Status != "" {
			out.Code, out.Message = d.Status, d.Message
			break
		}
	}

	return out
}
