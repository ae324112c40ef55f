package recording_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
)

// seconds returns a recording of a gauge, x, with one sample per second.
func seconds(t *testing.T, n int) *recording.Memory {
	t.Helper()
	m := recording.NewMemory(recording.MemoryOptions{})
	b := &recording.Batch{Columns: []recording.Column{{Labels: labels.FromStrings(labels.MetricName, "x")}}}
	for i := range n {
		b.TimesMs = append(b.TimesMs, 1_700_000_000_000+int64(i)*1000)
		b.Columns[0].Values = append(b.Columns[0].Values, float64(i%60))
	}
	if err := m.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	return m
}

// The steps of a subquery are limited: the engine allocates all of them up front, and 100y:1ms killed
// the process.
func TestSubquerySteps(t *testing.T) {
	m := seconds(t, 60)
	from := time.UnixMilli(1_700_000_000_000)
	for _, c := range []struct{ expr, over string }{
		{"max_over_time(x[100y:1ms])", "the subquery [100y:1ms] has 3153600059001 steps: want at most 11000000; use a step of 5m or more"},
		{"max_over_time(x[100y:1ms] @ 1700000000)", "3153600000001 steps"},
		{"max_over_time(sum_over_time(x[1m:1ms])[100y:1h])", "use a step of 5m or more"}, // the ranges add up
		{"max_over_time(sum_over_time(x[1m:1ms] @ 1700000000)[1h:1m])", ""},
		{"max_over_time(x[1y:1m])", ""},
		{"max_over_time(x[200y:])", "use a step of 10m or more"},
		{"max_over_time(x[1m])", ""},
		{"max_over_time(max_over_time(x[1d:1s])[2d:1s])", "[1d:1s] is evaluated at 172860 steps and reads 14945644920 values in total: want at most 10000000000; use a step of 2s or more"},
	} {
		_, err := m.Range(t.Context(), c.expr, from, from.Add(59*time.Second), time.Second, 0)
		if c.over == "" && err != nil || c.over != "" && (err == nil || !strings.Contains(err.Error(), c.over)) {
			t.Errorf("%s: %v, want %q", c.expr, err, c.over)
		}
	}
}

// An expression that is too long or too deeply nested is refused before it is parsed.
func TestCheckExpr(t *testing.T) {
	nested := func(open, close string, n int) string {
		return strings.Repeat(open, n) + "x" + strings.Repeat(close, n)
	}
	for _, c := range []struct{ text, want string }{
		{nested("(", ")", 100_000), "200001 bytes: want at most 32768"},
		{nested("(", ")", 201), "nested 201 levels deep: want at most 200"},
		{nested("sum(", ")", 200), ""},
		{"x" + strings.Repeat(" + x", 1000), ""},
		{"x" + strings.Repeat("+x", 1001), "1001 binary operators: want at most 1000"},
		{"sum(x" + strings.Repeat(" or x", 5000) + ")", "5000 binary operators"},
		{"x" + strings.Repeat(" + x", 2000) + ")", ""}, // the parser's own error is reported later
		{nested("- ", "", 201), "nested 201 levels"},
		{nested("-(", ")", 150), "nested 300 levels"},
		{`x{a=~"` + strings.Repeat("(", 300) + `\"",b='(` + "`" + `'} # ` + strings.Repeat("(", 300), ""},
		{"x" + strings.Repeat("+(x-x)*-x", 300), ""},
		{`x{a="` + strings.Repeat("[", 300), ""}, // the parser reports the missing quote
	} {
		err := recording.CheckExpr(c.text)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%.40s: %v, want %q", c.text, err, c.want)
		}
	}
}

// ending is a context that ends at its nth check.
type ending struct {
	context.Context
	after int
}

func (e *ending) Err() error {
	if e.after--; e.after < 0 {
		return context.Canceled
	}
	return nil
}

// A query stops with its context within a series, not only between two.
func TestQueryEndsWithinASeries(t *testing.T) {
	m := seconds(t, 3600)
	from := time.UnixMilli(1_700_000_000_000)
	asked := &ending{Context: t.Context(), after: 1 << 30}
	if _, err := m.Range(asked, "quantile_over_time(0.5, x[1h])", from, from.Add(time.Hour), time.Second, 0); err != nil {
		t.Fatal(err)
	}
	if n := 1<<30 - asked.after; n < 3600/16 {
		t.Errorf("the context was asked %d times over 3600 steps", n)
	}
	asked.after = 100
	if _, err := m.Range(asked, "quantile_over_time(0.5, x[1h])", from, from.Add(time.Hour), time.Second, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}
