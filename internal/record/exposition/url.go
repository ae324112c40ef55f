package exposition

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"time"

	"plimsoll/internal/record/address"
	"plimsoll/internal/record/httpclient"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// The environment variables for credentials that are not in the URL.
const (
	EnvUser     = source.EnvUser
	EnvPassword = source.EnvPassword
	EnvToken    = "PLIMSOLL_TOKEN" // a bearer token
)

// scrapeTimeoutMin is Prometheus' default scrape_timeout. A database that stalls responds late, and
// exactly that response matters most.
const scrapeTimeoutMin = 10 * time.Second

// URLOptions are options of requests.
type URLOptions struct {
	// Insecure accepts any TLS certificate.
	Insecure bool
	// Transport replaces the HTTP transport.
	Transport http.RoundTripper
	// Getenv replaces os.Getenv.
	Getenv func(string) string
	// Exporters are the known exporters.
	Exporters []Exporter
	// Within bounds the time for a page; 0 means ten seconds.
	Within time.Duration
	// Room is shared by all pages that are read at the same time; nil means that this is the only
	// page.
	Room *Room
}

// metricsURL is a page that is scraped repeatedly; it implements source.Source.
type metricsURL struct {
	*source.Polled
	url    *url.URL // without credentials
	auth   httpclient.Credentials
	name   string
	client *http.Client
	within time.Duration
	room   *Room

	exporters []Exporter
}

// OpenURL prepares the page at an http or https address. It sends no request yet.
//
// Credentials come from the URL, or from the environment ([EnvToken], or [EnvUser] and
// [EnvPassword]). They are sent only to that host and appear in no output.
func OpenURL(raw string, opt URLOptions) (source.Source, error) {
	parsed, err := address.ParseURL(raw)
	if errors.Is(err, address.ErrScheme) || errors.Is(err, address.ErrHost) {
		return nil, fmt.Errorf("%s is not an http or https URL: want for example http://host:9100/metrics",
			address.Public(raw))
	}

	if err != nil {
		return nil, fmt.Errorf("the metrics URL is not valid (%w): want for example http://host:9100/metrics", err)
	}
	if parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
		return nil, fmt.Errorf("%s is not an http or https URL: want for example http://host:9100/metrics",
			address.PublicURL(parsed))
	}

	if opt.Getenv == nil {
		opt.Getenv = os.Getenv
	}

	auth := cmp.Or(httpclient.OfURL(parsed, opt.Getenv(EnvPassword)), httpclient.Bearer(opt.Getenv(EnvToken)),
		httpclient.Basic(opt.Getenv(EnvUser), opt.Getenv(EnvPassword)))
	m := &metricsURL{name: address.PublicURL(parsed), auth: auth, exporters: opt.Exporters,
		within: cmp.Or(opt.Within, scrapeTimeoutMin)}
	parsed.User, parsed.Fragment = nil, ""
	m.url = parsed
	m.Polled = source.NewPolled(recording.Source{Kind: "metrics-url", Name: m.name}).AnswerWithin(m.within)

	if opt.Transport == nil {
		t := httpclient.Base(opt.Insecure)
		// Compression saves nothing on the same machine and costs the exporter CPU.
		t.DisableCompression = onThisHost(parsed)
		opt.Transport = t
	}

	if opt.Room == nil {
		opt.Room = NewRoom()
	}

	m.room = opt.Room
	m.client = httpclient.New(httpclient.Options{Base: opt.Transport, To: parsed, Credentials: m.auth,
		Redirects: redirectsMax, Most: httpclient.Bounds{Bytes: PageBytesMax}})
	return m, nil
}

// redirectsMax bounds the redirects of a request.
const redirectsMax = 5

// onThisHost reports whether a page comes over loopback. Compression would then cost the database
// more time than sending the plain text.
func onThisHost(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// Read implements source.Source, using source.Polled.Poll. The time of a page is the time of its
// request.
func (m *metricsURL) Read(ctx context.Context, w recording.Writer, opt source.Options) error {
	s := &scraping{m: m, w: w, parser: newParser(m.exporters, opt.Want)}
	s.parser.room, s.parser.most = m.room, samplesMax
	defer s.parser.leave()
	err := m.Poll(ctx, w, opt, s)
	if s.bad > 0 {
		w.Note(recording.Note{Kind: recording.NoteDamage, Source: m.name,
			Text: fmt.Sprintf("skipped %d unreadable lines, the first: %s", s.bad, s.badText)})
	}
	if n := s.parser.dropped; n > 0 {
		w.Note(recording.Note{Kind: recording.NoteDropped, Source: m.name, Text: overSeries(n)})
	}
	return err
}

// scraping is the state of one Read of a URL.
type scraping struct {
	m      *metricsURL
	w      recording.Writer
	parser *parser
	page   bytes.Buffer // of the last page; the next one reuses its memory

	bad     int
	badText string

	// given has the newest timestamps of the series on the last page, by the hash of their labels.
	given map[uint64]int64
}

// Sample implements source.Sampler. It scrapes one page.
func (s *scraping) Sample(ctx context.Context, at time.Time) ([]recording.Batch, error) {
	ctx, end := s.m.room.turns.Begin(ctx)
	defer end()
	body, contentType, err := s.m.get(ctx, &s.page)
	if err != nil {
		return nil, err
	}

	if s.page.Cap() > largePage {
		s.page = bytes.Buffer{}
		defer runtime.GC() // the next large page waits for its turn, and their memory must not add up
	}

	// The parser counts over all pages; the differences are those of this page.
	before, dropped := s.parser.samples, s.parser.dropped
	samples, bad := s.parser.parse(body, contentType)
	if err := s.m.judge(s.parser.samples-before, bad); err != nil {
		return nil, err
	}

	if n := s.parser.dropped - dropped; n > 0 {
		s.m.Drop(n)
		if dropped == 0 { // reported immediately, and counted at the end
			s.w.Note(recording.Note{Kind: recording.NoteDropped, Source: s.m.name, From: at, Text: overSeries(n)})
		}
	}

	if len(bad) > 0 && s.bad == 0 {
		s.badText = bad[0].text
	}

	s.bad += len(bad)
	if samples = s.newer(samples); len(samples) == 0 {
		return nil, source.ErrNothingNew
	}

	ms := at.UnixMilli()
	for i := range samples {
		// A live page is sampled at the time of the request. Only exporters that forward older
		// samples give them timestamps.
		if samples[i].ms == 0 {
			samples[i].ms = ms
		}
	}

	return batches(samples, ms), nil
}

// newer removes samples that were on the last page as well, with the same timestamps. A server that
// forwards samples (Prometheus at /federate) repeats each one until it has scraped the next.
func (s *scraping) newer(samples []sample) []sample {
	given := make(map[uint64]int64, len(s.given))
	kept := samples[:0]
	for _, x := range samples {
		if x.ms != 0 {
			hash := x.labels.Hash()
			last, known := s.given[hash]
			given[hash] = max(x.ms, last)
			if known && x.ms <= last {
				continue
			}
		}
		kept = append(kept, x)
	}

	s.given = given
	return kept
}

// AddFacts implements source.Sampler.
func (s *scraping) AddFacts(d *recording.Source) {
	d.Engine, d.Version, d.Host = s.parser.engine(), s.parser.version, s.parser.host
}

// get requests the page once. The returned bytes belong to page.
func (m *metricsURL) get(ctx context.Context, page *bytes.Buffer) (body []byte, contentType string,
	err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url.String(), nil)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", m.name, err)
	}

	// OpenMetrics first, because its counters and units are typed. Text is the fallback of old
	// exporters.
	req.Header.Set("Accept", openMetricsType+", "+textType+";q=0.8, */*;q=0.1")
	resp, err := m.client.Do(req)
	if err != nil {
		return nil, "", m.unreachable(err)
	}

	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, "", m.refused(resp.StatusCode)
	}

	contentType = resp.Header.Get("Content-Type")
	// A status of 200 with a page for people: the wrong path of a server with a user interface.
	if strings.HasPrefix(contentType, "text/html") {
		return nil, "", notMetrics(m.name + " is a web page, not metrics: the path is usually " +
			usualPath(m.exporters))
	}

	page.Reset()
	var large *httpclient.TooLargeError
	if _, err := page.ReadFrom(resp.Body); errors.As(err, &large) {
		return nil, "", fmt.Errorf("%s is larger than %d MiB: check that it is the address of a page of metrics",
			m.name,
			PageBytesMax>>20)
	} else if err != nil {
		return nil, "", m.unreachable(err)
	}

	return page.Bytes(), contentType, nil
}

// Refused is the error of a response with a status other than 200.
type Refused struct {
	Status int
	text   string
}

func (e *Refused) Error() string { return e.text }

// ErrNotMetrics is wrapped by errors about responses that are not metrics.
var ErrNotMetrics = errors.New("not metrics")

// notMetrics is an error text that wraps ErrNotMetrics.
type notMetrics string

func (e notMetrics) Error() string { return string(e) }
func (notMetrics) Unwrap() error   { return ErrNotMetrics }

// Probe requests the page of a source made by [OpenURL] or [OpenMember] once, and returns what is
// wrong with the response.
func Probe(ctx context.Context, src source.Source) error {
	if of, ok := src.(*member); ok {
		src = of.metricsURL
	}

	m, ok := src.(*metricsURL)
	if !ok {
		return errors.New("exposition: Probe needs a source made by OpenURL")
	}

	ctx, cancel := context.WithTimeout(ctx, m.within)
	defer cancel()
	ctx, end := m.room.turns.Begin(ctx)
	defer end()

	body, contentType, err := m.get(ctx, &bytes.Buffer{})
	if err != nil {
		return err
	}

	if len(body) > largePage {
		defer runtime.GC() // as in Sample
	}

	p := newParser(nil, nil)
	p.room, p.most = m.room, samplesMax
	defer p.leave()
	_, bad := p.parse(body, contentType)

	return m.judge(p.samples, bad)
}

// judge returns an error if a response contains no metrics.
func (m *metricsURL) judge(samples int64, bad []badLine) error {
	switch {
	case samples > 0:
		return nil
	case len(bad) > 0:
		return notMetrics(fmt.Sprintf("%s does not respond with metrics: %s", m.name, bad[0].text))
	}
	return notMetrics(fmt.Sprintf("%s has no metrics: check that it is the address of a page of metrics",
		m.name))
}

func (m *metricsURL) refused(status int) error {
	hint := "check the address"
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		hint = "give credentials in the URL, in " + EnvUser + " and " + EnvPassword +
			", or a bearer token in " + EnvToken
		for _, e := range m.exporters {
			if e.Refused != "" && strings.HasPrefix(m.url.Path, e.Below) {
				hint = e.Refused
			}
		}
	case http.StatusNotFound:
		hint = "check the path: it is usually " + usualPath(m.exporters)
	}

	return &Refused{Status: status,
		text: fmt.Sprintf("%s responds with %d %s: %s", m.name, status, http.StatusText(status), hint)}
}

// unreachable adds what to check. The client's own error is not shown, because it repeats the URL
// and its secrets.
func (m *metricsURL) unreachable(err error) error {
	err = httpclient.Cause(err)
	hint := "check the host and port, that the exporter is running, and firewalls"
	var dns *net.DNSError
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError

	var invalid x509.CertificateInvalidError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		hint = "the server did not respond in time, or a firewall drops packets"
	case errors.As(err, &dns):
		hint = "check the host name"
	case errors.As(err, &unknown), errors.As(err, &name), errors.As(err, &invalid):
		hint = "its certificate is not trusted: set SSL_CERT_FILE=ca.pem to the CA's file, or accept any certificate with --insecure"
	case errors.Is(err, http.ErrSchemeMismatch):
		hint = "the server does not use TLS: try http://"
	}

	return fmt.Errorf("cannot read %s: %w: %s", m.name, err, hint)
}
