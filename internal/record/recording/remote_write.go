package recording

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"

	"plimsoll/internal/record/address"
	"plimsoll/internal/record/httpclient"
)

// PushOptions configure a [Pusher]. The zero value is ready for use.
type PushOptions struct {
	// Labels are added to every series, unless it already has them: a capture does not name its
	// cluster, and a server holds many.
	Labels labels.Labels
	// User and Password, or Token, are credentials as in [RemoteOptions]. Those in the URL take
	// precedence over these, and these over the environment.
	User, Password, Token string
	// Header holds further request headers, such as X-Scope-OrgID for Mimir and THANOS-TENANT for
	// Thanos.
	Header http.Header
	// Timeout bounds a request. 0 means half a minute.
	Timeout time.Duration
	// Patience is how long a request is retried if the server defers it or is unreachable. 0 means
	// five minutes.
	Patience time.Duration
	// RetryWait is the time before the first retry, which doubles up to half a minute. 0 means half
	// a second.
	RetryWait time.Duration
	// Samples is the number of samples in a request. 0 means 5,000; Prometheus' own client sends
	// 2,000.
	Samples int
	// Transport replaces the HTTP transport.
	Transport http.RoundTripper
}

// pushQueue bounds the requests that wait to be sent. When it is full, Append waits.
const pushQueue = 16

// pushAnswerMax bounds how much of a receiver's answer is read.
const pushAnswerMax = 64 << 10

// A Pusher is a [Writer] that pushes samples to a server with Prometheus' remote write protocol,
// version 1.0 (prometheus.io/docs/specs/prw/remote_write_spec: snappy-compressed protobuf over
// POST), which Prometheus, Thanos, Mimir and VictoriaMetrics accept.
//
// It sends one request at a time, so that samples arrive in the order in which they are appended:
// receivers refuse samples older than the newest of their series, and any that are more than about
// an hour behind the newest of all (see [Push]). If the server refuses a request, the pusher ends;
// if the server defers one, the pusher retries it.
type Pusher struct {
	url    string
	name   string // the URL without user, password and parameters
	opt    PushOptions
	client *http.Client
	auth   httpclient.Credentials

	mu      sync.Mutex // guards the samples being collected
	gather  map[string]*prompb.TimeSeries
	order   []*prompb.TimeSeries
	samples int
	closed  bool

	queue  chan []*prompb.TimeSeries
	ended  chan struct{} // the sender has ended
	failed chan struct{} // closed when err is set
	err    error
	sent   atomic.Int64
	cancel context.CancelFunc
}

// NewPusher returns a pusher to the full URL of a receiver: http://prometheus:9090/api/v1/write. It
// sends nothing before there are samples. When ctx ends, so does the pusher, and unsent samples are
// lost.
func NewPusher(ctx context.Context, rawURL string, opt PushOptions) (*Pusher, error) {
	u, err := address.ParseURL(rawURL)
	if err != nil {
		return nil,
			fmt.Errorf("remote write: the URL is not valid (%w): want for example http://prometheus:9090/api/v1/write",
				err)
	}

	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil,
			fmt.Errorf("remote write: %q is not an http or https URL: want for example http://prometheus:9090/api/v1/write",
				address.Bare(u))
	}

	opt.Timeout = cmp.Or(opt.Timeout, 30*time.Second)
	opt.Patience = cmp.Or(opt.Patience, 5*time.Minute)
	opt.RetryWait = cmp.Or(opt.RetryWait, 500*time.Millisecond)
	opt.Samples = cmp.Or(opt.Samples, 5000)
	p := &Pusher{
		opt: opt, auth: credentials(u, RemoteOptions{User: opt.User, Password: opt.Password, Token: opt.Token}),
		gather: map[string]*prompb.TimeSeries{}, queue: make(chan []*prompb.TimeSeries, pushQueue),
		ended: make(chan struct{}), failed: make(chan struct{}),
	}

	u.User = nil
	if u.Path == "" || u.Path == "/" { // a base URL, as in other commands
		u.Path = "/api/v1/write"
	}

	p.url, p.name = u.String(), address.Bare(u)

	// No redirects, because samples, headers and credentials would go to another server.
	p.client = httpclient.New(httpclient.Options{Base: opt.Transport, To: u, Credentials: p.auth,
		Header: opt.Header})
	ctx, p.cancel = context.WithCancel(ctx)
	go p.run(ctx)

	return p, nil
}

// Name returns the receiver's URL without credentials.
func (p *Pusher) Name() string { return p.name }

// Sent returns the number of samples that the receiver has accepted.
func (p *Pusher) Sent() int64 { return p.sent.Load() }

// Note implements [Writer]: servers do not accept notes.
func (p *Pusher) Note(Note) {}

// Source implements [Writer]: servers do not store sources.
func (p *Pusher) Source(Source) {}

// Append implements [Writer]. It waits if the receiver is slower than the source, and returns the
// error that ended the pusher.
func (p *Pusher) Append(ctx context.Context, b *Batch) error {
	if err := b.validate(); err != nil {
		return err
	}

	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errClosed
	}

	for _, c := range b.Columns {
		ts := p.series(c.Labels)
		for i, t := range b.TimesMs {
			v := c.Values[min(i, len(c.Values)-1)]
			if v != v {
				continue
			}
			ts.Samples = append(ts.Samples, prompb.Sample{Timestamp: t, Value: v})
			if p.samples++; p.samples >= p.opt.Samples {
				if err := p.flush(ctx); err != nil {
					return err
				}
				ts = p.series(c.Labels)
			}
		}
	}

	return nil
}

// series returns the collected series with these labels.
func (p *Pusher) series(l labels.Labels) *prompb.TimeSeries {
	key := string(l.Bytes(nil))
	ts := p.gather[key]
	if ts == nil {
		b := labels.NewBuilder(p.opt.Labels)
		l.Range(func(x labels.Label) { b.Set(x.Name, x.Value) })
		ts = &prompb.TimeSeries{Labels: prompb.FromLabels(b.Labels(), nil)}
		p.gather[key] = ts
		p.order = append(p.order, ts)
	}
	return ts
}

// flush passes the collected samples to the sender.
func (p *Pusher) flush(ctx context.Context) error {
	series := slices.DeleteFunc(p.order, func(ts *prompb.TimeSeries) bool { return len(ts.Samples) == 0 })
	p.gather, p.order, p.samples = map[string]*prompb.TimeSeries{}, nil, 0
	if len(series) == 0 {
		return nil
	}
	select {
	case p.queue <- series:
		return nil
	case <-p.failed:
		return p.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Flush sends the collected samples without waiting for more. Live sources call it after each
// sample.
func (p *Pusher) Flush(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.flush(ctx)
}

// Close sends the rest and returns the error that ended the pusher, if any.
func (p *Pusher) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}

	// Later calls of Append fail instead of blocking on a queue without a sender.
	p.closed = true
	err := p.flush(context.Background())
	p.mu.Unlock()
	close(p.queue)
	<-p.ended
	p.cancel()

	if err == nil {
		err = p.err
	}

	return err
}

// run sends one request after another until the queue is closed or a request fails.
func (p *Pusher) run(ctx context.Context) {
	defer close(p.ended)
	for series := range p.queue {
		if p.err != nil {
			continue // Append returns the error; queued requests are dropped
		}

		n := 0
		for _, ts := range series {
			n += len(ts.Samples)
		}

		if err := p.send(ctx, series); err != nil {
			p.err = fmt.Errorf("remote write %s: %w", p.name, err)
			close(p.failed)
			continue
		}

		p.sent.Add(int64(n))
	}
}

// send makes a request, and retries it while the server defers it or is unreachable.
func (p *Pusher) send(ctx context.Context, series []*prompb.TimeSeries) error {
	req := &prompb.WriteRequest{Timeseries: make([]prompb.TimeSeries, len(series))}
	for i, ts := range series {
		req.Timeseries[i] = *ts
	}

	raw, err := req.Marshal()
	if err != nil {
		return err
	}

	body := s2.EncodeSnappy(nil, raw)
	// A receiver that has not accepted anything yet is more likely a wrong address than a restart.
	patience := p.opt.Patience
	if p.sent.Load() == 0 {
		patience = min(patience, p.opt.Timeout)
	}

	began := time.Now()
	retry := httpclient.Retry{Patience: patience, Wait: p.opt.RetryWait}
	err = retry.Do(ctx, func(ctx context.Context) error { return p.post(ctx, body) })

	var unavailable *unavailableError
	if errors.As(err, &unavailable) {
		return fmt.Errorf("%w (tried for %s)", err, time.Since(began).Round(time.Second))
	}

	return err
}

// An unavailableError is the error of a receiver that deferred all attempts.
type unavailableError struct{ error }

func (e *unavailableError) Unwrap() error { return e.error }

func deferred(err error, after time.Duration) error {
	return &httpclient.DeferredError{Err: &unavailableError{err}, After: after}
}

// post makes one attempt.
func (p *Pusher) post(ctx context.Context, body []byte) error {
	limited, cancel := context.WithTimeout(ctx, p.opt.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(limited, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return err
	}

	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("Content-Encoding", "snappy")
	req.Header.Set("X-Prometheus-Remote-Write-Version", "0.1.0")

	resp, err := p.client.Do(req)
	if err != nil {
		return p.unreachable(ctx, limited, httpclient.Cause(err))
	}

	defer resp.Body.Close()

	reply, _ := io.ReadAll(io.LimitReader(resp.Body, pushAnswerMax)) // an explanation, if there is one
	switch status := resp.StatusCode; {
	case strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") && status/100 == 2:
		return errors.New("this is a web page, not a receiver: the path is usually /api/v1/write (Thanos: /api/v1/receive, Mimir: /api/v1/push)")
	case status/100 == 3:
		return redirected(resp)
	case status/100 == 2:
		return nil
	case status == http.StatusTooManyRequests || status/100 == 5:
		return deferred(fmt.Errorf("%s: %s", statusText(status), firstLine(string(reply))),
			httpclient.RetryAfter(resp.Header, time.Now()))
	default:
		return refused(p.auth, status, firstLine(string(reply)))
	}
}

// unreachable explains a request without an answer. A server that accepts connections but never
// answered is probably not a receiver, so the request is not retried.
func (p *Pusher) unreachable(ctx, limited context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		noResponse := fmt.Errorf("no response within %s: check the address, and the load and log of the receiver",
			p.opt.Timeout)
		if p.sent.Load() == 0 {
			return noResponse
		}
		return deferred(noResponse, 0)
	}

	if better := httpclient.Untrusted(err); better != nil {
		return better
	}

	return deferred(fmt.Errorf("cannot reach the receiver: %w", err), 0)
}

// redirected returns the error of a redirect, with its target without secrets.
func redirected(resp *http.Response) error {
	to := "somewhere else"
	if u, err := resp.Location(); err == nil {
		to = "to " + address.Bare(u)
	}
	return fmt.Errorf("%s: it redirects %s, but pushes do not follow redirects: give the receiver's own address",
		statusText(resp.StatusCode), firstLine(to))
}

// refused explains the refusal of a receiver and what to do about it.
func refused(sent httpclient.Credentials, status int, reply string) error {
	low := strings.ToLower(reply)
	contains := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(s string) bool { return strings.Contains(low, s) })
	}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return denied(sent, status)
	case wantsTLS(status, reply):
		return errWantsTLS
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed ||
		contains("remote write receiver"):
		return fmt.Errorf("%s: no receiver at this address: start Prometheus with --web.enable-remote-write-receiver, and use the path /api/v1/write (Thanos: /api/v1/receive, Mimir: /api/v1/push)",
			statusText(status))
	case contains("out of order", "out of bounds", "too old", "too far in the past", "duplicate sample"):
		return fmt.Errorf("the receiver has newer samples and accepts no older ones (%s): configure an out-of-order window (Prometheus: storage.tsdb.out_of_order_time_window; Thanos receive: --tsdb.out-of-order.time-window), or use other labels (--label) or an empty receiver",
			reply)
	case contains("external labels", "tenant"):
		return fmt.Errorf("%s: %s: add what it requires as --label or --header", statusText(status), reply)
	}

	return fmt.Errorf("%s: %s", statusText(status), reply)
}
