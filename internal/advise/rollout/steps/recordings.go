package steps

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A Recorder records a database and compares two recordings of it.
type Recorder struct {
	// Record records sources for a time.
	Record func(ctx context.Context, p Period) error
	// Least is how long a recording must be to be compared with the one beside it, or with one like it
	// if beside is ""; 0 if it is long enough.
	Least func(ctx context.Context, dir, beside string) (time.Duration, error)
	// Prove compares two recordings.
	Prove func(ctx context.Context, before, after string) (Proof, error)
}

// A Period is what to record, and for how long.
type Period struct {
	Dir     string // a new folder, or one with what was recorded so far
	Sources []string
	Long    time.Duration
	// Past allows a server that keeps its history to be read for the time before now, at once.
	Past bool
	// Settle is how long to wait first.
	Settle time.Duration
}

// A Proof is what comparing the recordings of before and after says.
type Proof struct {
	Verdict string // [Better], "worse", ...; [NotCompared] if they cannot be compared
	Text    string // in one sentence
}

const (
	// Better is the verdict that lets what was kept be removed.
	Better = "better"
	// NotCompared is no verdict: the text says why.
	NotCompared = "not compared"
)

// Recordings make the steps that record before and after a rollout, and compare.
type Recordings struct {
	Recorder
	Dir     string // they are in its folders before and after
	Sources []string
	Of      string // what they are of, in words
	// Keeps is what stays whatever comparing says, in words: "the old log".
	Keeps string
	// Long is how long each is; it grows, and Grew saves it, if that is too short to compare.
	Long time.Duration
	Grew func(long time.Duration) error
	// Proved saves what comparing says.
	Proved func(Proof) error
	Say    func(text string)
}

// RecordMost is the longest that a recording becomes by itself.
const RecordMost = time.Hour

// What was changed settles for a minute, or a tenth of the recording, before it is recorded.
const (
	settleMost  = time.Minute
	settleShare = 10
)

// Folders are where the recordings of before and after are.
func (r *Recordings) Folders() (before, after string) {
	return filepath.Join(r.Dir, "before"), filepath.Join(r.Dir, "after")
}

// Unused fails if there are recordings in a folder already: those of a rollout would take their place.
func Unused(dir string) error {
	r := &Recordings{Dir: dir}
	before, after := r.Folders()
	for _, path := range []string{before, after} {
		if _, err := os.Lstat(path); err == nil {
			return Inputf("--dir names another folder for the recordings", "%s is there already", path)
		}
	}
	return nil
}

// Before is the step that records what there is now. It goes on for as long as comparing will need.
func (r *Recordings) Before() Step {
	dir, _ := r.Folders()
	return Step{
		Name: "record before", Patient: true,
		What: fmt.Sprintf("records %s for %s into %s, and longer if that holds too few checkpoints to compare",
			r.Of, short(r.Long), dir),
		Undoes: "leaves the recording",
		Do: func(ctx context.Context) error {
			return r.enough(ctx, Period{Dir: dir, Sources: r.Sources, Long: r.Long, Past: true}, "",
				func(long time.Duration) error {
					r.Long = long
					return r.Grew(long)
				})
		},
	}
}

// After is the step that records what there is now, for as long as before, or longer: what was changed
// may have made checkpoints fewer.
func (r *Recordings) After() Step {
	before, dir := r.Folders()
	settle := min(settleMost, r.Long/settleShare)
	return Step{
		Name: "record after", Patient: true,
		What: fmt.Sprintf(
			"waits %s, because a server that has just started reads what it had in its cache; then records %s for as long as before, "+
				"and longer if that holds too few checkpoints to compare, into %s", short(settle), r.Of, dir),
		Undoes: "leaves the recording",
		Do: func(ctx context.Context) error {
			return r.enough(ctx, Period{Dir: dir, Sources: r.Sources, Long: r.Long, Settle: settle}, before,
				func(time.Duration) error { return nil })
		},
	}
}

// enough records, and goes on for as long as comparing needs. grew is told each time it is longer.
func (r *Recordings) enough(ctx context.Context, p Period, beside string,
	grew func(time.Duration) error) error {
	if err := os.RemoveAll(p.Dir); err != nil {
		return err
	}
	for long := p.Long; ; {
		if err := r.Record(ctx, p); err != nil {
			return err
		}

		least, err := r.Least(ctx, p.Dir, beside)
		if err != nil || least <= long || long >= RecordMost {
			return err
		}

		least = min(least, RecordMost)
		r.say(fmt.Sprintf("record %s: for another %s, because %s hold too few checkpoints to compare",
			filepath.Base(p.Dir), short(least-long), short(long)))
		p.Long, p.Past, p.Settle = least-long, false, 0
		long = least

		if err := grew(long); err != nil {
			return err
		}
	}
}

// Compare is the step that compares the two. Whatever comes of it, the rollout is done.
func (r *Recordings) Compare() Step {
	before, after := r.Folders()
	return Step{
		Name: "prove", Patient: true,
		What: "compares the two recordings; " + r.Keeps + " stays, whatever that says",
		Do: func(ctx context.Context) error {
			p, err := r.Prove(ctx, before, after)
			if err := ctx.Err(); err != nil {
				return err
			}
			if err != nil {
				p = Proof{NotCompared, Hinted(err)}
			}
			r.say("prove: " + p.Text)
			return r.Proved(p)
		},
	}
}

func (r *Recordings) say(text string) {
	if r.Say != nil {
		r.Say(text)
	}
}

// short is a length of time as people write it: 10m, not 10m0s.
func short(d time.Duration) string {
	text := d.Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
