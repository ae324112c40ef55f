package live

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"plimsoll/internal/record/exposition"
	"plimsoll/internal/record/httpclient"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// Exporter describes etcd's own metrics page.
var Exporter = exposition.Exporter{Engine: "etcd", Prefix: "etcd", VersionMetric: "etcd_server_version",
	VersionLabel: "server_version"}

// A cluster is sampled repeatedly; it implements source.Source.
type cluster struct {
	address *address
	config  *tls.Config
	room    *exposition.Room
	desc    recording.Source
	within  time.Duration // 0: the defaults
	every   time.Duration // how often the member list is read
}

// followEvery is how often the member list is read again. Changes are rare, so this need not be
// faster.
const followEvery = 15 * time.Second

// Open prepares the cluster at an etcd:// or etcds:// address. It reads the TLS files, but does not
// connect. Without a time for an answer, the member list may take five seconds.
func Open(_ context.Context, text string, opt recognise.LiveOptions) (source.Source, error) {
	if opt.Getenv == nil {
		opt.Getenv = os.Getenv
	}

	a, err := parse(text, opt.Getenv)
	if err != nil {
		return nil, err
	}

	a.within = cmp.Or(opt.Within, askWithin)
	config, err := a.files.Config(called, a.secure, opt.Insecure)
	if err != nil {
		return nil, err
	}

	if opt.Room == nil {
		opt.Room = exposition.NewRoom()
	}

	return &cluster{address: a, config: config, room: opt.Room, within: opt.Within, every: followEvery,
		desc: recording.Source{Kind: "etcd", Name: a.name(), Engine: "etcd"}}, nil
}

// Describe implements [source.Source].
func (c *cluster) Describe() recording.Source { return c.desc }

// Live implements [source.Source].
func (*cluster) Live() bool { return true }

// Read implements [source.Source]. It fails if at first no member serves its metrics.
func (c *cluster) Read(ctx context.Context, w recording.Writer, opt source.Options) error {
	members, view, err := c.address.cluster(ctx, c.config)
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the end of the context ends a live source without an error
	}

	if err != nil {
		// The members in the address can be read without the list.
		w.Note(recording.Note{Kind: recording.NoteLimit, Source: c.desc.Name,
			Text: fmt.Sprintf("cannot read the member list: %v", err)})
	}

	pages := make([]source.Source, len(members))
	for i, m := range members {
		if pages[i], err = c.open(m); err != nil {
			return err
		}
	}

	// Fail now if no member can be read at all: from here on, failures are gaps.
	if err := c.probe(ctx, pages, w); err != nil {
		return err
	}

	f := &follower{c: c, w: w, members: members, pages: pages, opt: opt}
	if err := f.alarms(ctx, view); err != nil {
		return err
	}

	return source.NewGroup(c.desc, pages, f.follow).Read(ctx, w, opt)
}

// open prepares reading the metrics of a member.
func (c *cluster) open(m *member) (source.Source, error) {
	about := exposition.Member{Instance: m.endpoint, AddFacts: func(d *recording.Source) {
		d.Kind, d.Engine = "etcd", "etcd"
		if d.Version == "" {
			d.Version = m.version
		}
		if d.Facts == nil {
			d.Facts = map[string]string{}
		}
		maps.Copy(d.Facts, m.facts())
	}}

	opt := PageOptions(c.config)
	opt.Within, opt.Room = c.within, c.room
	return exposition.OpenMember(c.address.page(m.endpoint), about, opt)
}

// PageOptions are those for a member's page of metrics; config may be nil.
func PageOptions(config *tls.Config) exposition.URLOptions {
	transport := httpclient.Base(false)
	transport.TLSClientConfig, transport.Proxy = config.Clone(), nil

	// One connection, so that requests to a stalled member do not pile up.
	transport.MaxConnsPerHost = 1

	// etcd must not receive the credentials for other exporters.
	return exposition.URLOptions{Transport: transport, Getenv: func(string) string { return "" },
		Exporters: []exposition.Exporter{Exporter}}
}

// probe checks whether any member serves its metrics, and notes those that do not. If none does, it
// returns the error of the first member in the address.
func (c *cluster) probe(ctx context.Context, pages []source.Source, w recording.Writer) error {
	errs := make([]error, len(pages))
	var asking sync.WaitGroup
	for i, p := range pages {
		asking.Go(func() { errs[i] = exposition.Probe(ctx, p) })
	}

	asking.Wait()
	if ctx.Err() != nil {
		return nil //nolint:nilerr // likewise
	}

	// One readable member is enough to begin with; the others are tried again.
	if slices.Contains(errs, nil) {
		for i, err := range errs {
			if err != nil {
				w.Note(recording.Note{Kind: recording.NoteGap, Source: pages[i].Describe().Name,
					Text: "this member's metrics were not available at first: " + err.Error()})
			}
		}
		return nil
	}

	err := errs[0]
	var refused *exposition.Refused
	switch text := err.Error(); {
	case errors.As(err, &refused), errors.Is(err, exposition.ErrNotMetrics),
		strings.Contains(text, "malformed HTTP"):
		return fmt.Errorf("%s: %w; etcd may serve its metrics at another address (--listen-metrics-urls): give etcd://...?metrics=http://:2381",
			c.desc.Name, err)
	case c.config == nil && errors.Is(err, io.EOF):
		return fmt.Errorf("%s: it closed the connection without a response: it may require TLS (etcds://)",
			c.desc.Name)
	case strings.Contains(text, "certificate"), strings.Contains(text, "tls:"), strings.Contains(text, "x509:"):
		return fmt.Errorf("%s: %s", c.desc.Name, aboutTLS(text))
	case c.address.secure && c.address.files.Cert == "" && hungUp(err):
		// The server closed the connection before we read its TLS alert.
		return fmt.Errorf("%s: it closed the connection: %s", c.desc.Name, aboutTLS("certificate required"))
	}

	return fmt.Errorf("%s: %w", c.desc.Name, err)
}

// hungUp reports whether the server closed the connection before the request.
func hungUp(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF) ||
		// sometimes net/http returns this instead
		strings.Contains(err.Error(), "http2: client conn could not be established")
}
