//go:build linux

package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	wiredtigermodel "plimsoll/internal/engine/mongodb/model"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/workload"
)

func TestBadSettings(t *testing.T) {
	t.Setenv(variable, filepath.Join(t.TempDir(), "none"))
	m := machine(t, yaml(updates, "checkpoint: 60s"))
	cfg := *scenario.ConfigOf[*wiredtigermodel.Config](m.Scenario)

	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "make worker") {
		t.Errorf("no worker: %v", err)
	}

	t.Setenv(variable, "")
	t.Setenv("PATH", t.TempDir())
	if _, err := New(cfg); !errors.Is(err, errWorker) || !strings.Contains(err.Error(), "libwiredtiger-dev") {
		t.Errorf("no worker: %v", err)
	}

	other := filepath.Join(t.TempDir(), "other")
	for text, want := range map[string]string{
		"#!/bin/sh\necho hello\n": "is not plimsoll-wiredtiger",
		"#!/bin/sh\necho plimsoll-wiredtiger, protocol 9, WiredTiger 3.2.1\n": "protocol version 9",
		"#!/bin/sh\necho no library >&2; exit 127\n":                          "no library",
	} {
		if err := os.WriteFile(other, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv(variable, other)
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}

	cfg.LeafPage = 1
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "leaf_page") {
		t.Errorf("a leaf of a byte: %v", err)
	}
}

func TestStartFails(t *testing.T) {
	m := machine(t, yaml(updates, "checkpoint: 60s"))
	s := started(t, m, options{})
	if err := s.Start(t.Context(), m, nil); err == nil {
		t.Error("it starts twice")
	}

	again, err := newServer(s.cfg, options{})
	if err != nil {
		t.Fatal(err)
	}

	if err := again.Start(t.Context(), m, nil); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("on a database: %v", err)
	}

	if err := again.Stop(t.Context()); err != nil {
		t.Errorf("stopping after a failed start: %v", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	late, err := newServer(s.cfg, options{})
	if err != nil {
		t.Fatal(err)
	}

	if err := late.Start(ctx, machine(t, yaml(updates, "checkpoint: 60s")), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled start: %v", err)
	}

	if late.current() != nil {
		t.Error("it left a worker")
	}
}

// If a worker ends unexpectedly, all waiting callers get an error that says why.
func TestWorkerDies(t *testing.T) {
	s := started(t, machine(t, yaml(updates, "checkpoint: 60s")), options{})
	w := s.current()
	op := lab.Op{Op: workload.Op{Kind: workload.Update, Key: 1, Size: 100, Document: 100}, Seq: 1}

	if err := w.send([]byte{1, 0, 0, 0}); err != nil {
		t.Fatal(err)
	}

	for end := time.Now().Add(patience); ; {
		err := s.Do(t.Context(), 0, &op)
		if err != nil {
			if !strings.Contains(err.Error(), "bad frame") {
				t.Errorf("the error is %v", err)
			}
			break
		}
		if time.Now().After(end) {
			t.Fatal("it is still running")
		}
	}

	if err := s.Stop(t.Context()); err != nil {
		t.Errorf("stopping after it ended: %v", err)
	}

	if err := s.Do(t.Context(), 0, &op); err == nil {
		t.Error("an operation succeeds without a worker")
	}

	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}

	has(t, s, 0, 0, true)
}

// Operations whose context ends do not disturb later ones on the same connection.
func TestCancelled(t *testing.T) {
	s := started(t, machine(t, yaml(updates, "checkpoint: 60s")), options{})
	for i := range uint64(200) {
		ctx, cancel := context.WithCancel(t.Context())
		op := lab.Op{Op: workload.Op{Kind: workload.Read, Key: i}}
		go cancel()
		if err := s.Do(ctx, 0, &op); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		write(t, s, workload.Update, i, i+1, 100, 100)
	}
	for i := range uint64(200) {
		has(t, s, i, i+1, true)
	}
}
