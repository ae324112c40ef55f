//go:build linux

package pods_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/internal/advise/rollout/pods"
	"plimsoll/internal/advise/rollout/steps"
	"plimsoll/internal/engine/etcd/clustertest"
)

// A page of metrics is recorded before and after all changes, and the recordings are compared. A rollout
// that is killed while it records, or before it compares, resumes with its original options.
func recorded(t *testing.T, s *clustertest.Server) {
	w := newWorld(t, s, "recorded")
	kept := w.claims()
	var scrapes atomic.Int64
	page := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(rw, "scrapes_total %d\n", scrapes.Add(1))
	}))
	defer page.Close()
	dir := t.TempDir()
	recorder := &steps.Recorder{
		Record: func(ctx context.Context, p steps.Period) error {
			if !slices.Equal(p.Sources, []string{page.URL}) || p.Long != time.Minute {
				return fmt.Errorf("asked to record %q for %s", p.Sources, p.Long)
			}
			return scrape(ctx, p)
		},
		Least: func(context.Context, string, string) (time.Duration, error) { return 0, nil },
		Prove: func(_ context.Context, before, after string) (steps.Proof, error) {
			a, err := os.ReadFile(filepath.Join(before, "page"))
			b, errAfter := os.ReadFile(filepath.Join(after, "page"))
			return steps.Proof{Verdict: steps.Better, Text: string(a) + string(b)}, errors.Join(err, errAfter)
		},
	}

	with := func(opt pods.Options) pods.Options { // a process that resumes has only the recorder
		opt.Recorder = recorder
		return opt
	}

	begin := func(opt pods.Options) error {
		opt.Sources, opt.Dir, opt.RecordFor = []string{page.URL}, dir, time.Minute
		return w.begin(whole...)(with(opt))
	}

	points, killed, err := w.attempt(4, begin)
	if err != nil || !killed || points[3] != "begun record before" {
		t.Fatalf("%v, %v, %q", killed, err, points)
	}

	resumed := func(opt pods.Options) error { return w.again(resume)(with(opt)) }
	points, _, err = w.attempt(0, func(opt pods.Options) error {
		at := opt.At
		opt.At = func(point string) {
			if at(point); point == "begun prove" {
				panic(point)
			}
		}
		defer func() { _ = recover() }() // the process ends here
		return resumed(opt)
	})
	if err != nil || points[len(points)-1] != "begun prove" {
		t.Fatalf("%v, %q", err, points)
	}

	if first, last := slices.Index(points, "done record before"), slices.Index(points, "begun record after"); first < 0 || slices.Index(points, "begun classes") < first || slices.Index(points, "done strategy") > last {
		t.Errorf("it recorded at the wrong time: %q", points)
	}

	if _, _, err := w.attempt(0, resumed); err != nil {
		t.Fatal(err)
	}

	w.hasMoved(kept)
	r, err := pods.Open(t.Context(), w.by, w.at, with(w.options(nil)))
	if err != nil {
		t.Fatal(err)
	}

	report := r.Report(t.Context(), false)
	if report.Proof != steps.Better || report.ProofText != "scrapes_total 1\nscrapes_total 2\n" || report.Recordings.Before != filepath.Join(dir, "before") {
		t.Errorf("the report has %q, %q, %+v", report.Proof, report.ProofText, report.Recordings)
	}

	if len(report.OldLog) != 3 || !strings.HasPrefix(report.OldLog[1], "kubectl exec -n db recorded-1 -c mongod -- rm -r ") {
		t.Errorf("to remove the old logs: %q", report.OldLog)
	}
}

// scrape writes a page of metrics into a period's folder.
func scrape(ctx context.Context, p steps.Period) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Sources[0], nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return errors.Join(err, os.MkdirAll(p.Dir, 0o700), os.WriteFile(filepath.Join(p.Dir, "page"), text, 0o600)) // in this order
}
