package results

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/check/golden"
	"plimsoll/internal/present/text"
	"plimsoll/internal/trace/chain"
	"plimsoll/internal/trace/events"
)

// The trace is a real one: fio's fdatasyncs next to a dd on an emulated volume with XFS.
func TestTraceText(t *testing.T) {
	h, b, err := events.LoadFile("../../trace/chain/testdata/xfs-dd.trace")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := text.Write(&out, Trace(chain.Replay(h, b)), text.Options{Width: 110}); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "trace.golden", out.String())
}

func TestTraceWithoutSlowCalls(t *testing.T) {
	h := &events.Header{Target: "process 4711", Slower: 20 * time.Millisecond, Lasted: time.Minute}
	if v := Trace(chain.NewTally().Report(h)).Verdict; v != "process 4711 made no traceable call in 60.0 s." {
		t.Error(v)
	}
	h.Totals.Counts[events.Fdatasync] = events.Count{Calls: 7, Most: 3 * time.Millisecond}
	if v := Trace(chain.NewTally().Report(h)).Verdict; v != "No call of process 4711 took over 20.0 ms in 60.0 s; the slowest took 3.00 ms (fdatasync)." {
		t.Error(v)
	}
}

// Calls that waited for the same thing are one row with a count. The first screen fits.
func TestTraceGroups(t *testing.T) {
	h, b, err := events.LoadFile("../../trace/chain/testdata/xfs-dd.trace")
	if err != nil {
		t.Fatal(err)
	}
	r := chain.Replay(h, b)
	if len(r.Worst) == 0 {
		t.Fatal("no worst calls")
	}

	r.Worst = append(r.Worst[:1:1], r.Worst[0], r.Worst[0])
	rows := worstTable(r).Rows
	if len(rows) != 1 || rows[0][1].Note != "2 more alike" {
		t.Errorf("three calls that are alike: %d rows, %+v", len(rows), rows)
	}
}
