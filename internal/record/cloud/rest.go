package cloud

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

const (
	// attemptsMax bounds how often a request is tried while the provider throttles or fails.
	attemptsMax = 6
	// answerWithin and answerBytesMax bound one answer.
	answerWithin   = 30 * time.Second
	answerBytesMax = 64 << 20
	// waitMost bounds the wait before the next attempt, also where the provider names a longer one.
	waitMost = 20 * time.Second
)

// A REST reads JSON from a provider's API with a bearer token.
type REST struct {
	// Token returns the token of a request.
	Token func(ctx context.Context) (string, error)
	Bill  *Bill
	// Client replaces the HTTP client; nil is the default one.
	Client *http.Client
	// Wait replaces the wait after an attempt, counted from 1; nil doubles from a second.
	Wait func(attempt int) time.Duration
}

// A StatusError is a provider's refusal.
type StatusError struct {
	Status  int
	Code    string // the provider's own: "AuthorizationFailed", "PERMISSION_DENIED"
	Message string
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message)
}

// Throttled reports whether the provider refused because there were too many requests.
func (e *StatusError) Throttled() bool { return e.Status == http.StatusTooManyRequests }

// Get reads a URL, again with growing waits where the provider throttles or fails. The error of an
// answer is a [StatusError].
func (r *REST) Get(ctx context.Context, url string, into any) error {
	for attempt := 1; ; attempt++ {
		refused, wait, err := r.once(ctx, url, into)
		if err != nil || refused == nil {
			return err
		}
		if refused.Throttled() {
			r.Bill.Throttle()
		}
		if attempt == attemptsMax || !refused.Throttled() && refused.Status < http.StatusInternalServerError {
			return refused
		}
		if wait == 0 {
			wait = time.Second << (attempt - 1)
		}
		if r.Wait != nil {
			wait = r.Wait(attempt)
		}
		select {
		case <-time.After(min(wait, waitMost)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// once sends a request; wait is how long the provider asks to wait, 0 if it does not say.
func (r *REST) once(ctx context.Context, url string, into any) (refused *StatusError, wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	token, err := r.Token(ctx)
	if err != nil {
		return nil, 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, 0, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	client := r.Client
	if client == nil {
		client = http.DefaultClient
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer answer.Body.Close()
	r.Bill.Call(1)
	text, err := io.ReadAll(io.LimitReader(answer.Body, answerBytesMax+1))
	switch {
	case err != nil:
		return nil, 0, err
	case len(text) > answerBytesMax:
		return nil, 0, fmt.Errorf("the answer has more than %d MiB", answerBytesMax>>20)
	case answer.StatusCode == http.StatusOK:
		return nil, 0, json.Unmarshal(text, into)
	}
	if s, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && s > 0 {
		wait = time.Duration(s) * time.Second
	}
	return refusalOf(answer.StatusCode, text), wait, nil
}

// refusalOf reads an error: Azure has a code in words, some of its services at the top level; Google
// has a status in words.
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
