package live

import (
	"context"
	"fmt"
	"testing"
	"time"

	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/source"
)

// The checkpointer's wait shows a checkpoint in progress. A backup's checkpoint is paced over minutes;
// CHECKPOINT runs at full speed.
func TestCheckpointInProgress(t *testing.T) {
	s := real(t)
	if has, err := s.Exec("SELECT 1 FROM pg_proc WHERE proname = 'pg_backup_start'"); err != nil {
		t.Fatal(err)
	} else if len(has) == 0 {
		t.Skip("before 15, sleeps of a paced checkpoint are not reported")
	}

	if _, err := s.Exec("DROP TABLE IF EXISTS dirty; CREATE TABLE dirty AS SELECT generate_series(1, 200000) AS x"); err != nil {
		t.Fatal(err)
	}

	paced := make(chan error, 1)
	go func() {
		_, err := s.Exec("SELECT pg_backup_start('paced', false)")
		paced <- err
	}()

	defer func() {
		if _, err := s.Exec("CHECKPOINT; DROP TABLE dirty"); err != nil {
			t.Error(err)
		}
		if err := <-paced; err != nil {
			t.Error(err)
		}
	}()

	src, err := Open(t.Context(), s.Address("monitor:m0nit0r-s3cret", "postgres"), recognise.LiveOptions{})
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	at := fmt.Sprintf("127.0.0.1:%d", s.Port)
	idle := series(checkpointerCount, at, "wait_event", "CheckpointerMain", "wait_event_type", "Activity")
	napping := series(checkpointerCount, at, "wait_event", "CheckpointWriteDelay", "wait_event_type", "Timeout")
	underWay, over := false, false
	p := &page{}
	p.each = func(int) {
		switch {
		case !underWay && p.values[napping] == 1:
			underWay = true
			if p.values[idle] != 0 {
				t.Error("it is idle as well")
			}
			if _, err := s.Exec("CHECKPOINT"); err != nil {
				t.Error(err)
			}
		case underWay && p.values[idle] == 1 && p.values[napping] == 0:
			over = true
			cancel()
		}
	}

	if err := src.Read(ctx, p, source.Options{Period: 20 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}

	if !underWay || !over {
		t.Errorf("under way %v, over %v: %v", underWay, over, p.text())
	}
}
