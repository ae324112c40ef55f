package httpclient

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// serve starts a server and returns its address.
func serve(t *testing.T, h http.HandlerFunc) *url.URL {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// read requests an address and reads the response.
func read(t *testing.T, ctx context.Context, c *http.Client, u *url.URL) (string, error) { //nolint:revive // t first
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// A limit applies to the decompressed size of a response, and nothing beyond it is read.
func TestBounds(t *testing.T) {
	packed := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		for {
			if _, err := z.Write([]byte(strings.Repeat(`{"a":1},`, 10_000))); err != nil {
				return
			}
		}
	})

	for name, c := range map[string]struct {
		most Bounds
		want string
	}{
		"bytes":   {Bounds{Bytes: 1 << 20, Hint: "ask for less"}, "the response is larger than 1048576 bytes: ask for less"},
		"objects": {Bounds{Bytes: 1 << 40, Objects: 1000}, "the response is larger than 1000 JSON objects"},
	} {
		_, err := read(t, t.Context(), New(Options{Most: c.most}), packed)
		if large := (*TooLargeError)(nil); !errors.As(err, &large) || err.Error() != c.want {
			t.Errorf("%s: %v, not %s", name, err, c.want)
		}
	}

	client := New(Options{Most: Bounds{Bytes: 1 << 30}})
	_, err := read(t, WithBounds(t.Context(), Bounds{Bytes: 10}), client, packed)
	if err == nil || !strings.Contains(err.Error(), "larger than 10 bytes") {
		t.Error(err)
	}
}

// A budget covers all responses together.
func TestBudget(t *testing.T) {
	at := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 40)) })
	ctx, client := WithBudget(t.Context(), NewBudget(Bounds{Bytes: 100})), New(Options{})
	for range 2 {
		if text, err := read(t, ctx, client, at); err != nil || len(text) != 40 {
			t.Fatal(len(text), err)
		}
	}
	if _, err := read(t, ctx, client, at); err == nil || err.Error() != "the response is larger than 100 bytes including the previous ones" {
		t.Error(err)
	}
}

// Large responses are read one after another; small ones are not delayed.
func TestTurns(t *testing.T) {
	size := map[string]int{"/large": 2000, "/small": 10}
	at := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(make([]byte, size[r.URL.Path])) })
	turns, client := NewTurns(1000, 1), New(Options{})
	first, end := turns.Begin(t.Context())

	if _, err := read(t, first, client, at.JoinPath("large")); err != nil {
		t.Fatal(err)
	}

	small, endSmall := turns.Begin(t.Context())
	defer endSmall()
	if _, err := read(t, small, client, at.JoinPath("small")); err != nil {
		t.Error(err)
	}

	done := make(chan error)
	go func() {
		second, endSecond := turns.Begin(t.Context())
		defer endSecond()
		_, err := read(t, second, client, at.JoinPath("large"))
		done <- err
	}()

	select {
	case err := <-done:
		t.Error("two large answers at the same time", err)
	default:
	}

	end()
	if err := <-done; err != nil {
		t.Error(err)
	}

	third, endThird := turns.Begin(t.Context())
	defer endThird()
	if _, err := read(t, third, client, at.JoinPath("large")); err != nil {
		t.Fatal(err)
	}

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (&turn{Turns: turns}).wait(ended); !errors.Is(err, context.Canceled) {
		t.Error("a wait outlives its request", err)
	}
}

// Secrets are sent only to the intended server, and not to the target of a redirect: neither
// credentials, nor headers, nor the URL as a Referer.
func TestSecretsStay(t *testing.T) {
	elsewhere := make(chan http.Header, 1)
	other := serve(t, func(_ http.ResponseWriter, r *http.Request) { elsewhere <- r.Header })
	here := make(chan http.Header, 1)
	to := serve(t, func(w http.ResponseWriter, r *http.Request) {
		here <- r.Header
		http.Redirect(w, r, other.String(), http.StatusFound)
	})

	to.RawQuery = "token=s3cret"
	client := New(Options{To: to, Credentials: Bearer("s3cret"), Header: http.Header{"X-Scope-Orgid": {"s3cret"}}, Redirects: 1})
	if _, err := read(t, t.Context(), client, to); err != nil {
		t.Fatal(err)
	}

	if h := <-here; h.Get("Authorization") != "Bearer s3cret" || h.Get("X-Scope-Orgid") != "s3cret" || h.Get("User-Agent") != agent {
		t.Error("not sent:", h)
	}

	for name, values := range <-elsewhere {
		if strings.Contains(strings.Join(values, " "), "s3cret") || name == "Referer" {
			t.Errorf("%s: %s is sent to another server", name, values)
		}
	}
}

func TestRedirects(t *testing.T) {
	var at *url.URL
	at = serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, at.String(), http.StatusFound) })
	if _, err := read(t, t.Context(), New(Options{Redirects: 3}), at); !errors.Is(err, errRedirects) {
		t.Error(err)
	}

	if _, err := read(t, t.Context(), New(Options{}), at); err != nil {
		t.Error("a redirect that is not to be followed is an answer:", err)
	}

	secure := httptest.NewTLSServer(http.RedirectHandler(at.String(), http.StatusFound))
	defer secure.Close()
	u, _ := url.Parse(secure.URL)

	if _, err := read(t, t.Context(), New(Options{Base: Base(true), Redirects: 3}), u); !errors.Is(err, errDowngrade) {
		t.Error(err)
	}

	_, err := read(t, t.Context(), New(Options{}), u)
	if better := Untrusted(Cause(err)); better == nil || !strings.Contains(better.Error(), "SSL_CERT_FILE") {
		t.Error(err)
	}
}

func TestRetry(t *testing.T) {
	refusal := errors.New("busy")
	for name, c := range map[string]struct {
		retry Retry
		after time.Duration
		tries int
		took  time.Duration
	}{
		"attempts":                 {Retry{Attempts: 4, Wait: time.Second}, 0, 4, 7 * time.Second},
		"as long as the server":    {Retry{Attempts: 2, Wait: time.Second}, 10 * time.Second, 2, 10 * time.Second},
		"but not for hours":        {Retry{Attempts: 2, Wait: time.Second}, time.Hour, 2, 30 * time.Second},
		"nor beyond its own bound": {Retry{Attempts: 3, Wait: time.Second, Most: 2 * time.Second}, time.Hour, 3, 4 * time.Second},
		"patience":                 {Retry{Patience: 10 * time.Second, Wait: time.Second}, 0, 4, 7 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun, tries := time.Now(), 0
			err := c.retry.Do(t.Context(), func(context.Context) error { tries++; return &DeferredError{refusal, c.after} })
			if err != refusal || tries != c.tries || time.Since(begun) != c.took { //nolint:errorlint // that one
				t.Errorf("%s: %v after %d tries and %s", name, err, tries, time.Since(begun))
			}
		})
	}

	if err := (Retry{}).Do(t.Context(), func(context.Context) error { return refusal }); err != refusal { //nolint:errorlint // that one
		t.Error(err)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 7, 20, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-7": 0, "soon": 0, "99999999999": 0, "Mon, 20 Jul 2026 12:01:00 GMT": time.Minute, "Mon, 20 Jul 2026 11:00:00 GMT": 0,
	} {
		if got := RetryAfter(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
}

func TestTokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	c := TokenFile(path, "PLIMSOLL_X")
	if _, err := c.Authorization(); err == nil || !strings.Contains(err.Error(), "PLIMSOLL_X") {
		t.Error(err)
	}
	for text, want := range map[string]string{"s3cret\n": "Bearer s3cret", "a b": "", "": "", strings.Repeat("x", tokenBytesMax+1): ""} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := c.Authorization()
		if got != want || (err == nil) != (want != "") || err != nil && strings.Contains(err.Error(), "a b") {
			t.Errorf("%.20q: %q, %v", text, got, err)
		}
	}
}
