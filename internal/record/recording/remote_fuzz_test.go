package recording

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// saying is a server that answers the first request like Prometheus, and every other one with the given
// bytes.
type saying struct {
	text  []byte
	asked bool
}

func (s *saying) RoundTrip(req *http.Request) (*http.Response, error) {
	text := s.text
	if !s.asked {
		text = []byte(`{"status":"success","data":{"resultType":"scalar","result":[1,"1"]}}`)
	}
	s.asked = true
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(text)), Request: req}, nil
}

// Any response of a server to a query gives a result or an error, and never a panic.
func FuzzRemoteAnswers(f *testing.F) {
	for _, result := range []string{
		`{"resultType":"matrix","result":[{"metric":{"__name__":"a"},"values":[[1,"1"],[2,"NaN"]]}]}`,
		`{"resultType":"vector","result":[{"metric":{"job":"x"},"value":[1,"7"]}]}`,
		`{"resultType":"string","result":[1,"x"]}`, `{"resultType":"matrix","result":{}}`, `["a","b"]`, `[{"__name__":"a"}]`, `null`, `{}`,
		`{"resultType":"matrix","result":[{"metric":{"__name__":"a"},"histograms":[[1,{"count":"1","sum":"2","buckets":[[0,"1","2","3"]]}]]}]}`,
	} {
		f.Add([]byte(`{"status":"success","data":` + result + `}`))
	}

	f.Add([]byte(`{"status":"error","errorType":"bad_data","error":"` + strings.Repeat("x", 500) + `"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Dial(t.Context(), "http://me:s3cret@h", RemoteOptions{From: t0, To: t0.Add(time.Minute), Retries: -1, Transport: &saying{text: text}})
		if err != nil {
			t.Fatal(err)
		}

		var errs [5]error
		_, errs[0] = r.Range(t.Context(), "a", t0, t0.Add(time.Minute), time.Second, time.Minute)
		_, errs[1] = r.Samples(t.Context(), MetricSelector("a"), t0, t0.Add(time.Minute))
		_, errs[2] = r.Metrics(t.Context())
		_, errs[3] = r.LabelSets(t.Context(), "a")
		_, errs[4] = r.Count(t.Context(), MetricSelector("a"), []string{"job"}, t0)

		for _, err := range errs {
			if err != nil && (len(err.Error()) > 2000 || strings.Contains(err.Error(), "s3cret")) {
				t.Fatalf("%.3000s", err)
			}
		}
	})
}
