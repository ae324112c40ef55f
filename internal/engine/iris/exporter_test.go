package iris_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/engine/iris"
	"plimsoll/internal/record/exposition"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// irisServer answers as IRIS does under /api/monitor/metrics: lines without HELP or TYPE, labels id
// and dir, and numbers as ObjectScript writes them, .031 for 0.031. If user is "", no login is
// needed, which is IRIS' default. The page follows the documentation's descriptions ("Monitoring
// InterSystems IRIS via REST").
func irisServer(t *testing.T, user, password string, allowed bool) *httptest.Server {
	t.Helper()
	page, err := os.ReadFile("testdata/iris.txt")
	if err != nil {
		t.Fatal(err)
	}

	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u, p, _ := r.BasicAuth()
		switch {
		case r.URL.Path != "/api/monitor/metrics":
			w.WriteHeader(http.StatusNotFound)
		case user != "" && (u != user || p != password):
			w.WriteHeader(http.StatusUnauthorized)
		case !allowed:
			w.WriteHeader(http.StatusForbidden)
		default:
			w.Header().Set("Content-Type", "text/plain;version=0.0.4")
			_, _ = w.Write(page)
		}
	}))

	t.Cleanup(s.Close)
	return s
}

func TestIRIS(t *testing.T) {
	env := func(k string) string {
		return map[string]string{exposition.EnvUser: "monitor", exposition.EnvPassword: "iris-s3cret"}[k]
	}
	s := irisServer(t, "monitor", "iris-s3cret", true)
	src, err := exposition.OpenURL(s.URL+"/api/monitor/metrics", exposition.URLOptions{Exporters: iris.Engine.Source.Exporters, Getenv: env})
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m := recording.NewMemory(recording.MemoryOptions{})

	if err := src.Read(ctx, m, source.Options{For: time.Millisecond}); err != nil {
		t.Fatal(err)
	}

	if d := src.Describe(); d.Engine != "iris" {
		t.Errorf("%+v", d)
	}

	for selector, want := range map[string]float64{
		`iris_wd_cycle_time`:                                   104211,
		`iris_db_latency{id="IRISSYS"}`:                        0.031,
		`iris_jrn_free_space{id="primary",dir="/jrn/"}`:        90112,
		`iris_disk_percent_full{id="USER",dir="/data/user/"}`:  41.5,
		`iris_phys_writes_per_sec`:                             2210,
		`iris_directory_space{id="USER",dir=~"/data/user/.*"}`: 204312,
	} {
		got, err := m.Samples(ctx, recording.MustSelector(selector), time.UnixMilli(0), time.Now().Add(time.Hour))
		if err != nil || len(got) != 1 || got[0].Points[0].F != want {
			t.Errorf("%s: %v, %v; not %v", selector, got, err, want)
		}
	}

	if len(m.Notes()) > 0 {
		t.Errorf("%+v", m.Notes())
	}
}

func TestIRISRefuses(t *testing.T) {
	for _, x := range []struct {
		name    string
		env     map[string]string
		allowed bool
	}{
		{"no user", nil, true},
		{"a wrong password", map[string]string{exposition.EnvUser: "monitor", exposition.EnvPassword: "wr0ng-s3cret"}, true},
		{"a user without permission", map[string]string{exposition.EnvUser: "monitor", exposition.EnvPassword: "iris-s3cret"}, false},
	} {
		s := irisServer(t, "monitor", "iris-s3cret", x.allowed)
		src, err := exposition.OpenURL(s.URL+"/api/monitor/metrics", exposition.URLOptions{Exporters: iris.Engine.Source.Exporters, Getenv: func(k string) string { return x.env[k] }})
		if err != nil {
			t.Fatal(err)
		}
		err = exposition.Probe(t.Context(), src)
		if err == nil || !strings.Contains(err.Error(), "web application /api/monitor") || !strings.Contains(err.Error(), exposition.EnvUser) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", x.name, err)
		}
	}
}
