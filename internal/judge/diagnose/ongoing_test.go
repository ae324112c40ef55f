package diagnose_test

import (
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

var noonThen = time.Date(2026, 7, 20, 12, 0, 0, 0, time.UTC)

// stalledUntil is a MongoDB server whose writes take a second for eight seconds of each minute, until the
// given second.
func stalledUntil(t *testing.T, until, seconds int) recording.Reader {
	t.Helper()
	mem := recording.NewMemory(recording.MemoryOptions{})
	b := recording.Batch{Columns: []recording.Column{
		{Labels: labels.FromStrings("__name__", "mongodb_ss_opLatencies_latency", "op_type", "writes")},
		{Labels: labels.FromStrings("__name__", "mongodb_ss_opLatencies_ops", "op_type", "writes")},
	}}

	took, ops := 0.0, 0.0
	for s := range seconds {
		n, latency := 500.0, 0.002
		if s > 60 && s < until && s%60 < 8 {
			n, latency = 200, 1
		}
		took, ops = took+n*latency*1e6, ops+n
		b.TimesMs = append(b.TimesMs, noonThen.Add(time.Duration(s)*time.Second).UnixMilli())
		b.Columns[0].Values, b.Columns[1].Values = append(b.Columns[0].Values, took), append(b.Columns[1].Values, ops)
	}

	if err := mem.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}

	return mem
}

// A stall that recurs every minute counts as ongoing until one and a half periods after the last one,
// or, once a mark says that something changed, until half a minute after the mark.
func TestOngoing(t *testing.T) {
	for _, c := range []struct {
		seconds int
		mark    int // 0: none
		want    bool
	}{
		{seconds: 360, want: true},
		{seconds: 550}, // three minutes without a stall
		{seconds: 360, mark: 320},
		{seconds: 360, mark: 200, want: true}, // it stalled after the mark
		{seconds: 330, mark: 320, want: true}, // the half minute is not over yet
	} {
		opt := diagnose.Options{Pack: testkit.Pack()}
		if c.mark > 0 {
			opt.Marks = []recording.Mark{{At: noonThen.Add(time.Duration(c.mark) * time.Second), Text: "a change"}}
		}

		r, err := diagnose.Run(t.Context(), []recording.Reader{stalledUntil(t, 310, c.seconds)}, opt)
		if err != nil {
			t.Fatal(err)
		}

		if len(r.Incidents) != 1 || r.Incidents[0].Ongoing != c.want {
			t.Errorf("%+v: incidents %d, %+v", c, len(r.Incidents), r.Incidents)
		}

		for _, f := range r.Findings {
			if f.Rule == "mongodb/slow-writes" && f.Ongoing != c.want {
				t.Errorf("%+v: the finding's is %v", c, f.Ongoing)
			}
		}
	}
}

// A mark separates before and after. A mark outside the time range is ignored.
func TestMarked(t *testing.T) {
	at := noonThen.Add(320 * time.Second)
	r, err := diagnose.Run(t.Context(), []recording.Reader{stalledUntil(t, 310, 600)}, diagnose.Options{Pack: testkit.Pack(),
		Marks: []recording.Mark{{At: at, Text: "dirty_target 1 %"}, {At: noonThen.Add(time.Hour), Text: "later"}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Marks) != 1 {
		t.Fatalf("marks %+v", r.Marks)
	}
	m := r.Marks[0]
	if m.Text != "dirty_target 1 %" || m.Before.StalledS < 20 || m.After.StalledS != 0 || m.After.WatchedS < 270 || *m.Before.MeanS < 0.02 || *m.After.MeanS > 0.003 || *m.After.Rate != 500 {
		t.Errorf("%+v", m)
	}
}
