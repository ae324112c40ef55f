package rules

import (
	"math"
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	r := Rule{ID: "a/b",
		Words: Words{
			"slow":  "A sync took {{.took}}{{with .calm}}; outside it {{.}}{{end}}",
			"where": ", behind {{.who}}.",
		},
		Advice: map[string]Advice{"apart": {Summary: "Give {{.who}} a volume", Expect: "p99 {{.after}}", TradeOff: "one more volume"}},
	}

	f := Finding{Rule: r.ID}
	f.Say("slow", Values{"took": Seconds(8.1), "calm": Seconds(math.NaN())})
	f.Say("where", Values{"who": Called("the checkpoint")})
	f.Say("slow", Values{"took": Seconds(1), "calm": Seconds(0.002)})
	f.Advise("apart", Values{"who": Called("the log"), "after": Seconds(0.0047)})

	if err := r.Write(&f); err != nil {
		t.Fatal(err)
	}

	const want = "A sync took 8.10 s, behind the checkpoint. A sync took 1.00 s; outside it 2.00 ms"
	if f.Summary != want {
		t.Errorf("%q, want %q", f.Summary, want)
	}

	if len(f.Fixes) != 1 || f.Fixes[0].Summary != "Give the log a volume" || f.Fixes[0].Expect != "p99 4.70 ms" || f.Fixes[0].TradeOff != "one more volume" {
		t.Errorf("%+v", f.Fixes)
	}
}

// A name that the rule does not have is an error, not an empty sentence.
func TestWriteRefuses(t *testing.T) {
	r := Rule{ID: "a/b", Words: Words{"slow": "{{.took}}"}}
	for _, x := range []struct {
		words  string
		values Values
		want   string
	}{
		{"quick", nil, `no words "quick"`},
		{"slow", Values{"tok": Seconds(1)}, `"took"`},
	} {
		f := Finding{}
		f.Say(x.words, x.values)
		if err := r.Write(&f); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %s", x.words, err, x.want)
		}
	}

	for _, bad := range []Rule{{Words: Words{"a": ""}}, {Words: Words{"a": "{{.b"}}, {Advice: map[string]Advice{"a": {Summary: "s", Expect: "e"}}}} {
		if bad.CheckWords() == nil {
			t.Errorf("%+v passes the check", bad)
		}
	}
}
