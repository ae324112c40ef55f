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
	// Record records sources for a period.
	Record func(ctx context.Context, p Period) error
	// Least returns how long a recording must be to be comparable with the other recording, or with one
	// like itself if other is ""; 0 if it is long enough.
	Least func(ctx context.Context, dir, other string) (time.Duration, error)
	// Prove compares two recordings.
	Prove func(ctx context.Context, before, after string) (Proof, error)
}

// A Period is what to record, and for how long.
type Period struct {
	Dir     string // a new folder, or the folder of a recording to extend
	Sources []string
	Long    time.Duration
	// Past allows reading the past from a server that keeps its history, instead of waiting.
	Past bool
	// Settle is how long to wait before recording.
	Settle time.Duration
}

// A Proof is the result of comparing the recordings from before and after.
type Proof struct {
	Verdict string // [Better], "worse", ...; [NotCompared] if they cannot be compared
	Text    string // in one sentence
}

const (
	// Better is the verdict that allows removing what was kept.
	Better = "better"
	// NotCompared means that there is no verdict; the text says why.
	NotCompared = "not compared"
)

// Recordings create the steps that record before and after a rollout, and compare.
type Recordings struct {
	Recorder
	Dir     string // has the folders before and after
	Sources []string
	Of      string // the sources in words
	// Keeps is what is kept regardless of the verdict, in words: "the old log".
	Keeps string
	// Long is the length of each recording. If it is too short to compare, it grows, and Grew saves the
	// new length.
	Long time.Duration
	Grew func(long time.Duration) error
	// Proved saves the result of the comparison.
	Proved func(Proof) error
	Say    func(text string)
}

// RecordMost is the maximum length to which a recording is extended automatically.
const RecordMost = time.Hour

// After a change, the system settles for a minute, or a tenth of the recording's length if that is
// shorter, before the recording starts.
const (
	settleMost  = time.Minute
	settleShare = 10
)

// Folders returns the paths of both recordings, whether or not they exist yet.
func (r *Recordings) Folders() (before, after string) {
	return filepath.Join(r.Dir, "before"), filepath.Join(r.Dir, "after")
}

// Unused fails if a folder already has recordings, because those of a rollout would replace them.
func Unused(dir string) error {
	r := &Recordings{Dir: dir}
	before, after := r.Folders()
	for _, path := range []string{before, after} {
		if _, err := os.Lstat(path); err == nil {
			return Inputf("use --out to name another folder for the recordings", "%s already exists", path)
		}
	}
	return nil
}

// Before returns the step that records the state before the change, for as long as a comparison needs.
func (r *Recordings) Before() Step {
	dir, _ := r.Folders()
	return Step{
		Name: "record before", Patient: true,
		What: fmt.Sprintf("records %s for %s into %s, or longer if that covers too few checkpoints to compare",
			r.Of, short(r.Long), dir),
		Undoes: "keeps the recording",
		Do: func(ctx context.Context) error {
			return r.enough(ctx, Period{Dir: dir, Sources: r.Sources, Long: r.Long, Past: true}, "",
				func(long time.Duration) error {
					r.Long = long
					return r.Grew(long)
				})
		},
	}
}

// After returns the step that records the state after the change, for as long as before or longer: the
// change may have made checkpoints rarer.
func (r *Recordings) After() Step {
	before, dir := r.Folders()
	settle := min(settleMost, r.Long/settleShare)
	return Step{
		Name: "record after", Patient: true,
		What: fmt.Sprintf(
			"waits %s, because a server that has just started is warming up its cache; then records %s for as long as before, "+
				"or longer if that covers too few checkpoints to compare, into %s", short(settle), r.Of, dir),
		Undoes: "keeps the recording",
		Do: func(ctx context.Context) error {
			return r.enough(ctx, Period{Dir: dir, Sources: r.Sources, Long: r.Long, Settle: settle}, before,
				func(time.Duration) error { return nil })
		},
	}
}

// enough records, and extends the recording until it is long enough to compare. It calls grew with each
// new length.
func (r *Recordings) enough(ctx context.Context, p Period, other string,
	grew func(time.Duration) error) error {
	// An interrupted recording has a gap, so start again.
	if err := os.RemoveAll(p.Dir); err != nil {
		return err
	}
	for long := p.Long; ; {
		if err := r.Record(ctx, p); err != nil {
			return err
		}

		least, err := r.Least(ctx, p.Dir, other)
		if err != nil || least <= long || long >= RecordMost {
			return err
		}

		least = min(least, RecordMost)
		r.say(fmt.Sprintf("record %s: for another %s, because %s cover too few checkpoints to compare",
			filepath.Base(p.Dir), short(least-long), short(long)))

		// Extend the recording: the past is read already, and the system has settled.
		p.Long, p.Past, p.Settle = least-long, false, 0
		long = least

		if err := grew(long); err != nil {
			return err
		}
	}
}

// Compare returns the step that compares the recordings. The rollout is done regardless of the result.
func (r *Recordings) Compare() Step {
	before, after := r.Folders()
	return Step{
		Name: "prove", Patient: true,
		What: "compares the two recordings; keeps " + r.Keeps + " regardless of the result",
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

// short formats a duration as people write it: 10m, not 10m0s.
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
