package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// serveMetrics serves a page of a busy etcd's counters, which grow with each request: serve-metrics
// VARIABLE. The variable becomes its address.
func serveMetrics(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: serve-metrics VARIABLE")
	}
	s := httptest.NewServer(metricsPage())
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL+"/metrics")
}

// metricsPage is an etcd's page, whose counters grow with each request.
func metricsPage() http.Handler {
	var asked atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := asked.Add(1) * 100
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		fmt.Fprintf(w, "# TYPE etcd_disk_wal_fsync_duration_seconds histogram\n"+
			"etcd_disk_wal_fsync_duration_seconds_bucket{le=\"0.002\"} %d\netcd_disk_wal_fsync_duration_seconds_bucket{le=\"+Inf\"} %d\n"+
			"etcd_disk_wal_fsync_duration_seconds_sum %g\netcd_disk_wal_fsync_duration_seconds_count %d\n", n, n, float64(n)*0.001, n)
	})
}

// listening returns the address that watch logged.
var listening = regexp.MustCompile(`address=(127\.0\.0\.1:\d+)`)

// watchGet asks a watch for a path until the answer has the status: watch-get LOG PATH STATUS FILE.
// LOG is its stderr.
func watchGet(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: watch-get LOG PATH STATUS FILE")
	}

	status, err := strconv.Atoi(args[2])
	ts.Check(err)

	last := "it has not said where it listens"
	for range 600 { // a minute: far more than it takes, on any machine
		time.Sleep(100 * time.Millisecond)
		log, err := os.ReadFile(ts.MkAbs(args[0]))
		if err != nil {
			continue
		}

		at := listening.FindSubmatch(bytes.ReplaceAll(log, []byte(`"address":"`), []byte("address=")))
		if at == nil {
			continue
		}

		code, body, err := fetch(fmt.Sprintf("http://%s%s", at[1], args[1]))
		if err == nil && code == status {
			ts.Check(os.WriteFile(ts.MkAbs(args[3]), body, 0o644))
			return
		}

		last = fmt.Sprintf("status %d, %v: %s", code, err, body)
	}

	ts.Fatalf("%s: %s", args[1], last)
}

func fetch(url string) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}
