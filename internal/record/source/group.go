package source

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"plimsoll/internal/record/recording"
)

// A group is several live sources that appear as one.
type group struct {
	desc    recording.Source
	members []Source
	follow  func(ctx context.Context, m Membership)

	mu      sync.Mutex
	reading map[Dropper]int64 // members being read, and what they had dropped before
	gone    int64             // dropped by members that are no longer read
}

// NewGroup returns one source of several live ones, such as the members of a cluster. Each member
// is read independently, so that a stalled one does not delay the others, and each describes
// itself. Members should be [Polled.Patient], and labels must distinguish their series. There must
// be at least one initial member.
//
// follow, if not nil, runs alongside until its context ends, and may let members join and leave.
//
// A note reports each member without any samples. Read fails only if no member had any, or if the
// recording cannot be written.
func NewGroup(d recording.Source, members []Source, follow func(ctx context.Context, m Membership)) Source {
	return &group{desc: d, members: members, follow: follow, reading: map[Dropper]int64{}}
}

// A Membership lets members join and leave a group while it is being read. It is safe for
// concurrent use.
type Membership interface {
	// Join starts reading another member, until the group ends.
	Join(member Source)
	// Leave stops reading a member.
	Leave(member Source)
}

// Describe implements [Source].
func (g *group) Describe() recording.Source { return g.desc }

// Live implements [Source].
func (*group) Live() bool { return true }

// Dropped implements [Dropper]: the sum over all members so far.
func (g *group) Dropped() (values int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for m, before := range g.reading {
		values += m.Dropped() - before
	}
	return values + g.gone
}

// reads records that a member is now being read, or no longer is.
func (g *group) reads(m Source, now bool) {
	d, ok := m.(Dropper)
	if !ok {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if now {
		g.reading[d] = d.Dropped()
		return
	}
	g.gone += d.Dropped() - g.reading[d]
	delete(g.reading, d)
}

// Read implements [Source].
func (g *group) Read(ctx context.Context, w recording.Writer, opt Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	r := &groupReading{group: g, ctx: ctx, cancel: cancel, w: w, opt: opt, begun: time.Now(),
		ends: map[Source]func(){}, done: make(chan struct{})}
	for i, m := range g.members {
		memberOpt := opt
		if i > 0 {
			memberOpt.Progress = nil // one member's progress is enough, because time passes equally for all
		}
		r.add(m, memberOpt)
	}

	var following sync.WaitGroup
	if g.follow != nil {
		following.Go(func() { g.follow(ctx, r) })
	}

	<-r.done
	cancel()
	following.Wait()

	return r.outcome()
}

// groupReading is the state of reading a group. It ends when no member is being read.
type groupReading struct {
	group  *group
	ctx    context.Context //nolint:containedctx // the context of one Read, for members that join later
	cancel func()
	w      recording.Writer
	opt    Options
	begun  time.Time

	mu     sync.Mutex
	active int
	all    int
	over   bool
	ends   map[Source]func() // stops the members being read
	failed []failure
	done   chan struct{}
}

type failure struct {
	member Source
	err    error
}

func (r *groupReading) add(m Source, opt Options) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.ends[m] != nil {
		return
	}

	ctx, end := context.WithCancel(r.ctx)
	r.ends[m] = end
	r.active++
	r.all++
	r.group.reads(m, true)
	go func() {
		err := m.Read(ctx, r.w, opt)
		end()
		r.group.reads(m, false)
		r.ended(m, err)
	}()
}

func (r *groupReading) ended(m Source, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.ends, m)
	if err != nil {
		r.failed = append(r.failed, failure{m, err})
	}
	// The recording itself is broken, so the other members need not continue.
	if isWriteError(err) {
		r.cancel()
	}
	if r.active--; r.active == 0 {
		r.over = true
		close(r.done)
	}
}

// Join implements [Membership].
func (r *groupReading) Join(m Source) {
	opt := r.opt
	opt.Progress = nil
	if opt.For > 0 {
		// A member that joins late ends with the others.
		if opt.For -= time.Since(r.begun); opt.For <= 0 {
			return
		}
	}
	r.add(m, opt)
}

// Leave implements [Membership].
func (r *groupReading) Leave(m Source) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if end := r.ends[m]; end != nil {
		end()
	}
}

func (r *groupReading) outcome() error {
	var errs []error
	for _, f := range r.failed {
		if isWriteError(f.err) {
			return f.err
		}
		errs = append(errs, f.err)
	}

	if len(errs) == r.all {
		return errors.Join(errs...)
	}

	for _, f := range r.failed {
		r.w.Note(recording.Note{Kind: recording.NoteGap, Source: f.member.Describe().Name,
			Text: fmt.Sprintf("no samples: %v", f.err)})
	}

	return nil
}
