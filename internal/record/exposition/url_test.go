package exposition

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// fakeExporter answers within a synctest bubble, without a network.
type fakeExporter func(*http.Request) (status int, contentType, body string, delay time.Duration)

func (f fakeExporter) RoundTrip(r *http.Request) (*http.Response, error) {
	status, contentType, body, delay := f(r)
	select {
	case <-time.After(delay):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if status == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {contentType}},
		Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func openFake(t *testing.T, raw string, env map[string]string, f fakeExporter) source.Source {
	t.Helper()
	src, err := OpenURL(raw, URLOptions{Exporters: exporters, Transport: f, Getenv: func(k string) string { return env[k] }})
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// TestSchedule: pages are requested at whole multiples of the period and timestamped with the time of
// the request. A page that fails leaves a gap.
func TestSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(300 * time.Millisecond) // start off the grid
		begin := time.Now()
		var asked []time.Duration
		src := openFake(t, "http://db1:2379/metrics", nil, func(*http.Request) (int, string, string, time.Duration) {
			asked = append(asked, time.Since(begin))
			switch n := len(asked); n {
			case 3:
				return 200, openMetricsType, "# TYPE etcd_a gauge\netcd_a 3\n# EOF\n", 1500 * time.Millisecond // a stall
			case 5, 6:
				return 0, "", "", 0
			default:
				return 200, textType, fmt.Sprintf("etcd_a %d\n", n), 20 * time.Millisecond
			}
		})

		m := recording.NewMemory(recording.MemoryOptions{})
		if err := src.Read(t.Context(), m, source.Options{Period: time.Second, For: 9 * time.Second}); err != nil {
			t.Fatal(err)
		}

		ms := func(n ...int) (out []time.Duration) {
			for _, v := range n {
				out = append(out, time.Duration(v)*time.Millisecond)
			}
			return out
		}

		if want := ms(0, 700, 1700, 3700, 4700, 5700, 6700, 7700, 8700); !slices.Equal(asked, want) {
			t.Errorf("asked at %v, want %v", asked, want)
		}

		series, err := m.Samples(t.Context(), recording.MetricSelector("etcd_a"), begin, begin.Add(time.Minute))
		if err != nil || len(series) != 1 {
			t.Fatal(series, err)
		}

		got := ""
		for _, p := range series[0].Points {
			got += fmt.Sprintf(" %d:%v", p.T-begin.UnixMilli(), p.F)
		}

		if want := " 0:1 700:2 1700:3 3700:4 6700:7 7700:8 8700:9"; got != want {
			t.Errorf("samples%s, want%s", got, want)
		}

		notes := m.Notes()
		if len(notes) != 1 || notes[0].Kind != recording.NoteGap || notes[0].From.Sub(begin) != 3700*time.Millisecond || notes[0].To.Sub(begin) != 6700*time.Millisecond {
			t.Errorf("notes %+v, want a gap from 3.7 to 6.7 s", notes)
		}

		if d := src.Describe(); d.Engine != "etcd" || d.Period != time.Second || d.Samples != 7 || !src.Live() {
			t.Errorf("described as %+v", d)
		}
	})
}

// TestEndOfContext: when the context ends, the samples so far are kept, and no error is returned.
func TestEndOfContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		src := openFake(t, "http://db1/metrics", nil, func(*http.Request) (int, string, string, time.Duration) {
			return 200, textType, "pg_up 1\n", 0
		})
		m := recording.NewMemory(recording.MemoryOptions{})
		if err := src.Read(ctx, m, source.Options{}); err != nil {
			t.Fatal(err)
		}
		if d := src.Describe(); d.Samples != 4 {
			t.Errorf("%d samples, want 4", d.Samples)
		}
	})
}

// TestSecrets: credentials are sent to the server and appear nowhere else.
func TestSecrets(t *testing.T) {
	for name, tt := range map[string]struct {
		url  string
		env  map[string]string
		want string
	}{
		"URL":         {"http://annika:s3cret@db1/metrics", map[string]string{EnvToken: "t0ken"}, "Basic YW5uaWthOnMzY3JldA=="},
		"environment": {"http://db1/metrics", map[string]string{EnvUser: "annika", EnvPassword: "s3cret"}, "Basic YW5uaWthOnMzY3JldA=="},
		"token":       {"http://db1/metrics?token=s3cret", map[string]string{EnvToken: "t0ken"}, "Bearer t0ken"},
	} {
		t.Run(name, func(t *testing.T) {
			var got string
			status := 200
			src := openFake(t, tt.url, tt.env, func(r *http.Request) (int, string, string, time.Duration) {
				got = r.Header.Get("Authorization")
				return status, textType, "up 1\n", 0
			})

			m := recording.NewMemory(recording.MemoryOptions{})
			if err := src.Read(t.Context(), m, source.Options{For: time.Nanosecond}); err != nil {
				t.Fatal(err)
			}

			texts := fmt.Sprint(src.Describe(), m.Sources(), m.Notes())
			for _, status = range []int{0, 401, 404, 500} {
				texts += fmt.Sprint(src.Read(t.Context(), m, source.Options{}))
			}

			if got != tt.want {
				t.Errorf("sent %q, want %q", got, tt.want)
			}

			for _, secret := range []string{"s3cret", "t0ken", "YW5u", "annika"} {
				if strings.Contains(texts, secret) {
					t.Errorf("%q appears in %s", secret, texts)
				}
			}
		})
	}
	if _, err := OpenURL("http://annika:s3cret@db1:port/metrics", URLOptions{}); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("error of a malformed URL: %v", err)
	}
}

func TestURLErrors(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/html":
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<html>")
		case "/empty":
		case "/prose":
			io.WriteString(w, "hello there world\n")
		case "/huge":
			block := bytes.Repeat([]byte("# zeros\n"), 1<<16)
			for range PageBytesMax/len(block) + 2 {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		case "/auth":
			w.WriteHeader(401)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/torn":
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, "up 1\n")
		default:
			http.NotFound(w, r)
		}
	}))

	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "up 1\n") }))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	gone := httptest.NewServer(nil)
	gone.Close()

	for url, want := range map[string]string{
		plain.URL + "/html":    "a web page",
		plain.URL + "/empty":   "has no metrics",
		plain.URL + "/prose":   "does not respond with metrics",
		plain.URL + "/huge":    "larger than 64 MiB",
		plain.URL + "/auth":    EnvToken,
		plain.URL + "/loop":    "too many redirects",
		plain.URL + "/torn":    "unexpected EOF",
		plain.URL + "/nowhere": "check the path",
		secure.URL:             "not trusted",
		gone.URL:               "check the host and port",
		"https" + strings.TrimPrefix(plain.URL, "http"):   "try http://",
		"http://no.such.host.invalid/metrics":             "check the host name",
		"http" + strings.TrimPrefix(secure.URL, "https"):  "400",
		"http://127.0.0.1:1/metrics?access_token=s3cret&": "check the host and port",
	} {
		src, err := OpenURL(url, URLOptions{Getenv: func(string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		m := recording.NewMemory(recording.MemoryOptions{})
		err = src.Read(t.Context(), m, source.Options{Period: 2 * time.Minute}) // answers may take that long
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: error %v, want one with %q", url, err, want)
		}
	}

	src, err := OpenURL(secure.URL, URLOptions{Insecure: true})
	if err != nil {
		t.Fatal(err)
	}

	if err := src.Read(t.Context(), recording.NewMemory(recording.MemoryOptions{}), source.Options{For: 1}); err != nil {
		t.Errorf("with Insecure: %v", err)
	}

	for _, raw := range []string{"ftp://host/metrics", "http://", "host:9100"} {
		if _, err := OpenURL(raw, URLOptions{}); err == nil {
			t.Errorf("OpenURL(%q) took it", raw)
		}
	}
}

// Credentials are sent only to the server that they belong to: not to another host, nor to another of
// its ports.
func TestCredentialsDoNotFollowRedirects(t *testing.T) {
	var got []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		io.WriteString(w, "up 1\n")
	}))

	defer other.Close()
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "s3#cret" {
			t.Errorf("the password is %q", password)
		}
		http.Redirect(w, r, other.URL, http.StatusFound)
	}))

	defer first.Close()
	src, err := OpenURL(strings.Replace(first.URL, "http://", "http://me:s3#cret@", 1), URLOptions{Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}

	if err := Probe(t.Context(), src); err != nil {
		t.Fatal(err)
	}

	if len(got) != 1 || got[0] != "" {
		t.Errorf("the other server was sent %q", got)
	}
}

// TestFederatedPage: a server that forwards samples repeats each one until it has the next. Repeats
// count as one sample, no sample is lost, and series without timestamps are sampled every second.
func TestFederatedPage(t *testing.T) {
	for _, live := range []string{"", "own_age_seconds 1\n"} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			src := openFake(t, "http://prometheus:9090/federate", nil, func(*http.Request) (int, string, string, time.Duration) {
				scraped := begin.Add(time.Since(begin).Truncate(5 * time.Second))
				other := scraped.Add(-time.Second)
				return 200, textType, fmt.Sprintf("etcd_a 1 %d\netcd_b 2 %d\n%s", scraped.UnixMilli(), other.UnixMilli(), live), 0
			})

			m := recording.NewMemory(recording.MemoryOptions{})
			if err := src.Read(t.Context(), m, source.Options{Period: time.Second, For: 14 * time.Second}); err != nil {
				t.Fatal(err)
			}

			for _, n := range m.Notes() {
				t.Errorf("a note: %+v", n)
			}

			for name, want := range map[string]int{"etcd_a": 3, "etcd_b": 3, "own_age_seconds": 15 * min(1, len(live))} {
				series, err := m.Samples(t.Context(), recording.MustSelector(name), begin.Add(-time.Minute), begin.Add(time.Minute))
				if err != nil {
					t.Fatal(err)
				}
				got := 0
				for _, s := range series {
					got += len(s.Points)
				}
				if got != want {
					t.Errorf("%d samples of %s, want %d", got, name, want)
				}
			}

			if want := map[bool]int64{true: 3, false: 15}[live == ""]; src.Describe().Samples != want {
				t.Errorf("described with %d samples, want %d", src.Describe().Samples, want)
			}
		})
	}
}
