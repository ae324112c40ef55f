package recording

import (
	"compress/gzip"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

// elsewhere is a server that must receive no request with secrets.
func elsewhere(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		for name, values := range req.Header {
			if strings.Contains(strings.Join(values, " "), "s3cret") || name == "Authorization" {
				t.Errorf("%s is sent to another server", name)
			}
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// A server that answers but is not a receiver ends the pusher immediately, and nothing is sent
// anywhere else.
func TestPushToNoReceiver(t *testing.T) {
	other := elsewhere(t)
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"a redirect loop": {func(w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, req.URL.String(), http.StatusTemporaryRedirect)
		}, "it redirects"},
		"another server": {func(w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, other, http.StatusPermanentRedirect)
		}, "it redirects to " + other},
		"a page by GET": {func(w http.ResponseWriter, req *http.Request) { http.Redirect(w, req, other, http.StatusFound) }, "it redirects"},
		"hidden": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://me:s3cret@h/?token=s3cret")
			w.WriteHeader(301)
		}, "it redirects to http://h/"},
		"nowhere": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(302) }, "it redirects"},
		"a web page": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
		}, "this is a web page"},
		"an error for ever": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(400)
			for {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		}, "HTTP status 400"},
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { requests++; c.answer(w, req) }))
			defer s.Close()
			url := strings.Replace(s.URL, "http://", "http://me:s3#cret@", 1)

			p, err := NewPusher(t.Context(), url, PushOptions{Header: http.Header{"X-Scope-Orgid": {"s3cret"}}, Patience: time.Hour})
			if err != nil {
				t.Fatal(err)
			}

			b := &Batch{TimesMs: []int64{1}, Columns: []Column{{Labels: labels.FromStrings("__name__", "up"), Values: []float64{1}}}}
			if err := p.Append(t.Context(), b); err != nil {
				t.Fatal(err)
			}

			err = p.Close()
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), strings.TrimPrefix(s.URL, "http://")) || p.Sent() != 0 || requests != 1 {
				t.Errorf("%v; %d sent, %d requests", err, p.Sent(), requests)
			}

			if err != nil && (strings.Contains(err.Error(), "s3") || strings.Contains(err.Error(), "cret")) {
				t.Errorf("it shows a secret: %v", err)
			}
		})
	}
}

// The result of a query is cut off at its limit, compressed or not, so that memory is bounded too.
func TestRemoteBomb(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(64 << 20))
	const most = 8 << 20
	series := `{"metric":{"__name__":"a"},"values":[[1,"1"]]},`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if req.FormValue("query") == "1" {
			_, _ = w.Write([]byte(`{"status":"success","data":{"resultType":"scalar","result":[1,"1"]}}`))
			return
		}

		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = z.Write([]byte(`{"status":"success","data":{"resultType":"matrix","result":[`))

		for line := []byte(strings.Repeat(series, 1000)); ; {
			if _, err := z.Write(line); err != nil {
				return
			}
		}
	}))

	defer s.Close()
	r, err := Dial(t.Context(), s.URL, RemoteOptions{From: t0, To: t0.Add(time.Minute), MaxBytes: most})
	if err != nil {
		t.Fatal(err)
	}

	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(heap)
	before := heap[0].Value.Uint64()
	_, err = r.Range(t.Context(), "a", t0, t0.Add(time.Minute), time.Second, time.Minute)
	metrics.Read(heap)

	if err == nil || !strings.Contains(err.Error(), "larger than 8388608 bytes") || !strings.Contains(err.Error(), s.URL) {
		t.Error(err)
	}

	if after := heap[0].Value.Uint64(); after > before+16*most {
		t.Errorf("%d MiB for an answer of at most %d", (after-before)>>20, most>>20)
	}
}

// Dialling a server that does not answer stops when the caller cancels.
func TestDialEnds(t *testing.T) {
	asked, ended := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(asked); <-ended }))
	defer s.Close()
	defer close(ended)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if _, err := Dial(ctx, s.URL, RemoteOptions{Timeout: time.Hour}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
