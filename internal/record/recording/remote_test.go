package recording

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
)

// A testServer serves the Prometheus API from a recording. Like a server that does not know
// lookback_delta, it always looks back five minutes.
type testServer struct {
	data     storage.Queryable
	queries  *queries
	requests atomic.Int32
	mostNow  atomic.Int32 // peak number of concurrent requests
	now      atomic.Int32
}

func (s *testServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	s.requests.Add(1)
	now := s.now.Add(1)
	defer s.now.Add(-1)
	for most := s.mostNow.Load(); now > most && !s.mostNow.CompareAndSwap(most, now); most = s.mostNow.Load() {
	}
	var (
		data any
		err  error
	)

	switch req.URL.Path {
	case "/prom/api/v1/query":
		data, err = s.query(req)
	case "/prom/api/v1/query_range":
		data, err = s.queryRange(req)
	case "/prom/api/v1/label/__name__/values":
		data, err = s.names(req)
	case "/prom/api/v1/series":
		data, err = s.series(req)
	default:
		http.NotFound(w, req)
		return
	}

	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(http.StatusUnprocessableEntity)
		json.NewEncoder(w).Encode(map[string]any{"status": "error", "errorType": "execution", "error": err.Error()})
		return
	}

	json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": data})
}

func formTime(req *http.Request, key string) time.Time {
	seconds, _ := strconv.ParseFloat(req.FormValue(key), 64)
	return time.UnixMilli(int64(math.Round(seconds * 1000)))
}

func (s *testServer) query(req *http.Request) (any, error) {
	q, err := s.queries.engine.NewInstantQuery(req.Context(), s.data, nil, req.FormValue("query"), formTime(req, "time"))
	if err != nil {
		return nil, err
	}
	res := q.Exec(req.Context())
	if res.Err != nil {
		return nil, res.Err
	}
	return map[string]any{"resultType": res.Value.Type(), "result": res.Value}, nil
}

func (s *testServer) queryRange(req *http.Request) (any, error) {
	from, to := formTime(req, "start"), formTime(req, "end")
	seconds, err := strconv.ParseFloat(req.FormValue("step"), 64)
	if err != nil {
		return nil, err
	}

	step := time.Duration(seconds * float64(time.Second))
	if to.Sub(from)/step > 11000 {
		return nil, fmt.Errorf("exceeded maximum resolution of 11,000 points per timeseries")
	}

	q, err := s.queries.engine.NewRangeQuery(req.Context(), s.data, nil, req.FormValue("query"), from, to, step)
	if err != nil {
		return nil, err
	}

	res := q.Exec(req.Context())
	if res.Err != nil {
		return nil, res.Err
	}

	matrix, err := res.Matrix()
	if matrix == nil {
		matrix = promql.Matrix{}
	}

	return map[string]any{"resultType": "matrix", "result": matrix}, err
}

func (s *testServer) names(req *http.Request) (any, error) {
	q, err := s.data.Querier(math.MinInt64, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	if req.FormValue("match[]") != "" {
		matchers, err := ParseSelector(req.FormValue("match[]"))
		if err != nil {
			return nil, err
		}
		names, _, err := q.LabelValues(req.Context(), "__name__", nil, matchers...)
		return names, err
	}
	names, _, err := q.LabelValues(req.Context(), "__name__", nil)
	return names, err
}

func (s *testServer) series(req *http.Request) (any, error) {
	matchers, err := ParseSelector(req.FormValue("match[]"))
	if err != nil {
		return nil, err
	}
	q, err := s.data.Querier(math.MinInt64, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	out := []map[string]string{}
	for set := q.Select(req.Context(), true, nil, matchers...); set.Next(); {
		out = append(out, set.At().Labels().Map())
	}
	return out, nil
}

// serve serves m and returns the base URL.
func serve(t testing.TB, m *Memory) (*testServer, string) {
	s := &testServer{data: m, queries: newQueries(QueryOptions{})}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, server.URL + "/prom/"
}

func mustRemote(t testing.TB, url string, opt RemoteOptions) Reader {
	t.Helper()
	r, err := Remote(t.Context(), url, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestConformRemote(t *testing.T) {
	m := NewMemory(MemoryOptions{})
	feed(t, m)
	s, base := serve(t, m)
	r := mustRemote(t, base, RemoteOptions{From: t0, To: second(599), Parallel: 3})
	conform(t, r)
	if n := s.mostNow.Load(); n > 3 {
		t.Errorf("%d concurrent requests, want at most 3", n)
	}
	if sources := r.Sources(); len(sources) != 1 || sources[0].Kind != "prometheus" || sources[0].Period != time.Second {
		t.Errorf("sources %+v", sources)
	}
}

// TestConformPrometheus runs the suite against a real server.
func TestConformPrometheus(t *testing.T) {
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("no prometheus on the PATH: install Debian's package prometheus to run this")
	}

	dir := t.TempDir()
	d := mustCreate(t, filepath.Join(dir, "data"), DiskOptions{})
	feed(t, d)
	mustClose(t, d)
	config := filepath.Join(dir, "prometheus.yml")

	if err := os.WriteFile(config, []byte("{}\n"), 0o666); err != nil {
		t.Fatal(err)
	}

	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	address := listen.Addr().String()
	listen.Close()
	cmd := exec.CommandContext(t.Context(), program, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--storage.tsdb.retention.time=50y", "--web.listen-address="+address)
	cmd.Stderr = io.Discard

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	defer func() {
		_ = cmd.Process.Kill() // it may already have ended
		_ = cmd.Wait()
	}()

	var r Reader
	for try := 0; ; try++ { // until it is up
		if r, err = Remote(t.Context(), "http://"+address, RemoteOptions{From: t0, To: second(599)}); err == nil {
			break
		}
		if try == 300 {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}

	conform(t, r)
}

// A long query is sent in parts of at most 11,000 steps, and joined seamlessly.
func TestRemoteSplits(t *testing.T) {
	m := NewMemory(MemoryOptions{})
	b := Batch{Columns: []Column{{Labels: named("c_total")}}}

	const seconds = 40_000
	for k := range seconds {
		b.TimesMs = append(b.TimesMs, second(float64(k)).UnixMilli())
		b.Columns[0].Values = append(b.Columns[0].Values, float64(k))
	}

	if err := m.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}

	s, base := serve(t, m)
	r := mustRemote(t, base, RemoteOptions{From: second(10), To: second(seconds - 11)})
	s.requests.Store(0)

	// Times outside the options are not requested; the steps are not shifted.
	points := one(t, ask(t, r, "c_total", -5.5, 50_000, time.Second, 900*time.Millisecond))
	if n := s.requests.Load(); n != 4 {
		t.Errorf("%d requests for %d steps, want 4", n, seconds)
	}

	if len(points) != seconds-21 {
		t.Errorf("%d points, want %d", len(points), seconds-21)
	}

	for i, p := range points {
		if want := float64(i + 10); p.F != want || at(p) != want+0.5 {
			t.Fatalf("point %d: %g at %g s, want %g at %g s", i, p.F, at(p), want, want+0.5)
		}
	}

	out, err := r.Samples(t.Context(), MetricSelector("c_total"), t0, second(seconds))
	if err != nil {
		t.Fatal(err)
	}

	samples := one(t, out)
	if len(samples) != seconds-20 {
		t.Errorf("%d samples, want %d", len(samples), seconds-20)
	}

	for i, p := range samples {
		if want := float64(i + 10); p.F != want || at(p) != want {
			t.Fatalf("sample %d: %g at %g s, want %g", i, p.F, at(p), want)
		}
	}

	if out, err := r.Range(t.Context(), "c_total", second(-100), second(-50), time.Second, time.Second); err != nil || out != nil {
		t.Errorf("outside of the bounds: %v, error %v", out, err)
	}
}

func TestRemoteSelector(t *testing.T) {
	m := NewMemory(MemoryOptions{})
	feed(t, m)
	_, base := serve(t, m)
	r := mustRemote(t, base, RemoteOptions{From: t0, To: second(599), Selector: `{device="a"}`})
	metrics, err := r.Metrics(t.Context())
	if err != nil || len(metrics) != 1 || metrics[0].Name != "c_total" || metrics[0].Series != 1 {
		t.Errorf("metrics %+v, error %v", metrics, err)
	}
	if _, err := Remote(t.Context(), base, RemoteOptions{Selector: `{device=`}); err == nil || !strings.Contains(err.Error(), "selector") {
		t.Errorf("a bad selector: error %v", err)
	}
}

// Each failure of a server gives an error that names the server and never contains a password.
func TestRemoteErrors(t *testing.T) {
	const secret = "hunter2"
	answer := func(status int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}

	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		want    string
	}{
		{"unauthorized", answer(401, "text/plain", "no"), "HTTP status 401 Unauthorized: the server does not accept the user and password that was sent: set"},
		{"forbidden", answer(403, "text/plain", "no"), "HTTP status 403"},
		{"not found", answer(404, "text/html", "<html>"), "no Prometheus API at this address"},
		{"other page", answer(200, "text/html", "<html>hello</html>"), "is not JSON of the Prometheus API"},
		{"gateway", answer(502, "text/html", "bad gateway\nmore"), "HTTP status 502 Bad Gateway: bad gateway"},
		{"its own words", answer(400, "application/json", `{"status":"error","errorType":"bad_data","error":"no org id"}`), "bad_data: no org id"},
		{"endless", answer(200, "application/json", `{"status":"`+strings.Repeat("x", 4096)), "larger than 1000 bytes"},
		{"slow", func(_ http.ResponseWriter, req *http.Request) {
			io.Copy(io.Discard, req.Body) // otherwise the server would not notice the end of the request
			<-req.Context().Done()
		}, "no response within"},
		{"redirect", func(w http.ResponseWriter, req *http.Request) {
			if req.Header.Get("Authorization") == "" {
				t.Error("no credentials")
			}
			http.Redirect(w, req, "http://127.0.0.1:1/", http.StatusFound)
		}, "cannot be reached"},
	} {
		server := httptest.NewServer(c.handler)
		u, _ := url.Parse(server.URL)
		u.User = url.UserPassword("admin", secret)

		_, err := Remote(t.Context(), u.String(), RemoteOptions{Timeout: 300 * time.Millisecond, MaxBytes: 1000})
		if c.name == "redirect" && err != nil {
			err = fmt.Errorf("%w", err)
			c.want = "127.0.0.1:1"
		}

		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), u.Host) {
			t.Errorf("%s: error %v, want one with %q and the host", c.name, err, c.want)
		}

		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error contains the password: %v", c.name, err)
		}

		server.Close()
	}

	for _, bad := range []string{"http://admin:" + secret + "@[::1", "ftp://admin:" + secret + "@host", "http://admin:" + secret + "@127.0.0.1:1", "db1:9090", "http://"} {
		_, err := Remote(t.Context(), bad, RemoteOptions{})
		if err == nil || strings.Contains(err.Error(), secret) || !strings.HasPrefix(err.Error(), "prometheus") {
			t.Errorf("%s: error %v", bad, err)
		}
	}
}

// Credentials are sent only to the server, and are not part of the source's name. The response to the
// first request may be endless; only a little of it is read.
func TestRemoteProbeIsBounded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for block := []byte(strings.Repeat("x", 1<<16)); req.Context().Err() == nil; {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	_, err := Remote(t.Context(), server.URL, RemoteOptions{})
	if want := fmt.Sprintf("larger than %d bytes", probeBytesMax); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestRemoteCredentials(t *testing.T) {
	m := NewMemory(MemoryOptions{})
	feed(t, m)
	s, _ := serve(t, m)
	var got, tenant string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		got, tenant = req.Header.Get("Authorization"), req.Header.Get("X-Scope-OrgID")
		s.ServeHTTP(w, req)
	}))

	defer server.Close()
	base := server.URL + "/prom"
	withUser := strings.Replace(base, "http://", "http://ann:secret@", 1)

	const basicAnn = "Basic YW5uOnNlY3JldA=="
	for _, c := range []struct {
		name, url string
		opt       RemoteOptions
		env       map[string]string
		want      string
	}{
		{"none", base, RemoteOptions{}, nil, ""},
		{"url", withUser, RemoteOptions{Token: "t"}, nil, basicAnn},
		{"options", base, RemoteOptions{User: "ann", Password: "secret"}, map[string]string{EnvToken: "t"}, basicAnn},
		{"token", base, RemoteOptions{Token: "t"}, nil, "Bearer t"},
		{"env", base, RemoteOptions{}, map[string]string{EnvUser: "ann", EnvPassword: "secret"}, basicAnn},
		{"env token", base, RemoteOptions{}, map[string]string{EnvToken: "t"}, "Bearer t"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, k := range []string{EnvUser, EnvPassword, EnvToken} {
				t.Setenv(k, c.env[k])
			}
			c.opt.Header = http.Header{"X-Scope-OrgID": {"team"}}
			r := mustRemote(t, c.url, c.opt)
			if got != c.want || tenant != "team" {
				t.Errorf("Authorization %q, tenant %q, want %q", got, tenant, c.want)
			}
			if name := r.Sources()[0].Name; name != base {
				t.Errorf("source is named %q", name)
			}
		})
	}
}

func TestBoundLookback(t *testing.T) {
	for expr, want := range map[string]string{
		`a`:                             `last_over_time(a[2s500ms])`,
		`rate(a[1m])`:                   `rate(a[1m])`,
		`a / on(x) b{c="d"} offset 5m`:  `last_over_time(a[2s500ms]) / on (x) last_over_time(b{c="d"}[2s500ms] offset 5m)`,
		`topk(3, a)`:                    `topk(3, last_over_time(a[2s500ms]))`,
		`timestamp(a)`:                  `timestamp(a)`,
		`timestamp(a > 1)`:              `timestamp(last_over_time(a[2s500ms]) > 1)`,
		`absent(a)`:                     `absent(a)`,
		`max_over_time((-(a))[1m:10s])`: `max_over_time((-(last_over_time(a[2s500ms])))[1m:10s])`,
		`histogram_quantile(0.9, sum by (le) (rate(a_bucket[1m]))) > scalar(b)`: `histogram_quantile(0.9, sum by (le) (rate(a_bucket[1m]))) > scalar(last_over_time(b[2s500ms]))`,
	} {
		got, err := boundLookback(expr, 2500*time.Millisecond)
		if err != nil || got != want {
			t.Errorf("%s: %s, error %v\nwant %s", expr, got, err, want)
		}
	}
}
