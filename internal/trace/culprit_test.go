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

// enough is the minimum number of slow calls for a verdict; tracedMost is how long to wait for
// them.
const (
	enough     = 8
	tracedMost = 2 * time.Minute
)

// traced traces a target for at least some time, until it has enough slow calls. It keeps the
// events only if they are needed: otherwise they are dropped in quiet times, as for a user who does
// not save the trace.
func traced(t testing.TB, c target.Choice, slower, least time.Duration, keep bool) *trace.Result {
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

// blame returns the share of the slow calls' time behind the guilty process, the share behind others,
// and the share waiting for a CPU or in the kernel. The device counts as none of them.
func blame(t testing.TB, r *chain.Report, guilty func(testing.TB, *chain.Cause) bool) (right, wrong, busy float64) {
	t.Helper()
	for _, c := range r.Causes() {
		switch {
		case c.Kind == chain.Processor || c.Kind == chain.TheKernel:
			busy += c.Share
		case guilty(t, &c):
			right += c.Share
		case c.Kind == chain.Others || c.Kind == chain.TheLimit || c.Kind == chain.NobodyKnown || c.Kind == chain.NotKnown:
			wrong += c.Share
		}
	}
	return right, wrong, busy
}

// busyMost is the maximum share of the slow calls' time without a CPU at which the emulation still
// counts as accurate.
const busyMost = 0.3

// judge checks that a trace lost nothing and blames the guilty process for at least 80 % of the wait.
// If the emulated volume itself was starved of CPU, that time counts as the device's. In that case,
// judge checks that at most a fifth of what the trace blames on others is wrong or unknown. It returns
// which of the two was checked.
func judge(t testing.TB, e *emulated, r *chain.Report, guilty func(testing.TB, *chain.Cause) bool) (asPlanned bool) {
	t.Helper()
	right, wrong, busy := blame(t, r, guilty)
	asPlanned = !e.disk.Stats().Saturated && busy <= busyMost
	t.Logf("%d slow calls, %v in all: %.0f %% behind the expected culprit, %.0f %% behind others, %.0f %% was not waiting; device queue %s, tag wait %s, writeback throttling %s, device %s, without a CPU %s, unexplained %s",
		r.Slow, r.SlowTime, 100*right, 100*wrong, 100*busy, stage(r, chain.DeviceQueue), stage(r, chain.TagWait), stage(r, chain.WBT),
		stage(r, chain.DeviceOwn), stage(r, chain.Runnable), stage(r, chain.Unexplained))

	for i, c := range r.Causes() {
		if i < 6 {
			t.Logf("  %5.1f %% %s %+v", 100*c.Share, c.Kind, c.Culprit)
		}
	}

	logUnexplained(t, r)

	if r.Slow < enough {
		t.Fatalf("%d slow calls, want %d", r.Slow, enough)
	}

	if asPlanned && right < 0.8*(1-busy) {
		t.Errorf("%.0f %% is behind the expected culprit, want 80 %% of the %.0f %% spent waiting", 100*right, 100*(1-busy))
	}

	if right == 0 || wrong > (right+wrong)/5 {
		t.Errorf("%.0f %% is behind the expected culprit, but %.0f %% behind others", 100*right, 100*wrong)
	}

	if lost := r.Header.Totals.Lost; lost > 0 {
		t.Errorf("%d events were lost", lost)
	}

	return asPlanned
}

// logUnexplained logs where the worst calls waited for long without a known reason.
func logUnexplained(t testing.TB, r *chain.Report) {
	t.Helper()
	for i := range r.Worst {
		for k := range r.Worst[i].Segments {
			if s := &r.Worst[i].Segments[k]; s.Stage == chain.Unexplained && s.Took() > time.Millisecond {
				t.Logf("unexplained: %v at %q in %s", s.Took(), s.Place, s.Stack)
			}
		}
	}
}

func stage(r *chain.Report, s chain.Stage) units.Ratio { return units.Ratio(r.Of(s)) }

// Real programs with a known culprit, on an emulated volume.
func TestCulprit(t *testing.T) {
	for _, x := range []struct {
		name    string
		turn    int // of .ci/run; -1: always
		fs      string
		slots   int
		target  func(testing.TB, *emulated) target.Choice
		disturb func(testing.TB, *emulated)
		who     string
		stage   chain.Stage // must occur
	}{
		{"fio next to dd, ext4", -1, "ext4", 0, journal, large, "dd", chain.DeviceQueue},
		{"fio next to dd, xfs", 1, "xfs", 0, journal, large, "dd", chain.DeviceQueue},
		{"fio next to direct writes, ext4", 1, "ext4", 0, journal, directly, "neighbour", chain.DeviceQueue},
		{"fio next to direct writes, xfs", 2, "xfs", 0, journal, directly, "neighbour", chain.DeviceQueue},
		{"four requests, ext4", -1, "ext4", 4, journal, directly, "neighbour", chain.TagWait},
		{"SQLite next to dd, ext4", 1, "ext4", 0, sqlite, large, "dd", chain.DeviceQueue},
		{"SQLite next to dd, xfs", 0, "xfs", 0, sqlite, large, "dd", chain.DeviceQueue},
	} {
		t.Run(x.name, func(t *testing.T) {
			takesTurn(t, x.turn)
			need(t, "dd", "fio", "sh")
			e := emulate(t, x.fs, x.slots)
			choice := x.target(t, e)
			x.disturb(t, e)
			r := traced(t, choice, 20*time.Millisecond, 0, false).Report

			// On a busy machine, a neighbour without a CPU may not fill the queue at all.
			asPlanned := judge(t, e, r, others(func(c *chain.Culprit) bool { return c.Comm == x.who }))
			if of := r.Of(x.stage); asPlanned && of < 0.1 {
				t.Errorf("stage %s has %.2f of the time: %+v", x.stage, of, r.Stages)
			}
		})
	}
}

func journal(t testing.TB, e *emulated) target.Choice {
	return target.Choice{PID: appending(t, e.dir).Pid}
}

func large(t testing.TB, e *emulated) { copying(t, e.dir) }

func directly(t testing.TB, e *emulated) { direct(t, filepath.Join(e.dir, "other")) }

// sqlite commits one row at a time through SQLite's shell.
func sqlite(t testing.TB, e *emulated) target.Choice {
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
