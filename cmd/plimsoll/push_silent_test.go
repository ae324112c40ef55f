package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A receiver that accepts a request and never answers is a failure, even if the user interrupts the
// wait.
func TestPushToSilence(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	over := make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		interrupt()
		<-over
	}))

	defer receiver.Close()
	defer close(over)

	page := filepath.Join(t.TempDir(), "a.prom")
	if err := os.WriteFile(page, []byte("pg_up 1 1790000000000\npg_up 1 1790000001000\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	a, _, stderr := testApp("record", page, "--remote-write", receiver.URL+"/write?k=s3cret")
	code := a.run(ctx)
	if code != exitFailure || !strings.Contains(stderr.String(), "nothing was pushed: "+receiver.URL+"/write accepted nothing") || strings.Contains(stderr.String(), "s3cret") {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}
