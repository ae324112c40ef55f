package cloud

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// reading returns a client of a server with the handler h.
func reading(t *testing.T, h http.HandlerFunc) (*REST, string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return &REST{Token: func(context.Context) (string, error) { return "s3cret", nil }, Bill: &Bill{}, Wait: func(int) time.Duration { return 0 }}, s.URL
}

// A response is cut off at its limits, in bytes and in decoded size.
func TestAnswersAreBounded(t *testing.T) {
	for text, want := range map[string]string{" ": "larger than 67108864 bytes", "{},": "larger than 2000000 JSON objects"} {
		r, at := reading(t, func(w http.ResponseWriter, _ *http.Request) {
			row := []byte(strings.Repeat(text, 1<<14))
			for {
				if _, err := w.Write(row); err != nil {
					return
				}
			}
		})
		var into any
		if err := r.Get(t.Context(), at, &into); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), strings.TrimPrefix(at, "http://")) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Throttled and failed requests are retried a few times; refused ones are not.
func TestAttempts(t *testing.T) {
	for status, want := range map[int]int{http.StatusTooManyRequests: attemptsMax, http.StatusBadGateway: attemptsMax, http.StatusForbidden: 1} {
		tries := 0
		r, at := reading(t, func(w http.ResponseWriter, _ *http.Request) {
			tries++
			http.Error(w, `{"error":{"code":"Denied","message":"no"}}`, status)
		})
		var refused *StatusError
		if err := r.Get(t.Context(), at, nil); !errors.As(err, &refused) || refused.Status != status || refused.Code != "Denied" || tries != want {
			t.Errorf("%d: %v after %d attempts", status, err, tries)
		}
	}
}

// A server that does not answer gets one request, and the error after half a minute names it.
func TestSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, tries := time.Now(), 0
		silent := roundTripper(func(req *http.Request) (*http.Response, error) {
			tries++
			<-req.Context().Done()
			return nil, req.Context().Err()
		})
		r := &REST{Token: func(context.Context) (string, error) { return "s3cret", nil }, Bill: &Bill{}, Client: &http.Client{Transport: silent}}
		err := r.Get(t.Context(), "https://management.example/x", nil)
		if err == nil || err.Error() != "management.example: no answer within 30s: check the network, proxies and firewalls" || tries != 1 || time.Since(begun) != answerWithin {
			t.Errorf("%v after %d attempts and %s", err, tries, time.Since(begun))
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
