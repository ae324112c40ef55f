package live

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// A follower updates the group of sources when the cluster changes: an operator may add and remove
// members, or replace the nodes one by one.
type follower struct {
	c *cluster
	w recording.Writer
	// members and pages are the members being read and their sources.
	members []*member
	pages   []source.Source
	opt     source.Options
}

// follow checks the membership regularly, until the context ends.
func (f *follower) follow(ctx context.Context, m source.Membership) {
	tick := time.NewTicker(f.c.every)
	defer tick.Stop()

	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}

		// If the cluster does not answer or denies access, nothing changes.
		if view := f.ask(ctx); view != nil && ctx.Err() == nil {
			f.join(view.members, m)
			f.leave(view.members, m)
			if f.alarms(ctx, view) != nil {
				return // the recording cannot be written, which the members' pages report, too
			}
		}
	}
}

// ask returns the cluster as seen by the first member that answers; nil if none does.
func (f *follower) ask(ctx context.Context) *roll {
	for _, known := range f.members {
		own := *known // a copy, because other goroutines read the original
		if r, err := f.c.address.ask(ctx, f.c.config, &own); err == nil && len(r.members) > 0 {
			return r
		}
	}
	return nil
}

// matches reports whether a member being read is this entry of the member list.
func (m *member) matches(x *etcdserverpb.Member) bool {
	return m.id == x.ID || serves(x, m.endpoint)
}

func (f *follower) join(list []*etcdserverpb.Member, group source.Membership) {
	for _, x := range list {
		e := firstEndpoint(x)
		if e == "" || len(f.members) >= membersMax ||
			slices.ContainsFunc(f.members, func(m *member) bool { return m.matches(x) }) {
			continue
		}

		m := &member{endpoint: e, id: x.ID, name: x.Name, learns: x.IsLearner}
		page, err := f.c.open(m)
		if err != nil {
			continue // the member reports an invalid address
		}

		f.members, f.pages = append(f.members, m), append(f.pages, page)
		f.note(fmt.Sprintf("member %s (%s) has joined the cluster and is read from now on", x.Name, e))
		group.Join(page)
	}
}

func (f *follower) leave(list []*etcdserverpb.Member, group source.Membership) {
	// Backwards, because members are removed from the list on the way.
	for i := len(f.members) - 1; i >= 0; i-- {
		m := f.members[i]
		if slices.ContainsFunc(list, m.matches) || m.id == 0 {
			continue // a member that never identified itself may be listed under another address
		}
		f.note(fmt.Sprintf("member %s (%s) has left the cluster", m.name, m.endpoint))
		group.Leave(f.pages[i])
		f.members, f.pages = slices.Delete(f.members, i, i+1), slices.Delete(f.pages, i, i+1)
	}
}

func (f *follower) note(text string) {
	now := time.Now()
	f.w.Note(recording.Note{Kind: recording.NoteLimit, Source: f.c.desc.Name, From: now, To: now, Text: text})
}
