package exposition

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"sync"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// A Member is one of several servers with the same kind of page, such as the members of a cluster.
type Member struct {
	// Instance is the label that distinguishes its series from those of the others, as in
	// Prometheus: host:port.
	Instance string
	// AddFacts adds known facts that are not on its page. It may be nil.
	AddFacts func(d *recording.Source)
}

// OpenMember is [OpenURL] for a member. A member that does not respond at first is tolerated,
// because the others report its state.
func OpenMember(raw string, m Member, opt URLOptions) (source.Source, error) {
	s, err := OpenURL(raw, opt)
	if err != nil {
		return nil, err
	}
	page, ok := s.(*metricsURL)
	if !ok {
		return nil, errors.New("exposition: the URL is not a page of metrics")
	}
	page.Patient()
	return &member{page, m}, nil
}

// Several distinguishes pages that are read at the same time: the series of each get the label
// instance, host:port of its address, like a Prometheus server that scrapes them would set it. A
// single page is unchanged.
func Several(all []source.Source) {
	var pages []int
	at := map[string]bool{}
	for i, s := range all {
		page, ok := s.(*metricsURL)
		if !ok {
			continue
		}
		if u, err := url.Parse(page.Describe().Name); err == nil && u.Host != "" {
			pages = append(pages, i)
			at[u.Host] = true
		}
	}

	if len(at) < 2 {
		return
	}

	for _, i := range pages {
		page := all[i].(*metricsURL)
		u, _ := url.Parse(page.Describe().Name) // parsed above
		all[i] = &member{page, Member{Instance: u.Host}}
	}
}

type member struct {
	*metricsURL
	about Member
}

// Read implements source.Source.
func (m *member) Read(ctx context.Context, w recording.Writer, opt source.Options) error {
	return m.metricsURL.Read(ctx, &labelling{Writer: w, about: m.about, known: map[uint64]labels.Labels{}}, opt)
}

// knownMax bounds the series whose labels with an instance are cached. A member of etcd has 3,000.
const knownMax = 20_000

// labelling adds the instance label to every series without one.
type labelling struct {
	recording.Writer
	about Member

	mu    sync.Mutex
	known map[uint64]labels.Labels // by the hash of the labels; the same series arrive every second
}

// Append implements recording.Writer.
func (l *labelling) Append(ctx context.Context, b *recording.Batch) error {
	out := *b
	out.Columns = slices.Clone(b.Columns)
	l.mu.Lock()

	for i := range out.Columns {
		c := &out.Columns[i]

		// A collision would only give a series the wrong labels of another series on the same page;
		// with 64 bits it is negligible.
		hash := c.Labels.Hash()
		with, ok := l.known[hash]
		if !ok {
			with = c.Labels
			if with.Get("instance") == "" {
				with = labels.NewBuilder(with).Set("instance", l.about.Instance).Labels()
			}
			if len(l.known) >= knownMax {
				clear(l.known) // the exporter keeps creating series
			}
			l.known[hash] = with
		}

		c.Labels = with
	}

	l.mu.Unlock()
	return l.Writer.Append(ctx, &out)
}

// Source implements recording.Writer.
func (l *labelling) Source(d recording.Source) {
	if l.about.AddFacts != nil {
		l.about.AddFacts(&d)
	}
	l.Writer.Source(d)
}
