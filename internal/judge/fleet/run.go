package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recording"
)

// samplesUnasked is how many samples are read without Force.
const samplesUnasked = 250_000_000

// Run diagnoses all databases of a server. If a database cannot be read, the report gives the
// reason and the others are still diagnosed. Run returns an error only if none could be read. When
// ctx ends, it returns the finished part, marked as interrupted.
func Run(ctx context.Context, server *recording.Server, opt Options) (*Report, error) {
	opt.Diagnose.Pack = opt.Pack
	census, err := Find(ctx, server, opt.Pack, opt.By)
	if err != nil {
		return nil, err
	}

	if err := census.bounded(server, opt); err != nil {
		return nil, err
	}

	// A slice of results by index: the report's order does not depend on which finishes first.
	dbs := make([][]Database, len(census.Databases))
	var (
		mu      sync.Mutex
		done    int
		samples int64
	)

	group := errgroup.Group{}
	group.SetLimit(cmp.Or(max(opt.Parallel, 0), 4))

	for i := range census.Databases {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			// Progress and sums are shared; the diagnosis itself needs no lock.
			of, whole := judged(ctx, server, census, &census.Databases[i], opt)
			mu.Lock()
			defer mu.Unlock()

			if whole {
				dbs[i] = of
				done++
				for _, d := range of {
					samples += d.Samples
				}
			}

			if opt.Progress != nil {
				opt.Progress(done, len(dbs), samples)
			}

			return nil
		})
	}

	_ = group.Wait() // never fails: each database records its own problem
	// Only with all results: whether a member is slow depends on the others of its cluster.
	if err := compareMembers(dbs, opt.Diagnose); err != nil {
		return nil, err
	}

	r := newReport(server, census, dbs, opt)
	if ctx.Err() != nil {
		r.Interrupted = true
		if r.Read == 0 {
			return nil, ctx.Err()
		}
	}

	if r.Read == 0 {
		return nil, fmt.Errorf("cannot read any of %d databases; the first, %s: %s", len(r.Databases),
			r.Databases[0].Name, r.Databases[0].Problem)
	}

	return r, nil
}

// One diagnoses the database with the given name like Run, and returns its full diagnosis.
func One(ctx context.Context, server *recording.Server, name string, opt Options) (*diagnose.Report, error) {
	opt.Diagnose.Pack = opt.Pack
	census, err := Find(ctx, server, opt.Pack, opt.By)
	if err != nil {
		return nil, err
	}

	i := slices.IndexFunc(census.Databases, func(m Member) bool { return m.Name == name })
	if i < 0 { // or one of several servers of a group
		i = slices.IndexFunc(census.Databases,
			func(m Member) bool { return strings.HasPrefix(name, m.Name+serverSep) })
	}

	if i < 0 {
		return nil, &UnknownError{Name: name, Near: near(name, census)}
	}

	group := census.Databases[i]
	census.Databases = []Member{group}
	if err := census.bounded(server, opt); err != nil {
		return nil, err
	}

	memory, err := group.read(ctx, server, census)
	if err != nil {
		return nil, err
	}

	return memory.one(ctx, &group, name, opt.Diagnose)
}

// one returns the full diagnosis of a group, or of the server in it with the given name.
func (h *held) one(ctx context.Context, m *Member, name string,
	opt diagnose.Options) (*diagnose.Report, error) {
	parts, err := diagnose.Servers(ctx, []recording.Reader{h.Memory}, opt)
	if err != nil {
		return nil, err
	}

	if name != m.Name {
		var names []string
		for _, p := range parts {
			names = append(names, inGroup(m.Name, p.Name))
		}
		i := slices.Index(names, name)
		if i < 0 {
			return nil, &UnknownError{Name: name, Near: names}
		}
		parts = parts[i : i+1]
	}

	r, _, err := diagnose.Judge(ctx, parts, opt)
	return r, err
}

// An UnknownError says that no database has the given name.
type UnknownError struct {
	Name string
	Near []string
}

func (e *UnknownError) Error() string { return fmt.Sprintf("no database is called %q", e.Name) }

// Hint names some existing databases.
func (e *UnknownError) Hint() string {
	return "existing names include: " + strings.Join(e.Near, ", ")
}

// near suggests a few names: those that contain the given one, or else the first ones.
func near(name string, c *Census) []string {
	const most = 8
	var like, all []string
	for _, m := range c.Databases {
		if strings.Contains(m.Name, name) {
			like = append(like, m.Name)
		}
		all = append(all, m.Name)
	}
	if len(like) == 0 {
		like = all
	}
	return like[:min(len(like), most)]
}

// bounded refuses to read more than is allowed without Force.
func (c *Census) bounded(server *recording.Server, opt Options) error {
	from, to := server.Span()
	e := c.Estimate(to.Sub(from))
	limit := cmp.Or(opt.SamplesMax, samplesUnasked)
	if opt.Force || e.Samples <= limit {
		return nil
	}
	return &TooMuchError{Estimate: e, Databases: len(c.Databases), Span: to.Sub(from),
		Period: c.Period, Max: limit}
}

// errNoSamples is returned for a database that is in the server's index but has no samples in the
// requested time.
var errNoSamples = errors.New("no samples in the requested time")

// held is a database's samples in memory.
type held struct {
	*recording.Memory
	series  int
	samples int64
	store   []string // labels that were removed; see storeLabels
}

// read takes a database's samples into memory.
func (m *Member) read(ctx context.Context, server *recording.Server, c *Census) (*held, error) {
	from, to := server.Span()
	selector := server.Narrow(append(m.matchers(c.By), nameMatcher(c.Metrics))...)
	series, err := server.Samples(ctx, selector, from, to)
	if err != nil {
		if inner := errors.Unwrap(err); inner != nil {
			err = inner // omit the selector, which lists all metrics
		}
		return nil, err
	}

	if len(series) == 0 {
		return nil, errNoSamples
	}

	// Replicas of one exporter's series are one series, or no expression can combine them.
	store := storeLabels(series)
	series = merged(series, store)
	memory := &held{Memory: recording.NewMemory(recording.MemoryOptions{}), series: len(series), store: store}

	// Swapped, so that the first metric sets both ends.
	source := recording.Source{Kind: "prometheus", Name: server.Name() + " " + m.Name, From: to, To: from}
	for i := range series {
		p := series[i].Points
		b := &recording.Batch{TimesMs: make([]int64, len(p)),
			Columns: []recording.Column{{Labels: series[i].Labels, Values: make([]float64, len(p))}}}
		for k, x := range p {
			b.TimesMs[k], b.Columns[0].Values[k] = x.T, x.F
		}

		if err := memory.Append(ctx, b); err != nil {
			return nil, err
		}

		source.Samples = max(source.Samples, int64(len(p)))
		memory.samples += int64(len(p))
		series[i].Points = nil // both copies exist no longer than necessary
	}

	metrics, err := memory.Metrics(ctx)
	if err != nil {
		return nil, err
	}

	for _, x := range metrics {
		if x.From.Before(source.From) {
			source.From = x.From
		}
		if x.To.After(source.To) {
			source.To = x.To
		}
		if x.Period > 0 && (source.Period == 0 || x.Period < source.Period) {
			source.Period = x.Period
		}
	}

	memory.Source(source)
	return memory, nil
}

// judged returns the summaries of a group's databases, usually one. whole is false if the context
// ended.
func judged(ctx context.Context, server *recording.Server, c *Census, m *Member, opt Options) (out []Database,
	whole bool) {
	d := Database{Name: m.Name, Labels: maps.Clone(m.Labels), Series: m.Series, Findings: []Finding{}}
	memory, err := m.read(ctx, server, c)
	if err == nil {
		d.Series, d.Samples, d.store = memory.series, memory.samples, memory.store
		out, err = d.each(ctx, memory, opt.Diagnose)
	}
	if ctx.Err() != nil {
		return nil, false
	}
	if err != nil {
		d.Problem = err.Error()
		return []Database{d}, true
	}
	return out, true
}

// each judges every server of a group. Several servers, and hosts on which none of them runs, may
// share the labels of a group.
func (d Database) each(ctx context.Context, memory *held, opt diagnose.Options) ([]Database, error) {
	r, err := diagnose.Each(ctx, []recording.Reader{memory.Memory}, opt)
	if err != nil {
		return nil, err
	}

	all := servers(r)
	if len(all) == 1 {
		d.fill(all[0])
		if n := len(r.Others); n > 0 {
			d.notes = append(d.notes,
				fmt.Sprintf("%s: devices of %s were ignored: no database of the group is known to run there",
					d.Name, counted(n, "host")))
		}
		return []Database{d}, nil
	}

	var out []Database
	for i, one := range all {
		x := Database{Name: inGroup(d.Name, one.Server.Name), Labels: maps.Clone(d.Labels), Findings: []Finding{},
			store: d.store, group: d.Name}
		if i == 0 {
			x.Series, x.Samples = d.Series, d.Samples // read in one request, for all of them
		}
		x.fill(one)
		out = append(out, x)
	}

	return out, nil
}

// serverSep separates a group's name from that of one of its servers.
const serverSep = "/"

// inGroup is the name of a group's server, which may already start with the group's name.
func inGroup(group, server string) string {
	if strings.HasPrefix(server, group+serverSep) {
		return server
	}
	return group + serverSep + server
}

// servers returns the reports of databases, or those of hosts if there is no database.
func servers(r *diagnose.Report) []*diagnose.Report {
	all := r.All()
	if len(all) == 1 {
		return all
	}
	of := slices.DeleteFunc(slices.Clone(all), func(x *diagnose.Report) bool { return x.Server.Engine == "" })
	if len(of) == 0 {
		return all
	}
	return of
}

func (d *Database) fill(r *diagnose.Report) {
	d.report = r
	for _, n := range r.Notes {
		d.notes = append(d.notes, d.Name+": "+n)
	}

	d.list(r)
	d.Signal = r.Stalls.Signal

	// r.Stalls describes only the first incident, so add the others.
	d.StalledS, d.WatchedS, d.LongestS, d.PeriodS = r.StalledS(), r.Stalls.Of, r.Stalls.LongestS,
		r.Stalls.PeriodS
	for _, x := range r.Incidents {
		d.LongestS = max(d.LongestS, x.Stalls.LongestS)
	}

	for _, x := range r.Missing {
		d.Missing = append(d.Missing, x.Rule)
	}
}

// list copies the verdict and the findings of a report into d.
func (d *Database) list(r *diagnose.Report) {
	d.Verdict, d.Findings, d.Severity = r.Verdict, []Finding{}, ""
	for _, f := range r.Findings {
		d.Findings = append(d.Findings,
			Finding{Rule: f.Rule, Kind: f.Kind, Severity: f.Severity, Subject: f.Subject, Weight: f.Weight,
				Summary: f.Summary})
		if f.Kind != diagnose.Refutation && f.Severity.Rank() < d.Severity.Rank() {
			d.Severity = f.Severity
		}
	}
}

// compareMembers compares the members of clusters, which are separate databases here, whatever labels
// make a group.
func compareMembers(groups [][]Database, opt diagnose.Options) error {
	var dbs []*Database
	var reports []*diagnose.Report
	var names []string
	for _, of := range groups {
		for i := range of {
			if d := &of[i]; d.report != nil {
				dbs, reports, names = append(dbs, d), append(reports, d.report), append(names, d.Name)
			}
		}
	}

	if err := diagnose.CompareMembers(reports, names, opt); err != nil {
		return err
	}

	for _, d := range dbs {
		d.list(d.report)
	}

	return nil
}
