package source

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"plimsoll/recording"
)

// A group is several live sources that are one to who gave them.
type group struct {
	desc    recording.Source
	members []Source
}

// NewGroup makes one source of several live ones, as the members of a cluster are: each is read by itself, so that one that
// stalls keeps no other waiting, and each tells who it is. Members should be [Polled.Patient], and their series have labels that
// tell them apart. There is at least one member.
//
// A member that gave no sample is told of by a note; only if none gave any, or the recording cannot be written, Read fails.
func NewGroup(d recording.Source, members []Source) Source { return &group{desc: d, members: members} }

// Describe implements [Source].
func (g *group) Describe() recording.Source { return g.desc }

// Live implements [Source].
func (*group) Live() bool { return true }

// Read implements [Source].
func (g *group) Read(ctx context.Context, w recording.Writer, opt Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(g.members))
	var reading sync.WaitGroup
	for i, m := range g.members {
		own := opt
		if i > 0 {
			own.Progress = nil // time passes alike for all
		}
		reading.Go(func() {
			if errs[i] = m.Read(ctx, w, own); isWriteError(errs[i]) {
				cancel()
			}
		})
	}
	reading.Wait()
	failed := 0
	for _, err := range errs {
		if isWriteError(err) {
			return err
		}
		if err != nil {
			failed++
		}
	}
	if failed == len(g.members) {
		return errors.Join(errs...)
	}
	for i, err := range errs {
		if err != nil {
			w.Note(recording.Note{Kind: recording.NoteGap, Source: g.members[i].Describe().Name, Text: fmt.Sprintf("it gave no sample: %v", err)})
		}
	}
	return nil
}
