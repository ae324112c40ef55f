package mongod_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/examples/mongod"
	"plimsoll/internal/lab/table"
	"plimsoll/internal/model/simulate"
)

// mechanisms lists the model's mechanisms that a scenario can turn off, and how.
var mechanisms = []struct {
	name string
	sets []string
}{
	{"what loading left in the page cache", []string{"engine.mongodb.loading=0s"}},
	{"the kernel's writeback throttling", []string{"host.wbt_lat_usec=0"}},
	{"page cache that is given back", []string{"engine.mongodb.page_cache_keeps=0s"}},
	{"the history store", []string{"engine.mongodb.history=0s"}},
	{"a compressor", []string{"engine.mongodb.compressor=false"}},
	{"retryable writes", []string{"engine.mongodb.retryable_writes=false"}},
	{"the server: oplog, history store, its CPU", []string{"engine.mongodb.oplog=false"}},
	{"CPU of requests, rounds and replies", []string{"engine.mongodb.cpu.request=0s", "engine.mongodb.cpu.round=0s", "engine.mongodb.cpu.reply=0s"}},
	{"requests that cost less if no core is free", []string{"engine.mongodb.cpu.busy=100%"}},
	{"cores that have to wake up", []string{"host.wakeup=0s"}},
	{"a page's turn of a server's eviction thread: the bare engine's", []string{"engine.mongodb.cpu.eviction=2ms"}},
	{"scrubbing before a checkpoint", []string{"engine.mongodb.eviction_checkpoint_target=100%"}},
}

// The effect of each mechanism on each run, one turned off at a time: `CI_FULL=1 go test ./examples/mongod
// -run Mechanisms -v` prints it. The test only requires that each has some effect, so otherwise a mechanism
// is not turned off again once it had one.
func TestMechanisms(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short no mechanism is left out")
	}

	suite, err := table.ReadSuite(mongod.Files)
	if err != nil {
		t.Fatal(err)
	}

	full := os.Getenv("CI_FULL") != ""
	moved := make([]bool, len(mechanisms))
	for _, run := range suite.Runs {
		if !full && !slices.Contains(moved, false) {
			break
		}

		with := figures(t, run)
		var out strings.Builder
		fmt.Fprintf(&out, "%-44s %10s %10s %10s\n", run.Name, "p50", "p99", "checkpoint")
		fmt.Fprintf(&out, "  %-42s %s\n", "the model", with)

		for i, m := range mechanisms {
			if !full && moved[i] {
				continue
			}
			without := run
			without.Set = slices.Concat(run.Set, m.sets)
			f := figures(t, without)
			moved[i] = moved[i] || f != with
			fmt.Fprintf(&out, "  without %-34s %s\n", m.name, f)
		}

		t.Log("\n" + out.String())
	}

	for i, m := range mechanisms {
		if !moved[i] {
			t.Errorf("%s moves nothing in any run", m.name)
		}
	}
}

// figures simulates a run, and returns p50, p99 and a checkpoint's median length as text.
func figures(t *testing.T, run table.Run) string {
	t.Helper()
	sc, err := run.Open(mongod.Files, language)
	if err != nil {
		t.Fatal(err)
	}

	r, err := simulate.Run(t.Context(), sc, simulate.Options{})
	if err != nil {
		t.Fatal(err)
	}

	of := table.FiguresOf(r)
	ms := func(seconds *float64) string {
		if seconds == nil {
			return "-"
		}
		return time.Duration(*seconds * 1e9).Round(100 * time.Microsecond).String()
	}

	return fmt.Sprintf("%10s %10s %10s", ms(of.Writes.All.P50Seconds), ms(of.Writes.All.P99Seconds), ms(of.Checkpoints.MedianSeconds))
}
