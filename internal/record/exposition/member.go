package exposition

import (
	"context"
	"errors"
	"net/url"

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
	return m.metricsURL.Read(ctx, newLabelling(w, m.about), opt)
}

// knownMax bounds a member's series whose labels are remembered.
const knownMax = 20_000

// labelling adds the instance label to every series without one.
type labelling struct {
	*recording.Relabeller
	about Member
}

func newLabelling(w recording.Writer, about Member) *labelling {
	labelled := func(l labels.Labels) labels.Labels {
		if l.Get("instance") != "" {
			return l
		}
		return labels.NewBuilder(l).Set("instance", about.Instance).Labels()
	}
	return &labelling{about: about, Relabeller: recording.Relabelled(w, knownMax, labelled)}
}

// Source implements recording.Writer.
func (l *labelling) Source(d recording.Source) {
	if l.about.AddFacts != nil {
		l.about.AddFacts(&d)
	}
	l.Relabeller.Source(d)
}
