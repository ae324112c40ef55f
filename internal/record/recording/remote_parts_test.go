package recording

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

// If a response exceeds the limit, it is requested in halves and joined seamlessly. A half that is
// still too large is an error, and so are too many series, before they are decoded.
func TestRemoteHalves(t *testing.T) {
	m := NewMemory(MemoryOptions{})
	b := Batch{Columns: []Column{{Labels: named("c_total")}}}

	const seconds = 8000
	for k := range seconds {
		b.TimesMs = append(b.TimesMs, second(float64(k)).UnixMilli())
		b.Columns[0].Values = append(b.Columns[0].Values, float64(k))
	}

	if err := m.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}

	s, base := serve(t, m)
	r := mustRemote(t, base, RemoteOptions{From: t0, To: second(seconds), MaxBytes: 64 << 10})
	s.requests.Store(0)

	points := one(t, ask(t, r, "c_total", 0, seconds-1, time.Second, 900*time.Millisecond))
	if len(points) != seconds {
		t.Errorf("%d points", len(points))
	}

	if n := s.requests.Load(); n != 7 && n != 15 { // by how many bytes the server writes per point
		t.Errorf("%d requests", n)
	}

	samples, err := r.Samples(t.Context(), MetricSelector("c_total"), t0, second(seconds))
	if err != nil || len(one(t, samples)) != seconds {
		t.Errorf("%v", err)
	}

	tight := mustRemote(t, base, RemoteOptions{From: t0, To: second(seconds), MaxBytes: 4 << 10})
	s.requests.Store(0)
	_, err = tight.Range(t.Context(), "c_total", t0, second(seconds), time.Second, time.Second)
	if err == nil || !strings.Contains(err.Error(), "larger than 4096 bytes") || s.requests.Load() != halvingsMax+1 {
		t.Errorf("%v after %d requests", err, s.requests.Load())
	}
}

func TestRemoteObjects(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.FormValue("query") == "1" {
			fmt.Fprint(w, `{"status":"success","data":{"resultType":"scalar","result":[1,"1"]}}`)
			return
		}
		fmt.Fprint(w, `{"status":"success","data":{"resultType":"matrix","result":[{}`, strings.Repeat(",{}", objectsMax), "]}}")
	}))
	defer s.Close()
	r := mustRemote(t, s.URL, RemoteOptions{From: t0, To: second(1)})
	_, err := r.Range(t.Context(), "a", t0, t0, time.Second, time.Second)
	if err == nil || !strings.Contains(err.Error(), "larger than 500000 JSON objects: request fewer series") {
		t.Error(err)
	}
}

// The parameters of a receiver's address are sent to it, and appear in no output.
func TestPushParameters(t *testing.T) {
	var asked atomic.Value
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		asked.Store(req.URL.RawQuery)
		http.Redirect(w, req, "/elsewhere?k=s3cret", http.StatusFound)
	}))

	defer s.Close()
	p, err := NewPusher(t.Context(), s.URL+"/write?tenant=s3cret", PushOptions{})
	if err != nil {
		t.Fatal(err)
	}

	b := &Batch{TimesMs: []int64{1}, Columns: []Column{{Labels: labels.FromStrings("__name__", "up"), Values: []float64{1}}}}
	if err := p.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}

	err = p.Close()
	if err == nil || strings.Contains(err.Error()+p.Name(), "s3cret") || p.Name() != s.URL+"/write" || asked.Load() != "tenant=s3cret" {
		t.Errorf("%v, %s, asked with %v", err, p.Name(), asked.Load())
	}
}

// A receiver that accepts the first request but does not answer gets no retry; one that has accepted
// samples before does.
func TestPushToSilence(t *testing.T) {
	for _, before := range []int32{0, 1} {
		var asked atomic.Int32
		over := make(chan struct{})
		s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			if asked.Add(1) == before+1 {
				<-over
			}
		}))

		p, err := NewPusher(t.Context(), s.URL, PushOptions{Timeout: 200 * time.Millisecond, RetryWait: time.Millisecond, Samples: 1})
		if err != nil {
			t.Fatal(err)
		}

		for k := range before + 1 {
			b := &Batch{TimesMs: []int64{int64(k)}, Columns: []Column{{Labels: labels.FromStrings("__name__", "up"), Values: []float64{1}}}}
			if err := p.Append(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}

		err = p.Close()
		close(over)
		s.Close()

		switch {
		case before == 0 && (err == nil || !strings.Contains(err.Error(), s.URL+"/api/v1/write: no response within 200ms") || asked.Load() != 1):
			t.Errorf("%v after %d requests", err, asked.Load())
		case before == 1 && (err != nil || p.Sent() != 2 || asked.Load() != 3):
			t.Errorf("%v after %d requests, %d sent", err, asked.Load(), p.Sent())
		}
	}
}
