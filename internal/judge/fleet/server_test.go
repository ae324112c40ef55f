package fleet_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"

	"plimsoll/internal/record/recording"
)

// An answers answers a fleet's queries from a recording, and returns the warnings that a test sets.
type answers struct {
	data    *recording.Memory
	warning string
}

func serve(t testing.TB, a *answers) string {
	s := httptest.NewServer(a)
	t.Cleanup(s.Close)
	return s.URL
}

func (a *answers) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var data any
	var err error
	switch req.URL.Path {
	case "/api/v1/query":
		data, err = a.query(req)
	case "/api/v1/label/__name__/values":
		data, err = a.names(req)
	case "/api/v1/series":
		data, err = a.series(req)
	default:
		http.NotFound(w, req)
		return
	}

	body := map[string]any{"status": "success", "data": data}
	if err != nil {
		w.WriteHeader(http.StatusUnprocessableEntity)
		body = map[string]any{"status": "error", "errorType": "execution", "error": err.Error()}
	}

	if a.warning != "" {
		body["warnings"] = []string{a.warning}
	}

	_ = json.NewEncoder(w).Encode(body)
}

func at(req *http.Request, key string) time.Time {
	s, _ := strconv.ParseFloat(req.FormValue(key), 64)
	return time.UnixMilli(int64(math.Round(s * 1000)))
}

type sampled struct {
	Metric map[string]string `json:"metric"`
	Values [][2]any          `json:"values,omitempty"`
	Value  *[2]any           `json:"value,omitempty"`
}

func (a *answers) query(req *http.Request) (any, error) {
	end := at(req, "time")
	e, err := parser.NewParser(parser.Options{}).ParseExpr(req.FormValue("query"))
	if err != nil {
		return nil, err
	}

	out := []sampled{}
	switch e := e.(type) {
	case *parser.NumberLiteral:
		return map[string]any{"resultType": "scalar", "result": [2]any{0, "1"}}, nil
	case *parser.MatrixSelector:
		series, err := a.data.Samples(req.Context(), recording.MustSelector(e.VectorSelector.String()), end.Add(-e.Range).Add(time.Millisecond), end)
		if err != nil {
			return nil, err
		}
		for _, s := range series {
			x := sampled{Metric: s.Labels.Map()}
			for _, p := range s.Points {
				x.Values = append(x.Values, [2]any{float64(p.T) / 1000, strconv.FormatFloat(p.F, 'g', -1, 64)})
			}
			out = append(out, x)
		}
		return map[string]any{"resultType": "matrix", "result": out}, nil
	}

	series, err := a.data.Range(req.Context(), e.String(), end, end, time.Second, 5*time.Minute)
	if err != nil {
		return nil, err
	}

	for _, s := range series {
		out = append(out, sampled{Metric: s.Labels.Map(), Value: &[2]any{float64(s.Points[0].T) / 1000, fmt.Sprint(s.Points[0].F)}})
	}

	return map[string]any{"resultType": "vector", "result": out}, nil
}

func (a *answers) names(req *http.Request) (any, error) {
	found, err := a.matching(req)
	seen := map[string]bool{}
	out := []string{}
	for _, s := range found {
		if n := s["__name__"]; !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	return out, err
}

func (a *answers) series(req *http.Request) (any, error) { return a.matching(req) }

func (a *answers) matching(req *http.Request) ([]map[string]string, error) {
	match := req.FormValue("match[]")
	if match == "" || match == "{}" {
		match = `{__name__=~".+"}`
	}
	series, err := a.data.Samples(req.Context(), recording.MustSelector(match), time.UnixMilli(0), time.UnixMilli(1<<50))
	out := []map[string]string{}
	for _, s := range series {
		out = append(out, s.Labels.Map())
	}
	return out, err
}
