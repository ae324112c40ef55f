//go:build linux

package trace_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/trace"
	"plimsoll/internal/trace/chain"
	"plimsoll/internal/trace/target"
)

// enough is how many slow calls a scenario is judged by; tracedMost is how long they are waited for.
const (
	enough     = 8
	tracedMost = 2 * time.Minute
)

// traced traces a target for a time at least, until it has enough slow calls. It keeps the events only if they are needed:
// else they are dropped where no call lasted, as they are for whoever asks for no file.
func traced(t *testing.T, c target.Choice, slower, least time.Duration, keep bool) *trace.Result {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, err := trace.Run(ctx, trace.Options{Target: c, For: tracedMost, Slower: slower, Keep: keep,
		Progress: func(done float64, slow int, waited time.Duration) {
			if slow >= enough && waited > 2*time.Second && done*tracedMost.Seconds() >= least.Seconds() {
				cancel()
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// culprit is the share of the wait that is behind a program's requests. What a call spent without a
// processor is no wait: other tests may run on this machine.
func culprit(r *chain.Report, comm string) float64 {
	wait, behind := 0.0, 0.0
	for _, c := range r.Causes() {
		if c.Kind == chain.Processor {
			continue
		}
		wait += c.Share
		if c.Kind == chain.Others && c.Culprit.Comm == comm {
			behind += c.Share
		}
	}
	if wait == 0 {
		return 0
	}
	return behind / wait
}

func stage(r *chain.Report, s chain.Stage) units.Ratio { return units.Ratio(r.Of(s)) }

// Real programs whose culprit is known, on an emulated volume.
func TestCulprit(t *testing.T) {
	for _, x := range []struct {
		name    string
		turn    int // of .ci/run; always: -1
		fs      string
		slots   int
		target  func(*testing.T, *emulated) target.Choice
		disturb func(*testing.T, *emulated)
		who     string
		stage   chain.Stage // which must be there
	}{
		{"fio beside dd, ext4", -1, "ext4", 0, journal, large, "dd", chain.DeviceQueue},
		{"fio beside dd, xfs", 1, "xfs", 0, journal, large, "dd", chain.DeviceQueue},
		{"fio beside direct writes, ext4", 1, "ext4", 0, journal, directly, "neighbour", chain.DeviceQueue},
		{"fio beside direct writes, xfs", 2, "xfs", 0, journal, directly, "neighbour", chain.DeviceQueue},
		{"four requests, ext4", -1, "ext4", 4, journal, directly, "neighbour", chain.TagWait},
		{"SQLite beside dd, ext4", 1, "ext4", 0, sqlite, large, "dd", chain.DeviceQueue},
		{"SQLite beside dd, xfs", 0, "xfs", 0, sqlite, large, "dd", chain.DeviceQueue},
	} {
		t.Run(x.name, func(t *testing.T) {
			takesTurn(t, x.turn)
			need(t, "dd", "fio", "sh")
			e := emulate(t, x.fs, x.slots)
			choice := x.target(t, e)
			x.disturb(t, e)
			r := traced(t, choice, 20*time.Millisecond, 0, false).Report
			share := culprit(r, x.who)
			t.Logf("%s: %d slow calls, %v in all: %.0f %% behind %s; device queue %s, tag wait %s, writeback throttling %s, device %s, without a processor %s, unexplained %s",
				x.name, r.Slow, r.SlowTime, 100*share, x.who, stage(r, chain.DeviceQueue), stage(r, chain.TagWait), stage(r, chain.WBT),
				stage(r, chain.DeviceOwn), stage(r, chain.Runnable), stage(r, chain.Unexplained))
			logUnexplained(t, r)
			wrong := r.Slow < enough || share < 0.8 || r.Of(x.stage) < 0.1 || r.Header.Totals.Lost > 0
			if wrong && e.disk.Stats().Saturated {
				t.Skip("the machine was too busy to emulate the volume: it waited for a processor itself")
			}
			if r.Slow < enough {
				t.Fatalf("%d slow calls", r.Slow)
			}
			if share < 0.8 {
				t.Errorf("%.0f %% of the wait is behind %s, want 80: %+v", 100*share, x.who, r.Causes())
			}
			if r.Of(x.stage) < 0.1 {
				t.Errorf("stage %s has %.2f of the time: %+v", x.stage, r.Of(x.stage), r.Stages)
			}
			if r.Header.Totals.Lost > 0 {
				t.Errorf("%d events were lost", r.Header.Totals.Lost)
			}
		})
	}
}

func journal(t *testing.T, e *emulated) target.Choice {
	return target.Choice{PID: appending(t, e.dir).Pid}
}

func large(t *testing.T, e *emulated) { copying(t, e.dir) }

func directly(t *testing.T, e *emulated) { direct(t, filepath.Join(e.dir, "other")) }

// sqlite commits a row at a time, as its shell does.
func sqlite(t *testing.T, e *emulated) target.Choice {
	if _, err := exec.LookPath("sqlite3"); err != nil {
		t.Skip("sqlite3 is not installed")
	}
	var sql strings.Builder
	sql.WriteString("create table t(x);\n")
	for range 50_000 {
		sql.WriteString("insert into t values(randomblob(200));\n")
	}
	file := filepath.Join(t.TempDir(), "load.sql")
	write(t, file, sql.String())
	return target.Choice{PID: start(t, nil, "sqlite3", filepath.Join(e.dir, "db"), ".read "+file).Pid}
}
