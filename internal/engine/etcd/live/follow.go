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

// A follower keeps a group what its cluster is while it is read: members are added and removed, by
// an operator or, one after the other, by whoever replaces nodes.
type follower struct {
	c *cluster
	w recording.Writer
	// members and their pages are those that are read.
	members []*member
	pages   []source.Source
}

// follow asks who is in the cluster now and then, until the context ends.
func (f *follower) follow(ctx context.Context, m source.Membership) {
	tick := time.NewTicker(f.c.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// A cluster that cannot be asked now, or does not let us, stays what it was.
		if list := f.ask(ctx); list != nil && ctx.Err() == nil {
			f.join(list, m)
			f.leave(list, m)
		}
	}
}

// ask gives the members that the first of them tells who answers; nil if none does.
func (f *follower) ask(ctx context.Context) []*etcdserverpb.Member {
	for _, known := range f.members {
		own := *known // what it says of itself is read elsewhere meanwhile
		if r, err := f.c.address.ask(ctx, f.c.config, &own); err == nil && len(r.members) > 0 {
			return r.members
		}
	}
	return nil
}

// is tells whether a member that is read is one of the cluster's list.
func (m *member) is(x *etcdserverpb.Member) bool {
	return m.id == x.ID || serves(x, m.endpoint)
}

func (f *follower) join(list []*etcdserverpb.Member, group source.Membership) {
	for _, x := range list {
		e := firstEndpoint(x)
		if e == "" || len(f.members) >= membersMax || slices.ContainsFunc(f.members, func(m *member) bool { return m.is(x) }) {
			continue
		}
		m := &member{endpoint: e, id: x.ID, name: x.Name, learns: x.IsLearner}
		page, err := f.c.open(m)
		if err != nil {
			continue // its address is none
		}
		f.members, f.pages = append(f.members, m), append(f.pages, page)
		f.note(fmt.Sprintf("member %s (%s) has joined the cluster, and is read from now on", x.Name, e))
		group.Join(page)
	}
}

func (f *follower) leave(list []*etcdserverpb.Member, group source.Membership) {
	for i := len(f.members) - 1; i >= 0; i-- {
		m := f.members[i]
		if slices.ContainsFunc(list, m.is) || m.id == 0 {
			continue // one that never said who it is may be behind another name
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
