package chain

import (
	"slices"
	"testing"
	"time"

	"plimsoll/internal/trace/events"
)

// The files of one table are one cause under its name, and those of others stay as they are.
func TestNameFiles(t *testing.T) {
	of := func(file string, ms int) Behind {
		return Behind{Stage: DeviceQueue, Culprit: Culprit{Comm: "postgres", File: file, Why: WhyFsync}, Time: time.Duration(ms) * time.Millisecond}
	}
	r := &Report{Header: &events.Header{}, Behind: []Behind{of("/data/base/5/16396", 30), of("/data/base/5/16396.1", 20), of("/data/x", 5)},
		Callers: []Caller{{Files: []string{"/data/x", "/data/pg_wal/1"}}}}

	if got, want := r.Files(3), []string{"/data/base/5/16396", "/data/base/5/16396.1", "/data/x"}; !slices.Equal(got, want) {
		t.Errorf("the files are %q, want %q", got, want)
	}
	if got := r.Causes(); len(got) != 3 {
		t.Errorf("%d causes without names, want 3: %+v", len(got), got)
	}

	r.Header.Holds = map[string]string{"/data/base/5/16396": "orders", "/data/base/5/16396.1": "orders"}
	r.NameFiles()
	got := r.Causes()
	if len(got) != 2 || got[0].Culprit.Holds != "orders" || got[0].Time != 50*time.Millisecond || got[1].Culprit.Holds != "" {
		t.Errorf("the causes are %+v", got)
	}
	if a, b := r.FileName("/data/base/5/16396.1"), r.FileName("/data/x"); a != "orders" || b != "x" {
		t.Errorf("the names are %q and %q", a, b)
	}
}
