package watch_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
	"plimsoll/internal/watch"
)

// send calls the handler with a body.
func (w *watched) send(method, path, kind, body string, header ...string) (status int, text string) {
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Header.Set("Content-Type", kind)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	w.Handler().ServeHTTP(rec, req)
	return rec.Code, rec.Body.String()
}

// A mark is accepted from this site and from programs, but not from other sites' pages.
func TestMarksByRequest(t *testing.T) {
	w := &watched{Watch: watch.New(nil, watch.Options{Pack: testkit.Pack(), AcceptMarks: func() bool { return true }})}
	for _, c := range []struct {
		name, method, path, kind, body string
		header                         []string
		want                           int
	}{
		{name: "a program", method: "POST", path: "/api/marks", kind: "application/json", body: `{"text":"a"}`, want: 201},
		{name: "the button", method: "POST", path: "/mark", kind: "application/x-www-form-urlencoded", header: []string{"Sec-Fetch-Site", "same-origin"}, want: 303},
		{name: "another site's form", method: "POST", path: "/mark", kind: "application/x-www-form-urlencoded", header: []string{"Sec-Fetch-Site", "cross-site"}, want: 403},
		{name: "another origin", method: "POST", path: "/mark", kind: "application/x-www-form-urlencoded", header: []string{"Origin", "https://evil.example.net"}, want: 403},
		{name: "another site's script", method: "POST", path: "/api/marks", kind: "application/json", body: `{"text":"a"}`, header: []string{"Sec-Fetch-Site", "cross-site"}, want: 403},
		{name: "a link", method: "GET", path: "/mark", want: 405},
		{name: "a plain text", method: "POST", path: "/api/marks", kind: "text/plain", body: `{"text":"a"}`, want: 415},
		{name: "no JSON", method: "POST", path: "/api/marks", kind: "application/json", body: `{`, want: 400},
		{name: "a long text", method: "POST", path: "/api/marks", kind: "application/json", body: `{"text":"` + strings.Repeat("x", 1000) + `"}`, want: 400},
		{name: "a long body", method: "POST", path: "/api/marks", kind: "application/json", body: `{"text":"` + strings.Repeat("x", 100_000) + `"}`, want: 400},
		{name: "a time far away", method: "POST", path: "/api/marks", kind: "application/json", body: `{"at":"9999-01-01T00:00:00Z"}`, want: 400},
	} {
		if status, text := w.send(c.method, c.path, c.kind, c.body, c.header...); status != c.want {
			t.Errorf("%s: status %d, want %d: %s", c.name, status, c.want, text)
		}
	}

	if all := w.Marks(); len(all) != 2 || all[0].Text != "a" || all[1].Text != recording.MarkTextDefault {
		t.Errorf("%+v", all)
	}

	if status, text := w.get("/api/marks"); status != 200 || !strings.Contains(text, `"text":"a"`) {
		t.Errorf("status %d: %s", status, text)
	}

	refused := 0
	for range 100 {
		if status, _ := w.send("POST", "/mark", "", ""); status == http.StatusTooManyRequests {
			refused++
		}
	}

	if refused < 60 {
		t.Errorf("%d of 100 marks were refused", refused)
	}
}

// Marks are off if any client could set them.
func TestMarksAreOff(t *testing.T) {
	w := &watched{Watch: watch.New(nil, watch.Options{Pack: testkit.Pack()})}
	for _, path := range []string{"/api/marks", "/mark"} {
		if status, text := w.send("POST", path, "application/json", "{}"); status != 403 || !strings.Contains(text, "--web.config.file") {
			t.Errorf("%s: status %d: %s", path, status, text)
		}
	}

	for _, c := range []struct {
		opt  watch.ServerOptions
		want bool
	}{
		{watch.ServerOptions{Addresses: []string{"127.0.0.1:0"}}, true},
		{watch.ServerOptions{Addresses: []string{"127.0.0.1:0"}, Hosts: []string{"proxy.example.net"}}, false},
		{watch.ServerOptions{Addresses: []string{":0"}}, false},
		{watch.ServerOptions{Addresses: []string{":0"}, Config: write(t, "web.yml", users)}, true},
	} {
		s, err := watch.Listen(t.Context(), c.opt)
		if err != nil {
			t.Fatal(err)
		}
		if s.Trusted() != c.want {
			t.Errorf("%+v: trusted %v", c.opt, s.Trusted())
		}
		s.Close()
	}
}

// TestPasswordsRemoved: the web configuration is read again for each request. Once its passwords
// are removed, marks are refused.
func TestPasswordsRemoved(t *testing.T) {
	config := write(t, "web.yml", users)
	s, err := watch.Listen(t.Context(), watch.ServerOptions{Addresses: []string{":0"}, Config: config})
	if err != nil {
		t.Fatal(err)
	}

	defer s.Close()
	w := &watched{Watch: watch.New(nil, watch.Options{Pack: testkit.Pack(), AcceptMarks: s.Trusted})}
	for _, x := range []struct {
		text string
		want bool
	}{{users, true}, {"http_server_config:\n  http2: false\n", false}, {"not: [valid", false}, {users, true}} {
		if err := os.WriteFile(config, []byte(x.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if status, text := w.send("POST", "/api/marks", "application/json", "{}"); (status != 403) != x.want {
			t.Errorf("with the configuration %q: status %d: %s, want it accepted: %v", x.text, status, text, x.want)
		}
	}
}

// A mark is stored in the ring and soon shown on the page, and so is a mark that another program
// sets in the ring.
func TestMarksOfARing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		ring, err := recording.Create(dir, recording.DiskOptions{Keep: time.Hour})
		if err != nil {
			t.Fatal(err)
		}

		w := start(t, watch.Options{Pack: testkit.Pack(), Ring: ring, AcceptMarks: func() bool { return true }}, newStalling(nil))
		time.Sleep(60 * time.Second)
		if _, text := w.get("/"); !strings.Contains(text, `<form method="post" action="/mark">`) {
			t.Error("the page has no button")
		}

		if _, err := w.Mark(time.Now(), "by <hand>\x1b[31m"); err != nil {
			t.Error(err)
		}

		rec := httptest.NewRecorder()
		w.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/", nil))
		if rec.Header().Get("Refresh") != "3" {
			t.Errorf("after a mark, the page reloads after %s s", rec.Header().Get("Refresh"))
		}

		time.Sleep(4 * time.Second)
		if _, text := w.get("/"); !strings.Contains(text, "by &lt;hand&gt; [31m") {
			t.Error("the mark is not on the page after four seconds")
		}

		if err := recording.AddMark(dir, recording.Mark{At: time.Now(), Text: "by another"}); err != nil {
			t.Error(err)
		}

		time.Sleep(10 * time.Second)
		if r := w.Report(); r == nil || len(r.Marks) != 2 || r.Marks[1].Text != "by another" {
			t.Errorf("marks of the report: %+v", r.Marks)
		}

		if n := len(w.changes.said(t, "marked")); n != 1 {
			t.Errorf("logged %d times", n)
		}

		w.end()
		if err := ring.Close(); err != nil {
			t.Error(err)
		}

		if all := recording.ReadMarks(dir); len(all) != 2 {
			t.Errorf("the ring has %+v", all)
		}
	})
}

// The client reports what went wrong.
func TestClient(t *testing.T) {
	w := watch.New(nil, watch.Options{Pack: testkit.Pack(), AcceptMarks: func() bool { return true }})
	address, _ := serving(t, watch.ServerOptions{Addresses: []string{"127.0.0.1:0"}, Config: write(t, "web.yml", users)}, w.Handler())

	at := time.Date(2026, 7, 20, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		url, user, password, want string
	}{
		{"http://" + address, "sre", "anchor", ""},
		{"http://" + address + "/", "sre", "anchor", ""},
		{"http://" + address, "sre", "wrong", "401"},
		{"http://" + address + "/elsewhere", "sre", "anchor", "not a plimsoll watch"},
		{"http://127.0.0.1:1", "", "", "refused"},
	} {
		u, err := url.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		m, err := (&watch.Client{URL: u, User: c.user, Password: c.password}).Mark(t.Context(), recording.Mark{At: at, Text: "x"})
		if c.want == "" && (err != nil || !m.At.Equal(at) || m.Text != "x") || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %+v, %v", c, m, err)
		}
	}
}
