// Package httpclient sends Plimsoll's requests to servers: Prometheus-compatible ones, receivers of
// remote write, exporters, clouds, Kubernetes and a running watch.
//
// It adds to net/http what each of these requests needs. Answers are bounded after decompression
// and before anything decodes them. Credentials go only to the intended server, never to the target
// of a redirect, and the URL of a request, whose parameters may be secret, is never sent as a
// Referer. A request that a server defers is retried after the wait that the server asks for
// ([Retry]). TLS errors say what to do about them ([Untrusted]).
//
// The HTTP clients of prometheus/common/config do not bound answers and cannot express what the
// callers here need: no compression over loopback, one connection per member of a cluster, many
// idle connections to one server.
package httpclient

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
)

// agent appears in the logs of servers.
const agent = "plimsoll"

// Options configure a client. The zero Options have no bounds.
type Options struct {
	// Base sends the requests; nil is [Base].
	Base http.RoundTripper
	// To is the server that Credentials and Header are for; nil means every server.
	To *url.URL
	// Credentials become the Authorization header.
	Credentials Credentials
	// Header holds additional request headers.
	Header http.Header
	// Most bounds each answer.
	Most Bounds
	// Redirects bounds the redirects that are followed. With 0, a redirect is returned as the
	// answer.
	Redirects int
}

// headerBytesMax bounds the header of an answer. Real ones have a kilobyte or two.
const headerBytesMax = 1 << 20

// Base returns a transport like Go's default, with proxies from the environment. insecure accepts
// any certificate.
func Base(insecure bool) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it always is one
	t.MaxResponseHeaderBytes = headerBytesMax
	if insecure {
		t.TLSClientConfig = clientTLS(insecure)
	}
	return t
}

// Direct returns a transport for a server that is not behind a proxy: this machine's metadata
// service, or a member of a cluster that is about to restart. It keeps no idle connections, which
// would hide the restart. config may be nil.
func Direct(config *tls.Config) *http.Transport {
	t := Base(false)
	t.Proxy, t.DisableKeepAlives, t.TLSClientConfig = nil, true, config
	return t
}

// Socket returns a transport to the server behind a Unix socket, whatever host a URL names.
func Socket(path string) *http.Transport {
	t := Base(false)
	t.Proxy = nil
	t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}
	return t
}

// New returns a client.
func New(o Options) *http.Client {
	return &http.Client{Transport: Transport(o),
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			return checkRedirect(req, via, o.Redirects)
		}}
}

var (
	errRedirects = errors.New("too many redirects: give the final address of the page")
	errDowngrade = errors.New("redirect from https to http: give the final address of the page")
)

// checkRedirect refuses a redirect to an unencrypted page. Credentials are never sent to another
// server; net/http alone would send them to another port, and to a subdomain.
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

// Transport returns the transport of a [New] client, for libraries that have their own client.
func Transport(o Options) http.RoundTripper {
	if o.Base == nil {
		o.Base = Base(false)
	}
	return &transport{o}
}

type transport struct{ Options }

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	// A transport must not change the request of its caller (net/http, RoundTripper).
	req = req.Clone(req.Context())
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", agent)
	}

	// Only the intended server gets the credentials, also after a redirect, which is a new request
	// here.
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

// authorize adds the headers that only the intended server may see.
func (t *transport) authorize(req *http.Request) error {
	for name, values := range t.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	value, err := t.Credentials.Authorization()
	if err != nil {
		return err
	}
	if value != "" {
		req.Header.Set("Authorization", value)
	}
	return nil
}

// CloseIdleConnections is called by [http.Client.CloseIdleConnections].
func (t *transport) CloseIdleConnections() {
	if c, ok := t.Base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// Cause returns the reason of a failed request without its URL, because messages already have the
// URL without its secrets.
func Cause(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// answerKey is the key of the [Answer] in a request's context.
type answerKey struct{}

// WithAnswer returns a context whose requests store their status in a, for libraries that do not
// return it.
func WithAnswer(ctx context.Context, a *Answer) context.Context {
	return context.WithValue(ctx, answerKey{}, a)
}
