//go:build linux

package worker

import (
	"context"

	wiredtiger "plimsoll/internal/engine/mongodb/model"
)

// A Bench is a Server for experiments with the engine itself. The caller decides when checkpoints
// happen.
type Bench struct{ *server }

// NewBench is like New. If whole is set, the engine always receives the whole document, never a
// difference (WT_MODIFY). The configuration's own checkpoints still happen; set a long pause to
// avoid them.
func NewBench(cfg wiredtiger.Config, whole bool) (*Bench, error) {
	s, err := newServer(cfg, options{whole: whole})
	if err != nil {
		return nil, err
	}
	return &Bench{s}, nil
}

// Checkpoint makes a checkpoint and returns when it has ended. Operations continue meanwhile.
func (b *Bench) Checkpoint(ctx context.Context) error {
	w := b.current()
	if w == nil {
		return errKilled
	}
	_, err := w.call(ctx, kindCheckpoint, nil)
	return err
}

// Home returns the folder of the database.
func (b *Bench) Home() string { return b.config.home }
