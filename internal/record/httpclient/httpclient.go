// Package httpclient is how Plimsoll sends requests to servers: Prometheus-compatible ones, receivers
// of remote write, exporters, clouds, Kubernetes and a running watch.
//
// It adds to net/http what every one of these requests needs. An answer is bounded after it was
// decompressed and before anything decodes it. Credentials go to the server they are meant for, never
// to where it redirects, and the address of a request, whose parameters may be secret, goes nowhere as a
// Referer. A request that a server defers is repeated after the wait it asks for ([Retry]). Errors of
// TLS say what to do about them ([Untrusted]).
//
// prometheus/common/config has HTTP clients too. They bound no answer, and cannot say what the callers
// here need: compression off over loopback, one connection for each member of a cluster, many idle
// connections to one server.
package httpclient

import (
	"context"
	"errors"
	"net/http"
	"net/url"
)

// agent is what servers log about who asked.
const agent = "plimsoll"

// Options say whom a client talks to, and what it accepts. The zero Options have no bound.
type Options struct {
	// Base sends the requests; nil is [Base].
	Base http.RoundTripper
	// To is the server that Credentials and Header are for; nil: every server.
	To *url.URL
	// Credentials become the Authorization header.
	Credentials Credentials
	// Header holds further headers.
	Header http.Header
	// Most bounds each answer.
	Most Bounds
	// Redirects is how many are followed. With 0, an answer that redirects is returned as it is.
	Redirects int
}

// headerBytesMax bounds the head of an answer; real ones have a kilobyte or two.
const headerBytesMax = 1 << 20

// Base returns a transport like Go's own, with proxies from the environment. insecure accepts any
// certificate.
func Base(insecure bool) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one
	t.MaxResponseHeaderBytes = headerBytesMax
	if insecure {
		t.TLSClientConfig = clientTLS(insecure)
	}
	return t
}

// New makes a client.
func New(o Options) *http.Client {
	return &http.Client{Transport: Transport(o),
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			return checkRedirect(req, via, o.Redirects)
		}}
}

var (
	errRedirects = errors.New("too many redirects: give the page's own address")
	errDowngrade = errors.New("it redirects from https to http: give the page's own address")
)

// checkRedirect refuses a redirect that would be read in the clear. To another server no credentials are
// sent; net/http alone would send them to another port, and to a host below this one.
func checkRedirect(req *http.Request, via []*http.Request, most int) error {
	switch {
	case most == 0:
		return http.ErrUseLastResponse
	case len(via) > most:
		return errRedirects
	case via[0].URL.Scheme == "https" && req.URL.Scheme == "http":
		return errDowngrade
	}
	return nil
}

// Transport makes what a [New] client sends its requests with, for libraries that have a client of their
// own.
func Transport(o Options) http.RoundTripper {
	if o.Base == nil {
		o.Base = Base(false)
	}
	return &transport{o}
}

type transport struct{ Options }

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", agent)
	}

	req.Header.Del("Referer")
	if t.To == nil || req.URL.Host == t.To.Host && req.URL.Scheme == t.To.Scheme {
		if err := t.authorize(req); err != nil {
			return nil, err
		}
	} else {
		req.Header.Del("Authorization")
	}

	resp, err := t.Base.RoundTrip(req)
	if err != nil {
		return nil, err
	}

	if a, ok := req.Context().Value(answerKey{}).(*Answer); ok {
		a.set(resp)
	}

	resp.Body = bound(req.Context(), resp.Body, t.Most)
	return resp, nil
}

// authorize adds what only the server itself may see.
func (t *transport) authorize(req *http.Request) error {
	for name, values := range t.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	who, err := t.Credentials.Authorization()
	if err != nil {
		return err
	}
	if who != "" {
		req.Header.Set("Authorization", who)
	}
	return nil
}

// CloseIdleConnections implements what [http.Client.CloseIdleConnections] asks for.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.Base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// Cause returns why a request failed, without its address: messages have that already, without its
// secrets.
func Cause(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// answerKey finds the [Answer] in a request's context.
type answerKey struct{}

// WithAnswer returns a context whose requests leave their status in a, for libraries that do not return
// it.
func WithAnswer(ctx context.Context, a *Answer) context.Context {
	return context.WithValue(ctx, answerKey{}, a)
}
