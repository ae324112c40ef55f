//go:build linux

package worker

import (
	"context"

	wiredtiger "plimsoll/internal/engine/mongodb/model"
)

// A Bench is a Server for experiments with the engine itself: who has it asks for checkpoints when
// it wants them.
type Bench struct{ *server }

// NewBench is New. With whole a change is never handed to the engine as a difference (WT_MODIFY),
// but always as the whole document. Checkpoints come by themselves too, as the configuration says:
// a long pause there leaves those that are asked for.
func NewBench(cfg wiredtiger.Config, whole bool) (*Bench, error) {
	s, err := newServer(cfg, options{whole: whole})
	if err != nil {
		return nil, err
	}
	return &Bench{s}, nil
}

// Checkpoint makes one, and returns when it has ended. Operations go on meanwhile.
func (b *Bench) Checkpoint(ctx context.Context) error {
	w := b.current()
	if w == nil {
		return errKilled
	}
	_, err := w.call(ctx, newCaller(), kindCheckpoint, nil)
	return err
}

// Home is the folder of the database.
func (b *Bench) Home() string { return b.config.home }
