package source

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"plimsoll/internal/record/recording"
)

// A group is several live sources that are one to who gave them.
type group struct {
	desc    recording.Source
	members []Source
	follow  func(ctx context.Context, m Membership)
}

// NewGroup makes one source of several live ones, as the members of a cluster are: each is read by itself, so that one that
// stalls keeps no other waiting, and each tells who it is. Members should be [Polled.Patient], and their series have labels that
// tell them apart. There is at least one member at first.
//
// follow, if not nil, is run beside the reading until its context ends, and may have members join and leave.
//
// A member that gave no sample is told of by a note; only if none gave any, or the recording cannot be written, Read fails.
func NewGroup(d recording.Source, members []Source, follow func(ctx context.Context, m Membership)) Source {
	return &group{desc: d, members: members, follow: follow}
}

// A Membership lets members of a group that is being read come and go. It may be used by several goroutines.
type Membership interface {
	// Join has a further member read from now on, for as long as the others.
	Join(member Source)
	// Leave ends the reading of a member that is there.
	Leave(member Source)
}

// Describe implements [Source].
func (g *group) Describe() recording.Source { return g.desc }

// Live implements [Source].
func (*group) Live() bool { return true }

// Read implements [Source].
func (g *group) Read(ctx context.Context, w recording.Writer, opt Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &groupReading{ctx: ctx, cancel: cancel, w: w, opt: opt, begun: time.Now(), ends: map[Source]func(){}, done: make(chan struct{})}
	for i, m := range g.members {
		own := opt
		if i > 0 {
			own.Progress = nil // time passes alike for all
		}
		r.add(m, own)
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

// groupReading is a group that is being read. It is over when nobody is read any more.
type groupReading struct {
	ctx    context.Context //nolint:containedctx // that of one Read, for members that join it
	cancel func()
	w      recording.Writer
	opt    Options
	begun  time.Time

	mu     sync.Mutex
	active int
	all    int
	over   bool
	ends   map[Source]func() // of those that are read
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
	go func() {
		err := m.Read(ctx, r.w, opt)
		end()
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
		r.w.Note(recording.Note{Kind: recording.NoteGap, Source: f.member.Describe().Name, Text: fmt.Sprintf("it gave no sample: %v", f.err)})
	}
	return nil
}
