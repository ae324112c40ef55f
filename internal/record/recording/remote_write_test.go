package recording

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
)

// A receiver accepts samples like a server does: none older than the newest of their series.
type receiver struct {
	mu     sync.Mutex
	memory *Memory
	newest map[string]int64
	refuse []func(http.ResponseWriter) bool // for the first requests
	heads  []http.Header
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heads = append(r.heads, req.Header)

	if len(r.refuse) > 0 {
		f := r.refuse[0]
		r.refuse = r.refuse[1:]
		if f(w) {
			return
		}
	}

	body, _ := io.ReadAll(req.Body)
	raw, err := s2.Decode(nil, body)
	var m prompb.WriteRequest

	if err == nil {
		err = m.Unmarshal(raw)
	}

	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}

	for _, ts := range m.Timeseries {
		l := ts.ToLabels(&labels.ScratchBuilder{}, nil)
		for _, s := range ts.Samples {
			if newest, ok := r.newest[l.String()]; ok && s.Timestamp <= newest {
				http.Error(w, "out of order sample", http.StatusBadRequest)
				return
			}
			r.newest[l.String()] = s.Timestamp
			b := &Batch{TimesMs: []int64{s.Timestamp}, Columns: []Column{{Labels: l, Values: []float64{s.Value}}}}
			if err := r.memory.Append(req.Context(), b); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
		}
	}
}

func newReceiver(t *testing.T) (*receiver, string) {
	r := &receiver{memory: NewMemory(MemoryOptions{}), newest: map[string]int64{}}
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	return r, s.URL
}

// Pushed samples are the recorded ones, plus the added labels, in order of time over several
// readers.
func TestPush(t *testing.T) {
	ctx := context.Background()
	a, b := NewMemory(MemoryOptions{}), NewMemory(MemoryOptions{})

	var want int64
	for i, m := range []*Memory{a, b} {
		batch := &Batch{Columns: []Column{
			{Labels: labels.FromStrings("__name__", "up", "instance", fmt.Sprint(i)), Values: nil},
			{Labels: labels.FromStrings("__name__", "hour", "cluster", "own", "instance", fmt.Sprint(i)), Values: []float64{7}},
		}}

		for k := range 2000 {
			batch.TimesMs = append(batch.TimesMs, int64(k)*1000)
			batch.Columns[0].Values = append(batch.Columns[0].Values, float64(k))
		}

		if err := m.Append(ctx, batch); err != nil {
			t.Fatal(err)
		}

		want += 4000
	}

	r, url := newReceiver(t)
	p, err := NewPusher(ctx, url, PushOptions{Labels: labels.FromStrings("cluster", "prod"), Samples: 300, Token: "secret", Header: http.Header{"X-Scope-Orgid": {"team"}}})
	if err != nil {
		t.Fatal(err)
	}

	if err := Push(ctx, []Reader{a, b}, func(int) Writer { return p }, time.Time{}, time.Time{}, nil); err != nil {
		t.Fatal(err)
	}

	if err := p.Close(); err != nil {
		t.Fatal(err)
	}

	if p.Sent() != want {
		t.Errorf("%d sent, want %d", p.Sent(), want)
	}

	for selector, n := range map[string]int{`up{cluster="prod"}`: 2, `hour{cluster="own"}`: 2, `hour{cluster="prod"}`: 0} {
		got, err := r.memory.Samples(ctx, MustSelector(selector), time.UnixMilli(0), time.UnixMilli(1<<40))
		if err != nil || len(got) != n || n > 0 && len(got[0].Points) != 2000 {
			t.Errorf("%s: %d series, %v; want %d of 2000 samples", selector, len(got), err, n)
		}
	}

	if h := r.heads[0]; h.Get("Authorization") != "Bearer secret" || h.Get("X-Scope-Orgid") != "team" || h.Get("X-Prometheus-Remote-Write-Version") != "0.1.0" {
		t.Errorf("headers %v", h)
	}
}

func status(code int, text string) func(http.ResponseWriter) bool {
	return func(w http.ResponseWriter) bool { http.Error(w, text, code); return true }
}

// Deferred requests are retried; a refusal is reported, with a hint.
func TestPushIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		refuse []func(http.ResponseWriter) bool
		want   string
	}{
		"busy":      {[]func(http.ResponseWriter) bool{status(429, "slow down"), status(503, "restarting"), status(500, "oops")}, ""},
		"no room":   {[]func(http.ResponseWriter) bool{status(400, "out of order sample")}, "out_of_order_time_window"},
		"too old":   {[]func(http.ResponseWriter) bool{status(400, "out of bounds")}, "accepts no older ones"},
		"no one":    {[]func(http.ResponseWriter) bool{status(404, "404 page not found")}, "--web.enable-remote-write-receiver"},
		"a secret":  {[]func(http.ResponseWriter) bool{status(401, "")}, EnvToken},
		"a tenant":  {[]func(http.ResponseWriter) bool{status(400, "no tenant given")}, "--header"},
		"otherwise": {[]func(http.ResponseWriter) bool{status(422, "label name too long")}, "label name too long"},
	} {
		t.Run(name, func(t *testing.T) {
			r, url := newReceiver(t)
			r.refuse = c.refuse
			p, err := NewPusher(context.Background(), url, PushOptions{RetryWait: time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}

			b := &Batch{TimesMs: []int64{1}, Columns: []Column{{Labels: labels.FromStrings("__name__", "up"), Values: []float64{1}}}}
			if err := p.Append(context.Background(), b); err != nil {
				t.Fatal(err)
			}

			err = p.Close()
			if c.want == "" && (err != nil || p.Sent() != 1) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, %d sent; want %q", err, p.Sent(), c.want)
			}
		})
	}
}

// An unreachable receiver ends the pusher once its patience runs out, and Append returns the error.
func TestPushWithoutReceiver(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	p, err := NewPusher(context.Background(), strings.Replace(s.URL, "http://", "http://user:secret@", 1), PushOptions{Samples: 1, RetryWait: time.Millisecond, Patience: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}

	for k := range 3 * pushQueue {
		b := &Batch{TimesMs: []int64{int64(k)}, Columns: []Column{{Labels: labels.FromStrings("__name__", "up"), Values: []float64{1}}}}
		if err = p.Append(context.Background(), b); err != nil {
			break
		}
	}

	if closed := p.Close(); err == nil || closed == nil || !strings.Contains(err.Error(), "cannot reach the receiver") || strings.Contains(err.Error(), "secret") {
		t.Errorf("append: %v, close: %v", err, closed)
	}

	for _, bad := range []string{"prometheus:9090", "ftp://x", "http://%zz:secret@x"} {
		if _, err := NewPusher(context.Background(), bad, PushOptions{}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// A deferred query is retried; one that takes too long is not.
func TestRemoteRetries(t *testing.T) {
	for name, c := range map[string]struct {
		answers []string // status and body, before those of a real server
		want    string   // in the error; "" if there is none
		asked   int
	}{
		"busy":     {[]string{"429 wait", "503 restarting"}, "", 3},
		"for ever": {[]string{"503 a", "503 b", "503 c", "503 d", "503 e", "503 f"}, "503", 5},
		"slow":     {[]string{`503 {"status":"error","errorType":"timeout","error":"query timed out"}`}, "--query.timeout", 1},
		"limits":   {[]string{`422 {"status":"error","errorType":"execution","error":"too many samples"}`}, "one of its limits", 1},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			asked, probed := 0, false
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				if !probed {
					probed = true
					fmt.Fprint(w, `{"status":"success","data":{"resultType":"scalar","result":[0,"1"]}}`)
					return
				}

				if asked++; asked <= len(c.answers) {
					code, body, _ := strings.Cut(c.answers[asked-1], " ")
					n, err := strconv.Atoi(code)
					if err != nil {
						t.Error(err)
					}
					w.WriteHeader(n)
					fmt.Fprint(w, body)
					return
				}

				fmt.Fprint(w, `{"status":"success","data":{"resultType":"matrix","result":[]},"warnings":["a store is away"]}`)
			}))

			defer s.Close()
			r, err := Remote(context.Background(), s.URL, RemoteOptions{RetryWait: time.Millisecond, From: time.Unix(0, 0), To: time.Unix(60, 0)})
			if err != nil {
				t.Fatal(err)
			}

			_, err = r.Samples(context.Background(), MetricSelector("up"), time.Unix(0, 0), time.Unix(60, 0))
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) || asked != c.asked {
				t.Errorf("%v after %d requests; want %q after %d", err, asked, c.want, c.asked)
			}

			if notes := r.Notes(); c.want == "" && (len(notes) != 1 || !strings.Contains(notes[0].Text, "a store is away")) {
				t.Errorf("notes %v", notes)
			}
		})
	}
}
