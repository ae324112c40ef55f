package diagnose_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// traced diagnoses the first case of a rule's script together with a trace. The trace is given as "wait
// behind why" with the seconds per second that mongod's calls waited for it in seconds 30 to 36, in
// which it stalls.
func traced(t *testing.T, rule string, waits map[string]string) *diagnose.Report {
	t.Helper()
	loads := firstLoads(t, rule)
	if waits != nil {
		loads += "\nload 1s\n  plimsoll_trace_slower_than_seconds{target=\"mongod\"} 0.02x38 _x80\n"
	}

	for what, rate := range waits {
		f := append(strings.Fields(what), "", "")
		loads += "  plimsoll_trace_wait_seconds_total{program=\"mongod\",stage=\"device_queue\",wait=\"" + f[0] + "\",behind=\"" + f[1] + "\",why=\"" + f[2] +
			"\"} 0x29 0+" + rate + "x7 _x80\n"
	}

	r, err := diagnose.Run(t.Context(), []recording.Reader{fromScript(t, loads)}, diagnose.Options{Pack: testkit.Pack(), Incident: 1})
	if err != nil {
		t.Fatal(err)
	}

	return r
}

func findingOf(r *diagnose.Report, rule string) *diagnose.Finding {
	i := slices.IndexFunc(r.Findings, func(f diagnose.Finding) bool { return f.Rule == rule })
	if i < 0 {
		return nil
	}
	return &r.Findings[i]
}

// A trace decides about a rule's mechanism: it either confirms it, or turns the cause into a
// refutation.
func TestTraceWeighsRules(t *testing.T) {
	const rule = "host/writeback-backlog"
	f := findingOf(traced(t, rule, nil), rule)
	if f == nil || f.Kind != diagnose.Cause || f.Measured != "" {
		t.Fatalf("without a trace: %+v", f)
	}

	weight := f.Weight

	r := traced(t, rule, map[string]string{"flush mongod background_flush": "0.8", "device": "0.1"})
	f = findingOf(r, rule)
	if f == nil || f.Kind != diagnose.Cause || f.Measured != rules.Confirmed || f.Weight != weight || !strings.Contains(f.Summary, "A trace confirms it: 89 % of the waiting in slow calls of mongod") {
		t.Errorf("confirmed: %+v", f)
	}

	if !strings.Contains(r.Verdict, "Traced waits of slow calls of mongod: 89 % behind its own pages flushed by the kernel, 11 % the device itself.") {
		t.Errorf("verdict %q", r.Verdict)
	}

	r = traced(t, rule, map[string]string{"requests dd direct_write": "0.85", "device": "0.1"})
	f = findingOf(r, rule)
	if f == nil || f.Kind != diagnose.Refutation || f.Measured != rules.RuledOut || len(f.Fixes) > 0 || !strings.HasPrefix(f.Title, "A trace rules out: ") {
		t.Errorf("ruled out: %+v", f)
	}

	if f := findingOf(r, "host/another-program"); f == nil || f.Subject != "dd" || r.Findings[0].Rule != f.Rule {
		t.Errorf("the cause is %+v, and first stands %s", f, r.Findings[0].Rule)
	}

	for _, a := range r.Actions {
		if a.Rule == rule {
			t.Errorf("what a trace rules out is proposed: %s", a.Title)
		}
	}
}

// A trace with too few measurements, or whose calls hardly waited in the stalled time, says nothing
// about a rule.
func TestTraceOfLittle(t *testing.T) {
	const rule = "host/writeback-backlog"
	r := traced(t, rule, map[string]string{"requests dd direct_write": "0.05"})
	if f := findingOf(r, rule); f == nil || f.Kind != diagnose.Cause || f.Measured != "" || r.Measured != nil {
		t.Errorf("%+v, measured %+v", f, r.Measured)
	}
	r = traced(t, rule, map[string]string{"requests dd direct_write": "0.2"})
	if f := findingOf(r, rule); f == nil || f.Kind != diagnose.Cause || f.Measured != "" || r.Measured == nil {
		t.Errorf("%+v, measured %+v", f, r.Measured)
	}
}

// A trace reduces the unexplained share by what it explains, for the time in which it ran.
func TestTraceAccounts(t *testing.T) {
	rest := func(r *diagnose.Report) (unexplained, measured float64) {
		for _, s := range r.Account {
			if s.Share == "unexplained" {
				unexplained += s.Seconds
			}
			if s.Note == "explained by measurement" {
				measured += s.Seconds
			}
		}
		return unexplained, measured
	}

	script := func(more string) *diagnose.Report {
		text := `load 1s
    mongodb_ss_opLatencies_latency{op_type="writes"} 0+200000x20 68000000+64000000x9 644200000+200000x29
    mongodb_ss_opLatencies_ops{op_type="writes"} 0+200x20 4040+40x9 4600+200x29
` + more
		r, err := diagnose.Run(t.Context(), []recording.Reader{fromScript(t, text)}, diagnose.Options{Pack: testkit.Pack()})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}

	before, none := rest(script(""))
	r := script(`    plimsoll_trace_slower_than_seconds{target="mongod"} 0.02x60
    plimsoll_trace_wait_seconds_total{program="mongod",wait="own",stage="device_queue",why="fsync"} 0x20 0.6+0.6x9 6+0x29
    plimsoll_trace_wait_seconds_total{program="mongod",wait="unexplained",stage="unexplained"} 0x20 0.2+0.2x9 2+0x29
`)

	after, measured := rest(r)
	if before != 10 || none != 0 || math.Abs(after-4) > 1e-9 || math.Abs(measured-6) > 1e-9 {
		t.Errorf("unexplained %v s, with a trace %v s and %v s measured; want 10, 4 and 6", before, after, measured)
	}

	if m := r.Measured; m == nil || m.StalledS != 10 || math.Abs(m.WaitedS-8) > 1e-9 || math.Abs(m.Explained-0.75) > 1e-9 || m.Waits[0].Text != "behind its own pages under writeback" {
		t.Errorf("measured %+v", r.Measured)
	}

	if strings.Contains(r.Verdict, "No cause found") {
		t.Errorf("verdict %q", r.Verdict)
	}
}
