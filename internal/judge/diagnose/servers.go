package diagnose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/identity"
	"plimsoll/internal/record/recording"
)

// Servers splits recordings by server and host. Each part is the input of one [Run].
func Servers(ctx context.Context, in []recording.Reader, opt Options) ([]identity.Part, error) {
	return identity.Split(ctx, in, Identity(opt.Pack, opt.Hosts))
}

// A Labeller distinguishes the servers of several sources in one recording.
type Labeller = identity.Labeller

// Label finds the labels needed to merge recordings into one; nil if none are needed. hosts are
// host names given by the user, by the name of a source.
func Label(ctx context.Context, in []recording.Reader, pack *rules.Pack,
	hosts map[string]string) (*Labeller, error) {
	return identity.Label(ctx, in, Identity(pack, hosts))
}

// identities caches the options of each pack. A program has one pack, and watch needs them constantly.
var identities sync.Map // of identity.Options, by *rules.Pack

// Identity returns the options of package identity for a pack, with the hosts given by the user.
func Identity(pack *rules.Pack, hosts map[string]string) identity.Options {
	known, ok := identities.Load(pack)
	if !ok {
		known, _ = identities.LoadOrStore(pack, identityOf(pack))
	}
	out := known.(identity.Options)
	out.Hosts = hosts
	return out
}

func identityOf(pack *rules.Pack) identity.Options {
	out := identity.Options{Wants: pack.Wants,
		Devices: setOf(pack.Metrics(rules.DiskBusy), pack.Metrics(rules.DiskWrites))}
	for _, e := range pack.Engines() {
		x := identity.Engine{Name: e.Database, Sets: slices.Contains(e.Anchor.By, "instance"),
			Metrics: pack.MetricsOf(e)}
		if e.Agreed != nil {
			x.Agreed = pack.Metrics(e.Agreed)
		}
		for _, s := range slices.Concat([]*rules.Signal{e.Anchor}, e.Felt) {
			if slices.Contains(e.Signals, s) {
				x.Anchors = append(x.Anchors, pack.Metrics(s)...)
			}
		}
		out.Engines = append(out.Engines, x)
	}

	return out
}

func setOf(lists ...[]string) func(string) bool {
	set := map[string]bool{}
	for _, list := range lists {
		for _, x := range list {
			set[x] = true
		}
	}
	return func(x string) bool { return set[x] }
}

// Each diagnoses every server of some recordings separately, like [Run]. It returns the report of
// the most harmful server, with the rest in Others. It fails if no server can be judged.
func Each(ctx context.Context, in []recording.Reader, opt Options) (*Report, error) {
	parts, err := Servers(ctx, in, opt)
	if err != nil {
		return nil, err
	}
	r, _, err := Judge(ctx, parts, opt)
	return r, err
}

// Judge is Each for recordings that are already split. It also returns the part of the most harmful
// report.
func Judge(ctx context.Context, parts []identity.Part, opt Options) (*Report, identity.Part, error) {
	switch len(parts) {
	case 0:
		r, err := Run(ctx, nil, opt)
		return r, identity.Part{}, err
	case 1:
		r, err := Run(ctx, parts[0].Readers, opt.of(parts[0]))
		if err == nil {
			r.Notes = parts[0].Notes
		}
		return r, parts[0], err
	}

	// The incident number and the page's plots apply to the most harmful server, which is only
	// known once all are judged. So judge all without them first.
	brief := opt
	brief.Incident, brief.Slots = 0, 0
	var all []*Report
	var notes []string
	of := map[*Report]identity.Part{}

	var failed error
	for _, p := range parts {
		r, err := Run(ctx, p.Readers, brief.of(p))

		// A server with nothing to judge becomes a note. Any other error would make the ranking
		// incomplete.
		if err != nil && !errors.Is(err, ErrNothing) {
			return nil, p, fmt.Errorf("%s: %w", p.Name, err)
		}

		if err != nil {
			if failed == nil {
				failed = fmt.Errorf("%s: %w", p.Name, err)
			}
			notes = append(notes, fmt.Sprintf("%s was not judged: %v", p.Name, err))
			continue
		}

		r.Server, r.Notes = &Server{Name: p.Name, Engine: p.Engine, Host: p.Host}, p.Notes
		of[r] = p
		all = append(all, r)
	}

	if len(all) == 0 {
		return nil, parts[0], failed
	}

	names := make([]string, len(all))
	for i, r := range all {
		names[i] = r.Server.Name
	}

	// The comparison adds findings to the reports of slow members, so it comes before the ranking.
	if err := CompareMembers(all, names, opt); err != nil {
		return nil, parts[0], err
	}

	slices.SortStableFunc(all, moreHarm)
	worst := all[0]
	part := of[worst]

	if brief.Incident != opt.Incident || brief.Slots != opt.Slots {
		// Only the worst server's report is shown in detail, so only that one is judged again.
		again, err := Run(ctx, part.Readers, opt.of(part))
		if err != nil {
			return nil, part, err
		}
		again.Server, again.Notes = worst.Server, worst.Notes
		again.adopt(worst.compared, opt)
		worst = again
	}

	worst.Others = all[1:]
	worst.Notes = append(slices.Clip(worst.Notes), notes...)
	return worst, part, nil
}

// of returns the options for one server.
func (o Options) of(p identity.Part) Options {
	if o.BalancesOf != nil {
		o.Balances = o.BalancesOf[p.Name]
	}
	return o
}

// ordered sorts recordings so that the result does not depend on the order of the command line: a
// database's own sources first, finer before coarser ones.
func ordered(in []recording.Reader) []recording.Reader {
	if len(in) < 2 {
		return in
	}

	type one struct {
		reader recording.Reader
		recording.Source
	}

	all := make([]one, len(in))
	for i, r := range in {
		all[i].reader = r
		if from := r.Sources(); len(from) > 0 {
			all[i].Source = from[0]
		}
	}

	// A database's own metrics come before other sources' metrics about its host.
	slices.SortStableFunc(all, func(a, b one) int {
		return cmp.Or(cmp.Compare(first(a.Engine != ""), first(b.Engine != "")),
			// Measured periods differ by milliseconds, which must not matter.
			cmp.Compare(a.Period.Round(100*time.Millisecond), b.Period.Round(100*time.Millisecond)),
			strings.Compare(a.Kind, b.Kind), a.From.Compare(b.From), a.To.Compare(b.To),
			cmp.Compare(a.Samples, b.Samples), strings.Compare(a.Name, b.Name))
	})

	out := make([]recording.Reader, len(in))
	for i, x := range all {
		out[i] = x.reader
	}

	return out
}

// moreHarm orders reports: servers before hosts, then by stalled time, then by the most severe
// finding.
func moreHarm(a, b *Report) int {
	return cmp.Or(cmp.Compare(first(a.Server.Engine != ""), first(b.Server.Engine != "")),
		cmp.Compare(b.StalledS(), a.StalledS()),
		cmp.Compare(gravest(a), gravest(b)), strings.Compare(a.Server.Name, b.Server.Name))
}

// gravest is the rank of a report's most severe finding; lower is more severe.
func gravest(r *Report) int {
	least := Severity("").Rank()
	for _, f := range r.Findings {
		if f.Kind != Refutation {
			least = min(least, f.Severity.Rank())
		}
	}
	return least
}

// All returns the reports of every server, this one first.
func (r *Report) All() []*Report { return append([]*Report{r}, r.Others...) }

// StalledS is the stalled time of all incidents in seconds. If two classes stalled at the same
// time, the more harmful one counts. If a database was watched, stalls of a device that its
// operations did not feel do not count.
func (r *Report) StalledS() float64 {
	ofDevice := func(class string) bool {
		return class == string(rules.DeviceWrites) || class == string(rules.DeviceReads)
	}
	database := slices.ContainsFunc(r.Judged, func(j JudgedClass) bool { return !ofDevice(j.Class) })
	if len(r.Incidents) == 0 {
		return r.Stalls.Seconds
	}

	sum := 0.0
	for i, x := range r.Incidents {
		if x.Kind == Worse || database && ofDevice(x.Class) {
			continue
		}
		// Incidents of one class never overlap; those of two classes may.
		shared := slices.ContainsFunc(r.Incidents[:i], func(o Incident) bool {
			return o.Subject != x.Subject && o.From.Before(x.To) && x.From.Before(o.To) &&
				!(database && ofDevice(o.Class))
		})
		if !shared {
			sum += x.Stalls.Seconds
		}
	}

	return sum
}
