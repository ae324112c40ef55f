package steps_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/advise/rollout/steps"
)

// A recorder collects the requested periods. Recordings are long enough once they total enough.
type recorder struct {
	enough  time.Duration
	said    string
	periods []steps.Period
	total   time.Duration
	beside  string
}

func (r *recorder) recordings(dir string, prove func(before, after string) (steps.Proof, error)) (rec *steps.Recordings, grew *time.Duration, proved *steps.Proof) {
	grew, proved = new(time.Duration), new(steps.Proof)
	return &steps.Recordings{
		Recorder: steps.Recorder{
			Record: func(_ context.Context, p steps.Period) error {
				r.periods, r.total = append(r.periods, p), r.total+p.Long
				return os.MkdirAll(p.Dir, 0o700)
			},
			Least: func(_ context.Context, _, beside string) (time.Duration, error) {
				r.beside = beside
				if r.total >= r.enough {
					return 0, nil
				}
				return 2 * r.total, nil
			},
			Prove: func(_ context.Context, before, after string) (steps.Proof, error) { return prove(before, after) },
		},
		Dir: dir, Sources: []string{"host"}, Of: "this host", Keeps: "the old log", Long: 10 * time.Minute, Say: func(text string) { r.said += text + "\n" },
		Grew:   func(long time.Duration) error { *grew = long; return nil },
		Proved: func(p steps.Proof) error { *proved = p; return nil },
	}, grew, proved
}

// The recording from before is extended until it is long enough to compare, and the one from after has the
// same length.
func TestRecordsForLongEnough(t *testing.T) {
	for name, tt := range map[string]struct {
		enough, before time.Duration
		parts          int
	}{
		"immediately": {time.Minute, 10 * time.Minute, 1},
		"longer":      {35 * time.Minute, 40 * time.Minute, 3},
		"never":       {24 * time.Hour, steps.RecordMost, 4},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{enough: tt.enough}
			rec, grew, _ := r.recordings(t.TempDir(), nil)
			before, after := rec.Before(), rec.After()

			if err := before.Do(t.Context()); err != nil {
				t.Fatal(err)
			}

			if r.total != tt.before || len(r.periods) != tt.parts || tt.parts > 1 && *grew != tt.before {
				t.Errorf("recorded %v in %d parts, saved %v", r.total, len(r.periods), *grew)
			}

			for i, p := range r.periods {
				if p.Past != (i == 0) || p.Settle != 0 {
					t.Errorf("part %d: Past is %v, Settle is %v", i, p.Past, p.Settle)
				}
			}

			if err := after.Do(t.Context()); err != nil {
				t.Fatal(err)
			}

			if last := r.periods[len(r.periods)-1]; last.Long != tt.before || last.Past || last.Settle != time.Minute || filepath.Base(last.Dir) != "after" {
				t.Errorf("after: %+v", last)
			}
		})
	}
}

type tooShort struct{ error }

func (tooShort) Hint() string { return "record longer" }

// The recording from after is extended until it is comparable with the one from before, because
// checkpoints may have become rarer.
func TestRecordsForLongEnoughAfter(t *testing.T) {
	r := &recorder{enough: 35 * time.Minute}
	rec, grew, _ := r.recordings(t.TempDir(), nil)
	before, _ := rec.Folders()
	after := rec.After()
	if err := after.Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(r.periods) > 0 && (r.periods[0].Settle != time.Minute || r.periods[1].Settle != 0) {
		t.Errorf("it waits %+v", r.periods)
	}
	if r.total != 40*time.Minute || len(r.periods) != 3 || r.beside != before || *grew != 0 || !strings.Contains(r.said, "record after: for another 20m, because 20m cover too few checkpoints to compare") {
		t.Errorf("recorded %v in %d parts beside %q, grew by %v, said %q", r.total, len(r.periods), r.beside, *grew, r.said)
	}
}

// If the recordings cannot be compared, the proof has the reason. That is not a failure, because the rollout
// is done by then.
func TestProof(t *testing.T) {
	verdict := steps.Proof{Verdict: steps.Better, Text: "Better: p99 fell."}
	for name, tt := range map[string]struct {
		err  error
		want steps.Proof
	}{
		"better":    {nil, verdict},
		"too short": {tooShort{errors.New("before is too short")}, steps.Proof{Verdict: steps.NotCompared, Text: "before is too short (record longer)"}},
	} {
		r := &recorder{}
		rec, _, proved := r.recordings("dir", func(before, after string) (steps.Proof, error) {
			if before != filepath.Join("dir", "before") || after != filepath.Join("dir", "after") {
				t.Errorf("compares %s with %s", before, after)
			}
			return verdict, tt.err
		})
		step := rec.Compare()
		if err := step.Do(t.Context()); err != nil || *proved != tt.want || !strings.Contains(r.said, tt.want.Text) {
			t.Errorf("%s: %v, %+v, says %q", name, err, *proved, r.said)
		}
	}
}

// After an interrupt during a recording, the step is repeated.
func TestInterruptedWhileRecording(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := &recorder{}
	rec, _, _ := r.recordings(t.TempDir(), nil)
	rec.Record = func(ctx context.Context, _ steps.Period) error { cancel(); return ctx.Err() }
	c := &steps.Course{Steps: []steps.Step{rec.Before()}, Save: func() error { return nil }}
	if err := c.Begin(nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Forward(ctx); !errors.Is(err, steps.ErrInterrupted) || c.Stand[0].Phase != steps.Begun {
		t.Errorf("%v, %q", err, c.Stand[0].Phase)
	}
}

// A new rollout does not replace existing recordings.
func TestUnused(t *testing.T) {
	dir := t.TempDir()
	if err := steps.Unused(dir); err != nil {
		t.Error(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "after"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := steps.Unused(dir); err == nil || !strings.Contains(err.Error(), "after already exists") {
		t.Errorf("it says %v", err)
	}
}
