package exposition

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"plimsoll/observe/source"
	"plimsoll/recording"
)

// The environment variables credentials are taken from where the URL has none.
const (
	EnvUser     = "PLIMSOLL_USER"
	EnvPassword = "PLIMSOLL_PASSWORD"
	EnvToken    = "PLIMSOLL_TOKEN" // a bearer token
)

// scrapeTimeoutMin is Prometheus' own default scrape_timeout. A database that stalls answers late,
// and that answer is the one that counts.
const scrapeTimeoutMin = 10 * time.Second

// URLOptions say how to ask.
type URLOptions struct {
	// Insecure accepts any TLS certificate.
	Insecure bool
	// Transport replaces the HTTP transport.
	Transport http.RoundTripper
	// Getenv replaces os.Getenv.
	Getenv func(string) string
}

// metricsURL is a page that is asked for again and again; it implements source.Source.
type metricsURL struct {
	url    *url.URL // without credentials
	auth   string   // the Authorization header
	name   string
	client *http.Client

	mu   sync.Mutex
	desc recording.Source
}

// OpenURL prepares the page at an http or https address. Nothing is asked yet.
//
// Credentials come from the URL, or else from the environment ([EnvToken], or
// [EnvUser] and [EnvPassword]). They are sent to that host only, and appear in no text.
func OpenURL(raw string, opt URLOptions) (source.Source, error) {
	u, err := url.Parse(raw)
	if err != nil {
		// The error repeats the URL, and with it a password.
		return nil, errors.New("the metrics URL cannot be read: give one such as http://host:9100/metrics")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%s is no http or https URL: give one such as http://host:9100/metrics", PublicURL(u))
	}
	if opt.Getenv == nil {
		opt.Getenv = os.Getenv
	}
	m := &metricsURL{name: PublicURL(u), auth: authorization(u, opt.Getenv)}
	u.User, u.Fragment = nil, ""
	m.url = u
	m.desc = recording.Source{Kind: "metrics-url", Name: m.name}
	if opt.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		if opt.Insecure {
			t.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
		}
		opt.Transport = t
	}
	m.client = &http.Client{Transport: opt.Transport, CheckRedirect: checkRedirect}
	return m, nil
}

// checkRedirect refuses a redirect that would send credentials in the clear. (To another host
// net/http does not send them at all.)
func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) >= 5 {
		return errors.New("it redirects again and again: give the page's own address")
	}
	if via[0].URL.Scheme == "https" && req.URL.Scheme == "http" {
		return errors.New("it redirects from https to http: give the page's own address")
	}
	return nil
}

func authorization(u *url.URL, getenv func(string) string) string {
	basic := func(user, password string) string {
		r := http.Request{Header: http.Header{}}
		r.SetBasicAuth(user, password)
		return r.Header.Get("Authorization")
	}
	switch {
	case u.User != nil:
		password, _ := u.User.Password()
		return basic(u.User.Username(), password)
	case getenv(EnvToken) != "":
		return "Bearer " + getenv(EnvToken)
	case getenv(EnvUser) != "":
		return basic(getenv(EnvUser), getenv(EnvPassword))
	}
	return ""
}

// secretKey matches the names of query parameters whose values are secrets.
var secretKey = regexp.MustCompile(`(?i)pass|token|secret|key|auth|sig|cred`)

// PublicURL is a URL as it may be shown: without user and password, and without the
// values of parameters that may be secrets.
func PublicURL(u *url.URL) string {
	v := *u
	v.User, v.Fragment = nil, ""
	if v.RawQuery != "" {
		parts := strings.Split(v.RawQuery, "&")
		for i, p := range parts {
			if k, _, ok := strings.Cut(p, "="); ok && secretKey.MatchString(k) {
				parts[i] = k + "=..."
			}
		}
		v.RawQuery = strings.Join(parts, "&")
	}
	return v.String()
}

// Describe implements source.Source.
func (m *metricsURL) Describe() recording.Source {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.desc
}

// Live implements source.Source.
func (m *metricsURL) Live() bool { return true }

// Read implements source.Source. The first page is asked for at once; if that fails,
// so does Read. The others follow at whole multiples of the period, however long a page takes, so that the
// schedule does not drift and sources beside it sample at the same moments. A page's time is
// when it was asked for. A page that fails later leaves a gap.
func (m *metricsURL) Read(ctx context.Context, w recording.Writer, opt source.Options) error {
	period := opt.Period
	if period <= 0 {
		period = time.Second
	}
	begin := time.Now()
	s := &scraping{m: m, w: w, opt: opt, parser: newParser(opt.Want), period: period}
	for {
		at := time.Now()
		if err := s.once(ctx, at); err != nil && ctx.Err() == nil {
			return err
		}
		if ctx.Err() != nil {
			break // whatever the last scrape said of it
		}
		if opt.Progress != nil {
			opt.Progress(int64(time.Since(begin)), int64(opt.For))
		}
		next := time.Now().Truncate(period).Add(period)
		if opt.For > 0 && next.After(begin.Add(opt.For)) || !sleep(ctx, time.Until(next)) {
			break
		}
	}
	s.endGap(time.Now())
	s.describe()
	return nil //nolint:nilerr // the end of the context ends a live source without an error
}

// sleep waits; false if the context ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// scraping is one Read of a URL.
type scraping struct {
	m      *metricsURL
	w      recording.Writer
	opt    source.Options
	parser *parser
	period time.Duration

	span    span
	lastOK  time.Time
	failed  int // pages in a row
	failure error
	bad     int
	badText string
}

// once asks for one page. It fails if this was the first, or if w does.
func (s *scraping) once(ctx context.Context, at time.Time) error {
	ctx2, cancel := context.WithTimeout(ctx, max(s.period, scrapeTimeoutMin))
	defer cancel()
	body, contentType, err := s.m.get(ctx2)
	if err != nil {
		if s.span.n == 0 || ctx.Err() != nil {
			return err
		}
		s.failed++
		s.failure = err
		return nil
	}
	samples, bad := s.parser.parse(body, contentType)
	if len(bad) > 0 && s.bad == 0 {
		s.badText = bad[0].text
	}
	s.bad += len(bad)
	if err := s.m.judge(s.parser, bad); err != nil {
		return err
	}
	s.endGap(at)
	s.lastOK = at
	ms := at.UnixMilli()
	for i := range samples {
		// When a live page was asked for is known; an exporter that passes on older
		// samples says so by their timestamps.
		if samples[i].ms == 0 {
			samples[i].ms = ms
		}
	}
	s.span.add(ms + s.opt.ClockOffset.Milliseconds())
	for _, b := range batches(samples, ms) {
		b.TimesMs[0] += s.opt.ClockOffset.Milliseconds()
		if err := s.w.Append(ctx, &b); err != nil {
			return err
		}
	}
	if s.span.n == 1 {
		s.describe()
	}
	return nil
}

// endGap leaves a note about the pages that failed until now.
func (s *scraping) endGap(now time.Time) {
	if s.failed == 0 {
		return
	}
	s.w.Note(recording.Note{Kind: recording.NoteGap, Source: s.m.name,
		From: s.lastOK.Add(s.opt.ClockOffset).UTC(), To: now.Add(s.opt.ClockOffset).UTC(),
		Text: fmt.Sprintf("%d pages in a row could not be read, the last because: %v", s.failed, s.failure)})
	s.failed = 0
}

// describe tells who the samples are from: once early, for those who watch, and at the end.
func (s *scraping) describe() {
	d := recording.Source{
		Kind: "metrics-url", Name: s.m.name, Engine: s.parser.engine(), Version: s.parser.version, Host: s.parser.host,
		Samples: s.span.n, Period: s.period,
		From: time.UnixMilli(s.span.firstMs).UTC(), To: time.UnixMilli(s.span.lastMs).UTC(),
	}
	s.m.mu.Lock()
	s.m.desc = d
	s.m.mu.Unlock()
	s.w.Source(d)
	if s.bad > 0 && s.span.n > 1 {
		s.w.Note(recording.Note{Kind: recording.NoteDamage, Source: s.m.name,
			Text: fmt.Sprintf("%d lines could not be read and were left out, the first: %s", s.bad, s.badText)})
	}
}

// get asks for the page once.
func (m *metricsURL) get(ctx context.Context) (body []byte, contentType string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url.String(), nil)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", m.name, err)
	}
	req.Header.Set("Accept", openMetricsType+", "+textType+";q=0.8, */*;q=0.1")
	req.Header.Set("User-Agent", "plimsoll")
	if m.auth != "" {
		req.Header.Set("Authorization", m.auth)
	}
	resp, err := m.client.Do(req)
	if err != nil {
		return nil, "", m.unreachable(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, "", m.refused(resp.StatusCode)
	}
	contentType = resp.Header.Get("Content-Type")
	if strings.HasPrefix(contentType, "text/html") {
		return nil, "", notMetrics(m.name + " answers with a web page, not with metrics: the path is usually /metrics (IRIS: /api/monitor/metrics)")
	}
	body, err = io.ReadAll(io.LimitReader(resp.Body, PageBytesMax+1))
	if err != nil {
		return nil, "", m.unreachable(err)
	}
	if len(body) > PageBytesMax {
		return nil, "", fmt.Errorf("%s answers with more than %d MiB: is this the page's address?", m.name, PageBytesMax>>20)
	}
	return body, contentType, nil
}

// Refused is a server's answer with a status other than 200.
type Refused struct {
	Status int
	text   string
}

func (e *Refused) Error() string { return e.text }

// ErrNotMetrics is wrapped by the error about an answer that is something else than metrics.
var ErrNotMetrics = errors.New("not metrics")

// notMetrics is an error with its own text that wraps ErrNotMetrics.
type notMetrics string

func (e notMetrics) Error() string { return string(e) }
func (notMetrics) Unwrap() error   { return ErrNotMetrics }

// Probe asks for the page of a source made by [OpenURL] once, and tells what is wrong with the answer.
func Probe(ctx context.Context, src source.Source) error {
	m, ok := src.(*metricsURL)
	if !ok {
		return errors.New("exposition: Probe wants a source made by OpenURL")
	}
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeoutMin)
	defer cancel()
	body, contentType, err := m.get(ctx)
	if err != nil {
		return err
	}
	p := newParser(nil)
	_, bad := p.parse(body, contentType)
	return m.judge(p, bad)
}

// judge says why a page that could be had holds no metrics.
func (m *metricsURL) judge(p *parser, bad []badLine) error {
	switch {
	case p.samples > 0:
		return nil
	case len(bad) > 0:
		return notMetrics(fmt.Sprintf("%s answers, but not with metrics: %s", m.name, bad[0].text))
	}
	return notMetrics(fmt.Sprintf("%s answers with no metric at all: is this the page's address?", m.name))
}

func (m *metricsURL) refused(status int) error {
	hint := "check the address"
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		hint = "give credentials in the URL, by " + EnvUser + " and " + EnvPassword + ", or a bearer token by " + EnvToken
	case http.StatusNotFound:
		hint = "check the path: it is usually /metrics (IRIS: /api/monitor/metrics)"
	}
	return &Refused{Status: status, text: fmt.Sprintf("%s answers %d %s: %s", m.name, status, http.StatusText(status), hint)}
}

// unreachable says what to check. The client's own error repeats the URL, and with it secrets.
func (m *metricsURL) unreachable(err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	hint := "check host and port, that the exporter runs, and firewalls between"
	var dns *net.DNSError
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		hint = "the server took the connection but did not answer in time, or a firewall drops it"
	case errors.As(err, &dns):
		hint = "check the host's name"
	case errors.As(err, &unknown), errors.As(err, &name), errors.As(err, &invalid):
		hint = "its certificate is not trusted here: install its authority, or allow insecure TLS explicitly"
	case errors.Is(err, http.ErrSchemeMismatch):
		hint = "it does not speak TLS: try http://"
	}
	return fmt.Errorf("%s cannot be read: %w: %s", m.name, err, hint)
}
