//go:build linux

package server

import (
	"context"
	"fmt"
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
	checkpoints
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// clockEvery is the query interval. The query is cheap: it reads a page of memory.
const clockEvery = 250 * time.Millisecond

// clockQuery returns when the last checkpoint began, and the server's time, in seconds.
const clockQuery = "SELECT extract(epoch FROM checkpoint_time), extract(epoch FROM clock_timestamp()) FROM pg_control_checkpoint()"

func watchCheckpoints(dial dialer) *checkpointClock {
	ctx, cancel := context.WithCancel(context.Background())
	w := &checkpointClock{cancel: cancel}
	w.running.Go(func() { w.watch(ctx, dial) })
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
					ended, took := time.Now(), time.Duration(max(now-began, 0)*1e9) // by the server's clock
					w.add(lab.Cycle{From: ended.Add(-took), To: ended})
				}
				last = began
			} else if hasCode(err, noPrivilege) {
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

func (w *checkpointClock) stop() {
	w.cancel()
	w.running.Wait()
}
