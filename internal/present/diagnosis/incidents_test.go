package diagnosis

import (
	"strings"
	"testing"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
)

// Findings about the whole recording appear next to the list of incidents: for example, the effect of
// scans on writes, or that the sources lack the data's device.
func TestSeveralIncidentsKeepWhatFindingsAdd(t *testing.T) {
	r := &diagnose.Report{
		Verdict:   "The host was restarted. 2 incidents in 3m, most harmful first. 1: Writes stalled. 2: Reads stalled. Writes took 8 ms meanwhile.",
		Incident:  1,
		Incidents: []diagnose.Incident{{ID: 1, Verdict: "Writes stalled."}, {ID: 2, Verdict: "Reads stalled."}},
		Findings:  []rules.Finding{{Opening: "The host was restarted."}, {Closing: "Writes took 8 ms meanwhile."}},
	}
	d := &diagnosed{Report: r}
	verdict, lead := d.verdict()
	if want := "2 incidents in 3m, most harmful first."; verdict != want {
		t.Errorf("the verdict is %q, not %q", verdict, want)
	}
	if got, want := strings.Join(lead, "|"), "The host was restarted.|1: Writes stalled.|2: Reads stalled.|Writes took 8 ms meanwhile."; got != want {
		t.Errorf("it goes on %q, not %q", got, want)
	}
}
