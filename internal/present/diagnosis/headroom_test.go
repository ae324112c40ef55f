package diagnosis

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/headroom"
	"plimsoll/internal/present/text"
	"plimsoll/internal/testkit"
)

func pointer(x float64) *float64 { return &x }

// limited is a healthy diagnosis with limits: credits that run out, bursts, growth, and an unknown one.
func limited() *diagnose.Report {
	from := time.Date(2026, 7, 20, 12, 0, 0, 0, time.UTC)
	at := from.Add(21 * time.Second)
	return &diagnose.Report{
		Version: diagnose.Version, Span: diagnose.Span{From: from, To: from.Add(2 * time.Hour)},
		Verdict: "No stall in 2h of MongoDB writes (1 s samples): mean latency peaked at 3.10 ms.",
		Stalls:  diagnose.StallSummary{Signal: "MongoDB writes", Of: 7200},
		Headroom: []headroom.Headroom{
			{Resource: "volume_credits", Title: "burst credits", Subject: "nvme1n1", Unit: "operations", Limit: pointer(5.4e6), LimitFrom: headroom.Given,
				LimitText: "gp2 of 50 GiB", Most: &headroom.Use{Value: 1.008e6, Ratio: pointer(0.187), At: from.Add(2 * time.Hour)}, UsualRatio: pointer(0.09), IntervalS: 1,
				Ends: &headroom.Ends{InS: 31371, LowS: 31371, HighS: 31371, Exact: true, Assumes: "the bucket was full when the recording began", Then: "the limit falls to 150 IOPS"}},
			{Resource: "filesystem_space", Title: "space", Subject: "sdb", Unit: "bytes", Limit: pointer(1e12), LimitFrom: headroom.Measured,
				LimitText: "the file system's size", Most: &headroom.Use{Value: 6e11, Ratio: pointer(0.6), At: from.Add(2 * time.Hour)}, UsualRatio: pointer(0.55), IntervalS: 15,
				Trend: &headroom.Trend{PerS: 4e5, Low: 3.8e5, High: 4.3e5, OverS: 7128, Of: "used"}, Ends: &headroom.Ends{InS: 1e6, LowS: 0.9e6, HighS: 1.1e6, Then: "writes fail"}},
			{Resource: "volume_iops", Title: "IOPS", Subject: "nvme2n1", Unit: "1/s", Limit: pointer(3000), LimitFrom: headroom.Given, LimitText: "gp3 of 500 GiB",
				Most: &headroom.Use{Value: 3000, Ratio: pointer(1), At: at}, UsualRatio: pointer(0.03), IntervalS: 1,
				Bursts: &headroom.Bursts{Seconds: 600, Episodes: 120, LongestS: 5, PeriodS: 60, MinuteRatio: 0.114}},
			{Resource: "volume_iops", Title: "IOPS", Subject: "sdc", Unit: "1/s", LimitFrom: headroom.Unknown, LimitText: "the limit is not known",
				Most: &headroom.Use{Value: 210, At: at}, IntervalS: 15, NotSeen: "Bursts shorter than 15.0 s: the finest interval here is a mean of that long."},
		},
	}
}

func TestHeadroomIsInTheHeadline(t *testing.T) {
	var b bytes.Buffer
	if err := text.Write(&b, Document(limited(), Options{Pack: testkit.Pack()}), text.Options{Width: 120}); err != nil {
		t.Fatal(err)
	}

	out := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{
		"Headroom of nvme1n1: burst credits used up in 8h42m at the present rate, on 2026-07-20 22:42 UTC, if the bucket was full when the recording began. Then the limit falls to 150 IOPS.",
		"Headroom of sdb: space used up in 11.6 days (10.4 days to 12.7 days) at the present rate",
		"nvme2n1 IOPS 3,000/s 3,000/s 100 %",
		"Not seen: bursts shorter than 15.0 s",
		"Unknown: the limits of sdc. Specify them with --volume sdc=TYPE,SIZE",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}

	// Bursts that one-minute means hide are reported if nothing is more urgent.
	r := limited()
	r.Headroom = r.Headroom[2:]
	lead := strings.Join(Document(r, Options{Pack: testkit.Pack()}).Lead, " ")
	if want := "Headroom of nvme2n1: IOPS at the limit for 5.00 s at a time, every 60.0 s, 600 s in total. One-minute means show at most 11 % of the limit."; !strings.Contains(strings.ReplaceAll(lead, "10m", "600 s"), want) {
		t.Errorf("lead %q", lead)
	}
}
