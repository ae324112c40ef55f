package fleet

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
)

// Host is the label that exporters on one machine share. If no label has this name, it is derived
// from the instance label by removing the port, because mongodb_exporter is db-1:9216 and
// node_exporter db-1:9100.
const Host = "host"

const instance = "instance"

// databasesMax bounds the databases of a fleet.
const databasesMax = 20_000

// A Census lists what a server has about a fleet, before any sample is read.
type Census struct {
	By        []string
	Chosen    bool // By was inferred, not given
	Databases []Member
	// Metrics are the metric names that a diagnosis reads and the server has. Period is their usual
	// sampling period.
	Metrics []string
	Period  time.Duration
	Notes   []string
}

// A Member is one database of a census.
type Member struct {
	Name   string
	Labels map[string]string // by the labels of Census.By
	Series int               // series a diagnosis reads, at the end of the requested time
	sets   []labels.Labels   // label sets of its anchors
}

// A MissingError says that a server has nothing to diagnose.
type MissingError struct {
	Server, Selector string
	From, To         time.Time
	pack             *rules.Pack
}

func (e *MissingError) Error() string {
	what := "any series"
	if e.Selector != "" {
		what = e.Selector
	}
	return fmt.Sprintf("%s has none of the metrics that the rules read, for %s between %s and %s",
		e.Server, what,
		e.From.UTC().Format(time.RFC3339), e.To.UTC().Format(time.RFC3339))
}

// Hint says which exporters provide the metrics.
func (e *MissingError) Hint() string {
	var b strings.Builder
	b.WriteString("check --selector and --from; otherwise have the server scrape:")
	for _, x := range e.pack.Engines() {
		fmt.Fprintf(&b, "\n  %-11s %s", x.Short(), x.Exporter)
	}
	b.WriteString("\n  disks       node_exporter on the same host, with the same cluster label")
	return b.String()
}

// Find takes the census of a server. The given labels identify a database. If none are given, Find
// uses the first of these sets that every database has and that leaves one instance of an engine in
// each: cluster; cluster, namespace and pod; namespace and pod; cluster and host; host; job.
func Find(ctx context.Context, server *recording.Server, pack *rules.Pack, by []string) (*Census, error) {
	all, err := server.Names(ctx)
	if err != nil {
		return nil, err
	}

	census := &Census{By: by, Metrics: slices.DeleteFunc(all, func(n string) bool { return !pack.Wants(n) })}
	from, to := server.Span()
	// No metric of any rule: the labels or the selector are wrong, not the databases.
	if len(census.Metrics) == 0 {
		return nil, &MissingError{Server: server.Name(), Selector: selectorText(server), From: from,
			To: to, pack: pack}
	}

	byEngine, err := census.anchorSets(ctx, server, pack)
	if err != nil {
		return nil, err
	}

	if len(by) == 0 {
		census.By, census.Chosen = choose(byEngine), true
	}

	if err := census.group(byEngine); err != nil {
		return nil, err
	}

	if err := census.count(ctx, server, to); err != nil {
		return nil, err
	}

	periods, err := server.Periods(ctx, census.Metrics)
	if err != nil {
		return nil, err
	}

	// The finest period sets the resolution; slower metrics have gaps in it.
	for _, n := range census.Metrics {
		if p := periods[n]; p > 0 && (census.Period == 0 || p < census.Period) {
			census.Period = p
		}
	}

	return census, nil
}

func selectorText(server *recording.Server) string {
	if s := server.Narrow().String(); s != "{}" {
		return s
	}
	return ""
}

// anchorSets are the label sets of the anchors, by engine.
func (c *Census) anchorSets(ctx context.Context, server *recording.Server,
	pack *rules.Pack) ([][]labels.Labels, error) {
	var out [][]labels.Labels
	addSets := func(metrics []string) error {
		have := slices.DeleteFunc(slices.Clone(metrics),
			func(n string) bool { return !slices.Contains(c.Metrics, n) })
		if len(have) == 0 {
			return nil
		}
		sets, err := server.LabelSets(ctx, have...)
		if err == nil && len(sets) > 0 {
			out = append(out, sets)
		}
		return err
	}

	for _, e := range pack.Engines() {
		if err := addSets(pack.Metrics(e.Anchor)); err != nil {
			return nil, err
		}
	}

	// Hosts without a database are only of interest if there is no database at all.
	if len(out) > 0 {
		return out, nil
	}

	if err := addSets(pack.Metrics(rules.DiskBusy)); err != nil {
		return nil, err
	}

	if len(out) == 0 {
		from, to := server.Span()
		return nil, &MissingError{Server: server.Name(), Selector: selectorText(server), From: from,
			To: to, pack: pack}
	}

	c.Notes = append(
		c.Notes, "no series from a database exporter: hosts are judged by their devices alone")
	return out, nil
}

// candidates are the labels that may identify databases if none are given. The first set that fits
// is used.
var candidates = [][]string{
	{"cluster"}, {"cluster", "namespace", "pod"}, {"namespace", "pod"}, {"cluster", Host}, {Host},
	{instance}, {"job"},
}

// choose returns the first candidate whose labels every anchor has and that leaves one instance of
// an engine in each group.
func choose(all [][]labels.Labels) []string {
	for _, by := range candidates {
		if fits(all, by) {
			return by
		}
	}
	return []string{Host}
}

func fits(all [][]labels.Labels, by []string) bool {
	for _, e := range all {
		of := map[string]string{} // by name: the instance
		for _, l := range e {
			for _, name := range by {
				if value(l, name) == "" {
					return false
				}
			}
			name := nameOf(l, by)
			if was, seen := of[name]; seen && was != l.Get(instance) {
				return false
			}
			of[name] = l.Get(instance)
		}
	}

	return true
}

// port matches the end of an instance label.
var port = regexp.MustCompile(`:[0-9]+$`)

// value returns a label's value; [Host] is derived from the instance if it is missing.
func value(l labels.Labels, name string) string {
	v := l.Get(name)
	if v == "" && name == Host {
		v = port.ReplaceAllString(l.Get(instance), "")
	}
	return v
}

func nameOf(l labels.Labels, by []string) string {
	parts := make([]string, len(by))
	for i, name := range by {
		parts[i] = value(l, name)
	}
	return strings.Join(parts, "/")
}

// group groups the anchors' label sets into databases.
func (c *Census) group(all [][]labels.Labels) error {
	members := map[string]*Member{}
	without := 0
	for _, e := range all {
		for _, l := range e {
			name := nameOf(l, c.By)
			// Labels that are all empty would join unrelated databases.
			if strings.Trim(name, "/") == "" {
				without++
				continue
			}

			m := members[name]
			if m == nil {
				m = &Member{Name: name, Labels: map[string]string{}}
				for _, b := range c.By {
					m.Labels[b] = value(l, b)
				}
				members[name] = m
			}

			m.sets = append(m.sets, l)
		}
	}

	if len(members) == 0 {
		return fmt.Errorf("no database series has the label %s: specify another with --by",
			strings.Join(c.By, ", "))
	}
	if len(members) > databasesMax {
		return fmt.Errorf("%d databases by %s: at most %d can be read in one run; narrow --selector", len(members),
			strings.Join(c.By, ", "), databasesMax)
	}

	if without > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("%d database series without the label %s were ignored", without,
			strings.Join(c.By, ", ")))
	}

	for _, m := range members {
		c.Databases = append(c.Databases, *m)
	}

	slices.SortFunc(c.Databases, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// count counts the series of every database at one time, in a single request.
func (c *Census) count(ctx context.Context, server *recording.Server, at time.Time) error {
	by := slices.Clone(c.By)
	if slices.Contains(by, Host) {
		by = append(by, instance)
	}

	counted, err := server.Count(ctx, server.Narrow(nameMatcher(c.Metrics)), by, at)
	if err != nil {
		return err
	}

	series := map[string]int{}
	for _, g := range counted {
		series[nameOf(g.Labels, c.By)] += g.Series
	}

	for i := range c.Databases {
		c.Databases[i].Series = series[c.Databases[i].Name]
	}

	return nil
}

func nameMatcher(metrics []string) *labels.Matcher {
	return labels.MustNewMatcher(labels.MatchRegexp, labels.MetricName, recording.AnyOf(metrics))
}

// matchers returns label matchers that select the database's series.
func (m *Member) matchers(by []string) []*labels.Matcher {
	var out []*labels.Matcher
	for _, b := range by {
		hasLabel := slices.ContainsFunc(m.sets, func(l labels.Labels) bool { return l.Get(b) != "" })
		// The host was derived from the instance label, so match that, with any port.
		if b == Host && !hasLabel {
			out = append(out, labels.MustNewMatcher(labels.MatchRegexp, instance,
				regexp.QuoteMeta(m.Labels[b])+"(:[0-9]+)?"))
			continue
		}
		out = append(out, labels.MustNewMatcher(labels.MatchEqual, b, m.Labels[b]))
	}
	return out
}

// An Estimate is roughly how much a diagnosis would read.
type Estimate struct {
	Series  int
	Samples int64
}

// sampleBytes is roughly the size of a sample in a JSON response: [1700000000.123,"123456.5"].
const sampleBytes = 30

// Estimate estimates how much there is to read for a time span. A database that had no series at
// its end counts as the mean of the others.
func (c *Census) Estimate(span time.Duration) Estimate {
	seen, series := 0, 0
	for _, d := range c.Databases {
		if d.Series > 0 {
			seen++
			series += d.Series
		}
	}

	if seen > 0 {
		series += series / seen * (len(c.Databases) - seen)
	}

	period := c.Period
	if period <= 0 {
		period = time.Second // the worst case: exporters are rarely scraped more often
	}

	return Estimate{Series: series, Samples: int64(series) * (int64(span/period) + 1)}
}

// A TooMuchError is returned when a diagnosis would read more than is allowed without Force.
type TooMuchError struct {
	Estimate  Estimate
	Databases int
	Span      time.Duration
	Period    time.Duration
	Max       int64
}

func (e *TooMuchError) Error() string {
	return fmt.Sprintf("this would read about %s samples (%d series of %d databases, %s apart, over %s), about %s of responses; the limit without --force is %s samples",
		units.Number(float64(e.Estimate.Samples)), e.Estimate.Series, e.Databases,
		units.Seconds(e.Period.Seconds()), units.Seconds(e.Span.Seconds()),
		units.Bytes(float64(e.Estimate.Samples)*sampleBytes), units.Number(float64(e.Max)))
}

// Hint says how to read less, or to read everything.
func (e *TooMuchError) Hint() string {
	return "shorten the time range (--from, --to), narrow --selector, or read all of it with --force"
}
