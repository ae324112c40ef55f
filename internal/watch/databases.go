package watch

import (
	"context"
	"slices"
	"time"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/headroom"
	"plimsoll/internal/record/identity"
	"plimsoll/internal/record/recording"
)

// A database is a server, or a host without one, with the state that the watch keeps for it. Only
// the loop uses it.
type database struct {
	part     identity.Part
	tracker  *Tracker
	stalls   *stalls
	balances map[string]headroom.Balance
}

// divide assigns the windows to servers. The state of a server is kept under its name.
func (w *Watch) divide(ctx context.Context, in []recording.Reader) error {
	parts, err := diagnose.Servers(ctx, in, diagnose.Options{Pack: w.opt.Pack})
	if err != nil {
		return err
	}

	// The name of a single server may become known only after some samples. Its state must survive
	// that.
	if len(parts) == 1 && len(w.databases) == 1 {
		w.databases[0].part = parts[0] // even if its name has changed
		return nil
	}

	var now []*database
	for _, p := range parts {
		i := slices.IndexFunc(w.databases, func(d *database) bool { return d.part.Name == p.Name })
		if i < 0 {
			now = append(now, &database{part: p, tracker: NewTracker(), stalls: &stalls{}})
			continue
		}
		w.databases[i].part = p
		now = append(now, w.databases[i])
	}

	// A server without samples in the window cannot be judged, but its findings must still end.
	for _, d := range w.databases {
		if !slices.Contains(now, d) && len(d.tracker.held) > 0 {
			d.part.Readers = nil
			now = append(now, d)
		}
	}

	w.databases = now
	return nil
}

// label returns a server's name if there are several servers.
func (w *Watch) label(d *database) string {
	if len(w.databases) < 2 {
		return ""
	}
	return d.part.Name
}

// present returns the servers with samples in the window.
func (w *Watch) present() (out []*database) {
	for _, d := range w.databases {
		if d.part.Readers != nil {
			out = append(out, d)
		}
	}
	return out
}

// judge judges each server of the windows, and returns what changed.
func (w *Watch) judge(ctx context.Context, opt diagnose.Options) (*diagnose.Report, []Change, error) {
	opt.BalancesOf = map[string]map[string]headroom.Balance{}
	var parts []identity.Part
	for _, d := range w.present() {
		parts = append(parts, d.part)
		opt.BalancesOf[d.part.Name] = d.balances
	}

	r, _, err := diagnose.Judge(ctx, parts, opt)
	if err != nil {
		return nil, nil, err
	}

	var changes []Change
	for _, d := range w.databases {
		var findings []diagnose.Finding
		if one := reportOf(r, d, len(parts)); one != nil {
			findings, d.balances = everyFinding(one), one.Balances
		}
		for _, c := range d.tracker.Observe(opt.To, findings) {
			c.Server = w.label(d)
			changes = append(changes, c)
		}
	}

	slices.SortStableFunc(changes, func(a, b Change) int { return diagnose.Compare(a.Finding, b.Finding) })
	return r, changes, nil
}

// reportOf returns a server's report, given the number of judged servers; nil if it was not judged.
func reportOf(r *diagnose.Report, d *database, of int) *diagnose.Report {
	if of == 1 && d.part.Readers != nil {
		return r
	}
	for _, one := range r.All() {
		if one.Server != nil && one.Server.Name == d.part.Name && d.part.Readers != nil {
			return one
		}
	}
	return nil
}

// tracked returns the current findings of all servers.
func (w *Watch) tracked() (out []State) {
	for _, d := range w.databases {
		for _, s := range d.tracker.States() {
			s.Server = w.label(d)
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b State) int { return diagnose.Compare(a.Finding, b.Finding) })
	return out
}

// checkStalls checks whether clients of any server are waiting now, and reports changes. It returns
// the CPU time used.
func (w *Watch) checkStalls(ctx context.Context, due *schedule, now time.Time) time.Duration {
	in, from, to := w.readers()
	if in == nil {
		return 0
	}

	began := w.opt.CPU()

	// Servers are divided again with each diagnosis. Before the first one, there are none yet.
	if len(w.databases) == 0 {
		if err := w.divide(ctx, in); err != nil {
			return w.opt.CPU() - began
		}
	}

	var events []stallEvent
	for _, d := range w.present() {
		events = append(events, w.checkServer(ctx, d, from, to)...)
	}

	took := w.opt.CPU() - began

	w.mu.Lock()
	w.state.stallsNow = nil

	for _, d := range w.databases {
		st := d.stalls.state
		st.Server = w.label(d)
		w.state.stallsNow = append(w.state.stallsNow, st)
	}

	states := w.state.states
	w.mu.Unlock()

	// Log outside of the lock: the handler of the log may be slow.
	for _, e := range events {
		// A stall is diagnosed soon after it begins, without waiting for the next scheduled
		// diagnosis.
		if soon := now.Add(afterBegin); e.began && soon.Before(due.diagnosis) {
			due.diagnosis = soon
		}
		w.logStall(ctx, e, slices.DeleteFunc(slices.Clone(states),
			func(st State) bool { return st.Server != e.state.Server }))
	}

	return took
}

// checkServer is checkStalls for one server.
func (w *Watch) checkServer(ctx context.Context, d *database, from, to time.Time) []stallEvent {
	part, err := d.part.Now(ctx)
	if err != nil {
		return nil
	}
	c, err := diagnose.Felt(ctx, part.Readers, diagnose.Options{Pack: w.opt.Pack, From: from, To: to})
	if err != nil || c.Stall.Cells == nil || c.Grid.N == 0 {
		return nil
	}
	w.tracing.Observe(ctx, c)
	events := d.stalls.observe(c)
	for i := range events {
		events[i].state.Server = w.label(d)
	}
	return events
}
