package recording

import (
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
)

// TestParseSelector: a selector has no evaluation time, so anything that needs one is an error.
func TestParseSelector(t *testing.T) {
	for _, text := range []string{`rate(c_total[4s])`, `c_total offset 1s`, `c_total @ 5`, `c_total[1m]`, `c_total{`} {
		if s, err := ParseSelector(text); err == nil || !strings.Contains(err.Error(), "selector") {
			t.Errorf("%s: %v, error %v", text, s, err)
		}
	}
}

// TestSelector: a selector's text means the same after being parsed again.
func TestSelector(t *testing.T) {
	sda := labels.FromStrings(labels.MetricName, "reads", "device", "sda")
	for _, c := range []struct {
		selector         Selector
		text             string
		matches, accepts bool // the series above, with its name
	}{
		{EverySeries(), `{__name__=~".+"}`, true, true},
		{MetricSelector("reads"), `{__name__="reads"}`, true, true},
		{MetricSelector(`odd"name`), `{__name__="odd\"name"}`, false, false},
		{MustSelector(`reads{device!~"sd.*"}`), `{device!~"sd.*",__name__="reads"}`, false, true},
		{MustSelector(`{device="sda"}`), `{device="sda"}`, true, true},
		{nil, `{}`, true, true},
	} {
		s := c.selector
		if s.String() != c.text || s.Matches(sda) != c.matches || s.Accepts("reads") != c.accepts {
			t.Errorf("%s: matches %v, accepts %v; want %s, %v, %v", s, s.Matches(sda), s.Accepts("reads"), c.text,
				c.matches, c.accepts)
		}
		if len(s) == 0 {
			continue // PromQL requires one matcher that is not empty
		}
		if again := MustSelector(s.String()); again.String() != c.text {
			t.Errorf("%s reads as %s", c.text, again)
		}
	}
}
