package recording

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"plimsoll/internal/record/address"
	"plimsoll/internal/record/httpclient"
)

// Environment variables for the credentials of [Remote] if neither the URL nor the options have
// any.
const (
	EnvUser     = "PLIMSOLL_PROMETHEUS_USER"
	EnvPassword = "PLIMSOLL_PROMETHEUS_PASSWORD"
	EnvToken    = "PLIMSOLL_PROMETHEUS_TOKEN"
)

// RemoteOptions are options for queries to a server. The zero value is ready for use.
type RemoteOptions struct {
	// From and To bound the time; queries are clipped to it. Zero To means now, zero From means one
	// hour before To.
	From, To time.Time
	// Selector, such as {instance="db1:9216"}, restricts what Metrics lists. It does not affect
	// queries.
	Selector string
	// User and Password, or Token (a bearer token), are sent to the server. Credentials in the URL
	// take precedence over these, and these over the environment ([EnvUser], [EnvPassword],
	// [EnvToken]).
	User, Password, Token string
	// Getenv replaces os.Getenv, for credentials.
	Getenv func(string) string
	// Header holds further request headers, such as X-Scope-OrgID for Mimir.
	Header http.Header
	// Timeout bounds a request. 0 means half a minute.
	Timeout time.Duration
	// Parallel bounds the concurrent requests. 0 means 4.
	Parallel int
	// MaxBytes bounds the size of one answer, decompressed. A longer answer is requested again in
	// shorter stretches of time. 0 means 64 MiB.
	MaxBytes int64
	// MaxSamples bounds the points in the whole result of a query. 0 means 20 million.
	MaxSamples int
	// Retries bounds the retries of a request that the server deferred (429, 503). 0 means 4,
	// negative means none.
	Retries int
	// RetryWait is the time before the first retry, which doubles each time. If the server asks for
	// a wait (Retry-After), that applies, up to half a minute. 0 means half a second.
	RetryWait time.Duration
	// Transport replaces the HTTP transport.
	Transport http.RoundTripper
}

// requestSteps is the number of steps per request. Prometheus refuses a range of more than 11,000
// steps ("exceeded maximum resolution of 11,000 points per timeseries").
const requestSteps = 11_000

// probeTimeout bounds the request that checks whether there is a suitable server.
const probeTimeout = 15 * time.Second

// redirectsMax bounds the redirects of one request.
const redirectsMax = 5

// warningsMax bounds the different warnings of a server that are kept.
const warningsMax = 20

// probeBytesMax bounds the answer to that request, which is a single number. Any other server might
// send data without end.
const probeBytesMax = 1 << 20

func (o RemoteOptions) withDefaults() RemoteOptions {
	if o.To.IsZero() {
		o.To = time.Now()
	}

	if o.From.IsZero() {
		o.From = o.To.Add(-time.Hour)
	}

	// Servers count in milliseconds.
	o.From, o.To = time.UnixMilli(ceilMs(o.From)).UTC(), o.To.Truncate(time.Millisecond).UTC()
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	o.Parallel = cmp.Or(o.Parallel, 4)
	o.MaxBytes = cmp.Or(o.MaxBytes, 64<<20)
	o.MaxSamples = cmp.Or(o.MaxSamples, 20_000_000)
	o.Retries = cmp.Or(o.Retries, 4)
	o.RetryWait = cmp.Or(o.RetryWait, 500*time.Millisecond)

	return o
}

// A Server is a Prometheus-compatible server as a [Reader]. Its requests are bounded in number,
// time and bytes. Deferred requests are retried; the server's warnings become notes.
type Server struct {
	name     string // the URL without credentials
	opt      RemoteOptions
	auth     httpclient.Credentials
	api      v1.API
	turns    *httpclient.Turns
	matchers []*labels.Matcher // of opt.Selector
	slots    chan struct{}
	silent   atomic.Bool // it did not answer the last request in time

	mu       sync.Mutex
	metrics  []Metric
	period   time.Duration
	warnings []string // of the server, without duplicates
}

// Remote reads from a Prometheus-compatible server (Prometheus, Thanos, Mimir, VictoriaMetrics) at
// the base URL that Grafana would use. It sends one small request to check that there is such a
// server.
//
// The lookback is the same on every server, even on those without a lookback parameter: a selector
// outside of a range is sent as last_over_time over the lookback.
func Remote(ctx context.Context, rawURL string, opt RemoteOptions) (Reader, error) {
	return Dial(ctx, rawURL, opt)
}

// Dial is [Remote] for callers that need the server's other methods.
func Dial(ctx context.Context, rawURL string, opt RemoteOptions) (*Server, error) {
	base, err := address.ParseURL(rawURL)
	if errors.Is(err, address.ErrScheme) {
		return nil,
			errors.New("prometheus: the address is not an http or https URL: want for example http://host:9090")
	}

	if err != nil {
		return nil, fmt.Errorf("prometheus: the URL is not valid (%w): want for example http://host:9090", err)
	}
	if (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		return nil, fmt.Errorf("prometheus: %q is not an http or https URL: want for example http://host:9090",
			address.PublicURL(base))
	}

	opt = opt.withDefaults()
	if opt.To.Before(opt.From) {
		return nil, fmt.Errorf("prometheus: the requested time ends (%s) before it starts (%s)",
			opt.To.Format(time.RFC3339), opt.From.Format(time.RFC3339))
	}

	// Credentials are taken before they are removed from the URL.
	auth := credentials(base, opt)
	base.User, base.RawQuery, base.Fragment = nil, "", ""
	base.Path = strings.TrimSuffix(strings.TrimSuffix(base.Path, "/"), "/api/v1")
	server := &Server{name: address.PublicURL(base), opt: opt, auth: auth, turns: largeAnswers,
		slots: make(chan struct{}, opt.Parallel)}

	if opt.Selector != "" {
		if server.matchers, err = ParseSelector(opt.Selector); err != nil {
			return nil, fmt.Errorf("prometheus: %w", err)
		}
	}

	client, err := api.NewClient(api.Config{Address: base.String(), Client: httpclient.New(httpclient.Options{
		Base: opt.Transport, To: base, Credentials: auth, Header: opt.Header, Redirects: redirectsMax,
		Most: httpclient.Bounds{Bytes: opt.MaxBytes, Objects: objectsMax, Hint: tooLarge},
	})})
	if err != nil {
		return nil, fmt.Errorf("prometheus %s: %w", server.name, err)
	}

	server.api = v1.NewAPI(client)
	err = server.callOnce(ctx, min(opt.Timeout, probeTimeout), func(ctx context.Context) error {
		_, _, err := server.api.Query(httpclient.WithBounds(ctx, httpclient.Bounds{Bytes: probeBytesMax}), "1",
			opt.To)
		return err
	})
	if err != nil {
		return nil, err
	}

	return server, nil
}

// Sources implements [Reader]. The period is known only after a call of Metrics, or of Range
// without a lookback.
func (r *Server) Sources() []Source {
	r.mu.Lock()
	defer r.mu.Unlock()
	return []Source{{Kind: "prometheus", Name: r.name, From: r.opt.From, To: r.opt.To, Period: r.period}}
}

// Notes implements [Reader]. It returns the server's warnings, such as a store that did not answer.
// What is missing from the results because of them is unknown.
func (r *Server) Notes() []Note {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Note
	for _, w := range r.warnings {
		out = append(out, Note{Kind: NoteLimit, Source: r.name,
			Text: "the server warns that its response may be incomplete: " + w})
	}
	return out
}

// Marks implements [Reader]: a server has none.
func (r *Server) Marks() []Mark { return nil }

// warned keeps the warnings of a request.
func (r *Server) warned(ws v1.Warnings) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range ws {
		if w = firstLine(w); len(r.warnings) < warningsMax && !slices.Contains(r.warnings, w) {
			r.warnings = append(r.warnings, w)
		}
	}
}

// Close implements [Reader].
func (r *Server) Close() error { return nil }

// Range implements [Reader].
func (r *Server) Range(ctx context.Context, expr string, from, to time.Time, step,
	lookback time.Duration) ([]Series, error) {
	step, err := checkRange(expr, from, to, step)
	if err != nil {
		return nil, err
	}

	if lookback <= 0 {
		if lookback, err = r.defaultLookback(ctx); err != nil {
			return nil, err
		}
	}

	bounded, err := boundLookback(expr, lookback)
	if err != nil {
		return nil, err
	}

	if from.Before(r.opt.From) { // continue at the first step within the bounds
		from = from.Add((r.opt.From.Sub(from) + step - 1).Truncate(step))
	}

	if to.After(r.opt.To) {
		to = r.opt.To
	}

	if to.Before(from) {
		return nil, nil
	}

	// Long queries are split into requests, because servers limit the steps of each.
	steps := int64(to.Sub(from)/step) + 1
	request := func(ctx context.Context, first, last int64) (model.Value, v1.Warnings, error) {
		return r.api.QueryRange(ctx, bounded, v1.Range{
			Start: from.Add(time.Duration(first) * step), End: from.Add(time.Duration(last) * step), Step: step,
		}, v1.WithLookbackDelta(lookback), v1.WithTimeout(r.opt.Timeout))
	}

	parts, err := r.inParts(ctx, 0, steps-1, requestSteps, request)
	if err != nil {
		return nil, fmt.Errorf("query %q: %w", expr, err)
	}

	out, err := r.join(parts)
	if err != nil {
		return nil, fmt.Errorf("query %q: %w", expr, err)
	}

	return out, nil
}

// Samples implements [Reader].
func (r *Server) Samples(ctx context.Context, selector Selector, from, to time.Time) ([]Series, error) {
	if err := inOrder(from, to); err != nil {
		return nil, fmt.Errorf("selector %s: %w", selector, err)
	}
	out, err := r.rawSamples(ctx, selector, max(ceilMs(from), r.opt.From.UnixMilli()),
		min(to.UnixMilli(), r.opt.To.UnixMilli()))
	if err != nil {
		return nil, fmt.Errorf("selector %s: %w", selector, err)
	}
	return out, nil
}

// rawWindowMs is the span of the raw samples in one request.
const rawWindowMs = int64(requestSteps) * 1000

// rawSamples requests range selectors of a few hours each.
func (r *Server) rawSamples(ctx context.Context, selector Selector, fromMs,
	toMs int64) ([]Series, error) {
	if toMs < fromMs {
		return nil, nil
	}

	request := func(ctx context.Context, first, last int64) (model.Value, v1.Warnings, error) {
		// Since Prometheus 3 a range is open on its left; before, it was closed. So the request
		// covers one more millisecond, and the excess is dropped.
		expr := fmt.Sprintf("%s[%dms]", selector, last-first+1)
		value, warnings, err := r.api.Query(ctx, expr, time.UnixMilli(last), v1.WithTimeout(r.opt.Timeout))
		if matrix, ok := value.(model.Matrix); ok {
			for _, s := range matrix {
				for len(s.Values) > 0 && int64(s.Values[0].Timestamp) < first {
					s.Values = s.Values[1:]
				}
				s.Values = slices.DeleteFunc(s.Values, func(p model.SamplePair) bool { return p.Value != p.Value })
			}
		}

		return value, warnings, err
	}

	parts, err := r.inParts(ctx, fromMs, toMs, rawWindowMs, request)
	if err != nil {
		return nil, err
	}

	return r.join(parts)
}

// matrixOf returns the result of a query as a matrix.
func matrixOf(v model.Value) (model.Matrix, error) {
	switch v := v.(type) {
	case model.Matrix:
		return v, nil
	case nil:
		return nil, nil
	default:
		return nil, fmt.Errorf("the server returned a %s instead of a matrix", v.Type())
	}
}

var errTooManyPoints = errors.New(tooLarge)

// join joins the parts of a result, which are in order of time.
func (r *Server) join(parts []model.Matrix) ([]Series, error) {
	found := map[string]int{}
	var (
		out    []Series
		points int
	)

	for _, part := range parts {
		for _, s := range part {
			if len(s.Values) == 0 {
				continue // native histograms only
			}

			if points += len(s.Values); points > r.opt.MaxSamples {
				return nil, r.tooManyPoints()
			}

			l := LabelsOf(s.Metric)
			key := string(l.Bytes(nil))
			at, ok := found[key]
			if !ok {
				at = len(out)
				found[key] = at
				out = append(out, Series{Labels: l})
			}

			out[at].Points = slices.Grow(out[at].Points, len(s.Values))
			for _, p := range s.Values {
				out[at].Points = append(out[at].Points, promql.FPoint{T: int64(p.Timestamp), F: float64(p.Value)})
			}

			s.Values = nil // frees the memory for the next series
		}
	}

	slices.SortFunc(out, func(a, b Series) int { return labels.Compare(a.Labels, b.Labels) })
	return out, nil
}

// LabelsOf converts the labels of the HTTP API.
func LabelsOf(m model.Metric) labels.Labels {
	b := labels.NewScratchBuilder(len(m))
	for name, value := range m {
		b.Add(string(name), string(value))
	}
	b.Sort()
	return b.Labels()
}
