package watch_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
	"plimsoll/internal/testkit"
	"plimsoll/internal/watch"
)

// diagnosedWatch returns a watch that has ended but still serves a diagnosis.
func diagnosedWatch(t *testing.T) *watch.Watch {
	t.Helper()
	var out *watched
	synctest.Test(t, func(t *testing.T) {
		out = start(t, watch.Options{Pack: testkit.Pack()}, newStalling(func(second int) bool { return second > 30 && second < 50 }))
		time.Sleep(90 * time.Second)
		out.end()
	})
	if out.Report() == nil {
		t.Fatal("there is no diagnosis")
	}
	return out.Watch
}

// served lists the paths that return 200 once there is a diagnosis.
var served = []string{"/", "/api/report", "/metrics", "/-/healthy", "/-/ready"}

// get sends a request over the network, within a minute.
func get(t *testing.T, url, host string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}

	req.Host = host
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}

	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}

	return resp, string(text)
}

// A stuck client reads nothing until it is released.
type stuck struct {
	header http.Header
	asked  chan struct{} // closed by the first write to it
	free   chan struct{}
}

func (s *stuck) Header() http.Header { return s.header }
func (s *stuck) WriteHeader(int)     {}
func (s *stuck) Write(p []byte) (int, error) {
	close(s.asked)
	<-s.free
	return len(p), nil
}

// A client that stops reading does not delay others, whatever it requested.
func TestStuckClientDelaysNoOther(t *testing.T) {
	w := diagnosedWatch(t)
	h := w.Handler()
	for _, path := range served {
		s := &stuck{header: http.Header{}, asked: make(chan struct{}), free: make(chan struct{})}
		done := make(chan struct{})
		go func() {
			defer close(done)
			h.ServeHTTP(s, httptest.NewRequest(http.MethodGet, path, nil))
		}()

		<-s.asked
		for _, other := range served {
			answered := make(chan int, 1)
			go func() {
				rec := httptest.NewRecorder()
				h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, other, nil))
				answered <- rec.Code
			}()

			select {
			case code := <-answered:
				if code != http.StatusOK {
					t.Errorf("%s while a client does not read %s: status %d", other, path, code)
				}
			case <-time.After(time.Minute):
				t.Fatalf("%s is not answered while a client does not read %s", other, path)
			}
		}

		close(s.free)
		<-done
	}
}

// stall repeatedly requests a path without reading the answers.
func stall(t *testing.T, address, path string, times int) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		// The server stops reading requests that it cannot answer, or closes the connection.
		_, _ = io.WriteString(conn, strings.Repeat("GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n", times))
	}()
}

// The same over the network: more clients than allowed connections, none of which reads, do not block
// the page.
func TestSlowReaders(t *testing.T) {
	w := diagnosedWatch(t)
	h := w.Handler()
	var begun atomic.Int64
	address, _ := serving(t, watch.ServerOptions{Addresses: []string{"127.0.0.1:0"}}, http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		begun.Add(1)
		h.ServeHTTP(rw, req)
	}))

	const more, times = watch.ConnectionsMax + 20, 10_000 // answers of at least 10 kB, too much for any buffer
	stall(t, address, "/api/report", times)

	for range more {
		stall(t, address, "/", times)
	}

	for _, path := range served {
		if resp, _ := get(t, "http://"+address+path, ""); resp.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d", path, resp.StatusCode)
		}
	}

	if n := begun.Load(); n >= more*times {
		t.Errorf("%d answers were sent: no client was slow", n)
	}
}

// An answer that is not read is dropped.
func TestAnswerHasDeadline(t *testing.T) {
	watch.AnswerWithin(t, 10*time.Millisecond)
	ended := make(chan error, 1)
	address, _ := serving(t, watch.ServerOptions{Addresses: []string{"127.0.0.1:0"}}, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := rw.Write(make([]byte, 1<<20)); err != nil {
				ended <- err
				return
			}
		}
	}))

	stall(t, address, "/", 1)
	select {
	case err := <-ended:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("the answer is still being sent")
	}
}

// called returns a source with this name.
func called(name string) *stalling {
	return &stalling{Polled: source.NewPolled(recording.Source{Kind: "test", Name: name, Engine: "mongodb"})}
}

// Sources with the same name are separate series, even if the name is long.
func TestSourcesOfOneName(t *testing.T) {
	for _, name := range []string{"mongodb://db:27017", strings.Repeat("n", 300), strings.Repeat("ö", 150), "bad\xff"} {
		var inputs []watch.Input
		for range 12 {
			inputs = append(inputs, watch.Input{Source: called(name)})
		}

		// The name that the second source would get.
		inputs = append(inputs, watch.Input{Source: called(name + "#2")})
		w := watch.New(inputs, watch.Options{Pack: testkit.Pack()})
		families, err := w.Registry().Gather()
		if err != nil {
			t.Fatalf("%.20s: %v", name, err)
		}

		for _, f := range families {
			if f.GetName() != "plimsoll_source_up" {
				continue
			}

			seen := map[string]bool{}
			for _, m := range f.GetMetric() {
				v := m.GetLabel()[0].GetValue()
				if seen[v] = true; len(v) > 200 {
					t.Errorf("a label of %d bytes", len(v))
				}
			}

			if len(seen) != 13 {
				t.Errorf("%.20s: %d sources, want 13: %v", name, len(seen), fmt.Sprint(seen))
			}
		}
	}
}

// If there is one connection too many, the one whose state has not changed for the longest time is
// closed, and the others stay.
func TestStuckConnectionGivesWay(t *testing.T) {
	changed := watch.Connections(2)
	var ours, theirs []net.Conn
	for range 3 {
		a, b := net.Pipe()
		t.Cleanup(func() { a.Close(); b.Close() })
		ours, theirs = append(ours, a), append(theirs, b)
	}

	changed(ours[0], http.StateNew)
	changed(ours[1], http.StateNew)
	changed(ours[0], http.StateActive)
	changed(ours[2], http.StateNew)

	if _, err := theirs[1].Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the stuck connection: %v, want it closed", err)
	}

	for _, i := range []int{0, 2} {
		go func() { _, _ = ours[i].Write([]byte{1}) }()
		if _, err := theirs[i].Read(make([]byte, 1)); err != nil {
			t.Errorf("connection %d: %v, want it open", i, err)
		}
	}
}
