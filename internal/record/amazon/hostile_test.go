package amazon

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/record/source"
)

// A server that accepts requests but never answers gets a single request, because the next attempts
// would take just as long. The error names it.
func TestSilent(t *testing.T) {
	for _, silent := range []string{"DescribeVolumes", "GetMetricData"} {
		asked, over := 0, make(chan struct{})
		usually := &fake{}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if strings.Contains(string(body)+r.Header.Get("X-Amz-Target"), silent) && !strings.Contains(string(body), "Modifications") {
				asked++
				<-over
				return
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			usually.ServeHTTP(w, r)
		}))

		usual(t, server.URL)
		_, _, err := read(t, Cloud{Within: 100 * time.Millisecond}, "aws://"+id, source.Options{})
		close(over)
		server.Close()

		host := strings.TrimPrefix(server.URL, "http://")
		if err == nil || !strings.Contains(err.Error(), silent+" in eu-central-1: no answer from "+host) || asked != 1 {
			t.Errorf("%s: %v after %d requests", silent, err, asked)
		}
	}
}

// Neither large responses nor endless pages fill the memory.
func TestTooMuch(t *testing.T) {
	point := strings.Repeat(",1700000000", 60_000)
	page := `{"MetricDataResults":[{"Id":"m0","Timestamps":[1700000000` + point + `],"Values":[1` + point + `]}],"NextToken":"x"}`
	for name, x := range map[string]struct{ action, body, want string }{
		"pages":        {"GetMetricData", page, "AWS: CloudWatch returned more than 100800 values for one request"},
		"a large page": {"GetMetricData", `{"MetricDataResults":[` + strings.Repeat(" ", pageBytesMax), "the response is larger than 8388608 bytes"},
		"a large list": {"DescribeVolumes", "<DescribeVolumesResponse>" + strings.Repeat("<x/>", answerBytesMax/4), "the response is larger than 4194304 bytes"},
	} {
		server := httptest.NewServer(&fake{replies: map[string][]reply{x.action: {{200, x.body}}}})
		usual(t, server.URL)
		_, _, err := read(t, Cloud{}, "aws://"+id, source.Options{})
		server.Close()
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
