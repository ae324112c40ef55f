//go:build linux

package server

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"plimsoll/internal/lab"
)

// A checkpointClock detects the checkpoints of a server whose log it cannot read. pg_control
// records when the last completed checkpoint began, in whole seconds; the next query shows that it
// has completed. So a start is up to a second early, an end up to clockEvery late, and a running
// checkpoint is not visible.
type checkpointClock struct {
	cancel context.CancelFunc
	all    sync.WaitGroup

	mu     sync.Mutex
	cycles []lab.Cycle
}

// clockEvery is the query interval. The query is cheap: it reads a page of memory.
const clockEvery = 250 * time.Millisecond

// clockQuery returns when the last checkpoint began, and the server's time, in seconds.
const clockQuery = "SELECT extract(epoch FROM checkpoint_time), extract(epoch FROM clock_timestamp()) FROM pg_control_checkpoint()"

func watchCheckpoints(dial dialer) *checkpointClock {
	ctx, cancel := context.WithCancel(context.Background())
	w := &checkpointClock{cancel: cancel}
	w.all.Go(func() { w.watch(ctx, dial) })
	return w
}

func (w *checkpointClock) watch(ctx context.Context, dial dialer) {
	var c *pgconn.PgConn
	last := 0.0
	t := time.NewTicker(clockEvery)
	defer t.Stop()

	for {
		if c == nil || c.IsClosed() {
			c, _ = dial(ctx, "plimsoll-checkpoints") // retried in a quarter of a second
		}

		if c != nil {
			if began, now, err := lastCheckpoint(ctx, c); err == nil {
				// The first answer is a checkpoint from before the run.
				if last != 0 && began > last {
					w.add(time.Now(), now-began)
				}
				last = began
			} else if denied(err) {
				break // without the privilege checkpoints are not visible
			}
		}

		select {
		case <-t.C:
			continue
		case <-ctx.Done():
		}

		break
	}

	// The run's context has ended, and closing needs one that has not.
	if c != nil {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = c.Close(ending)
	}
}

func lastCheckpoint(ctx context.Context, c *pgconn.PgConn) (began, now float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	got := c.ExecParams(ctx, clockQuery, nil, nil, nil, nil).Read()
	if got.Err != nil {
		return 0, 0, got.Err
	}
	if len(got.Rows) != 1 {
		return 0, 0, fmt.Errorf("%d rows about the last checkpoint: want 1", len(got.Rows))
	}
	if began, err = strconv.ParseFloat(string(got.Rows[0][0]), 64); err == nil {
		now, err = strconv.ParseFloat(string(got.Rows[0][1]), 64)
	}
	return began, now, err
}

// add records a completed checkpoint that began this many seconds earlier by the server's clock.
func (w *checkpointClock) add(ended time.Time, before float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.cycles) == cyclesMax {
		w.cycles = slices.Delete(w.cycles, 0, 1)
	}
	w.cycles = append(w.cycles, lab.Cycle{From: ended.Add(-time.Duration(max(before, 0) * 1e9)), To: ended})
}

func (w *checkpointClock) list() []lab.Cycle {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.cycles)
}

func (w *checkpointClock) stop() {
	w.cancel()
	w.all.Wait()
}
