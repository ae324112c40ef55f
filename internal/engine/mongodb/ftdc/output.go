package ftdc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/engine/mongodb/names"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

const (
	// notesMax limits the notes of one kind; the rest are only counted.
	notesMax = 200
	// progressBytes is how much is read between two calls of Progress.
	progressBytes = 1 << 20
)

// A delivery is a decoded job on its way to the writer.
type delivery struct {
	job        job
	times      []int64
	uptime     int64 // ms, 0 if unknown
	collisions [][]string

	mine     bool // it is this job's turn
	admitted bool
	took     admission
}

// await waits until all earlier jobs are delivered.
func (d *delivery) await(ctx context.Context) error {
	if d.mine || d.job.turn == nil {
		return nil
	}
	select {
	case <-d.job.turn:
		d.mine = true
		// Jobs that failed pass on their turn too.
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// An output accepts the deliveries one at a time and in order.
type output struct {
	w    recording.Writer
	opt  source.Options
	name string

	order       order
	chunks      int
	values      int64 // values written, see valuesFree
	samples     int64
	first, last int64 // sample times written, with the offset
	uptime      int64 // of the previous chunk
	collided    map[string]bool
	firstDamage error

	notes           map[recording.NoteKind]int
	total, reported int64 // bytes
}

// append writes the samples of a batch that are new and within the requested bounds.
func (o *output) append(ctx context.Context, batch *delivery, wk *worker) error {
	// A large chunk arrives in several parts; its times are admitted only once.
	if !batch.admitted {
		batch.admitted, batch.took = true, o.order.admit(batch.times)
		o.chunks++
		o.remark(batch)
		o.bound(batch)
	}

	for _, path := range batch.collisions {
		o.collision(path)
	}

	keep := batch.took.keep
	if len(keep) == 0 || len(wk.batch.Columns) == 0 {
		return nil
	}

	if err := o.checkVolume(batch.job, wk.batch.Columns, len(keep)); err != nil {
		return err
	}

	wk.shift = wk.shift[:0]
	for _, i := range keep {
		wk.shift = append(wk.shift, batch.times[i]+o.opt.ClockOffset.Milliseconds())
	}

	wk.batch.TimesMs = wk.shift
	for i := range wk.batch.Columns {
		col := &wk.batch.Columns[i]

		// A constant column stays a single value whatever was cut off.
		if len(col.Values) == 1 {
			continue
		}

		// Nearly always, what is kept is in one piece.
		if lo := keep[0]; keep[len(keep)-1]-lo == len(keep)-1 {
			col.Values = col.Values[lo : lo+len(keep)]
			continue
		}

		for to, from := range keep {
			col.Values[to] = col.Values[from]
		}

		col.Values = col.Values[:len(keep)]
	}

	return o.w.Append(ctx, &wk.batch)
}

// checkVolume limits how much memory a capture can consume.
func (o *output) checkVolume(j job, columns []recording.Column, times int) error {
	for i := range columns {
		if len(columns[i].Values) == 1 {
			o.values += int64(times)/constantShare + 1
		} else {
			o.values += int64(times)
		}
	}
	if most := valuesFree + valuesPerByte*o.total; o.values > most {
		return fmt.Errorf("%s: byte %d: more than %d values in a capture of %d bytes: no server writes that many (limit: %d per byte); is this file damaged or fabricated?",
			j.file, j.offset, most, o.total, valuesPerByte)
	}
	return nil
}

// bound applies the limits of time and counts what remains.
func (o *output) bound(batch *delivery) {
	// The limits and the description have corrected times, as the samples do.
	at := func(i int) int64 { return batch.times[i] + o.opt.ClockOffset.Milliseconds() }
	batch.took.keep = slices.DeleteFunc(batch.took.keep, func(i int) bool {
		return !o.opt.From.IsZero() && at(i) < o.opt.From.UnixMilli() ||
			!o.opt.To.IsZero() && at(i) > o.opt.To.UnixMilli()
	})

	keep := batch.took.keep
	if len(keep) == 0 {
		return
	}
	if o.samples == 0 {
		o.first = at(keep[0])
	}
	o.last = at(keep[len(keep)-1])
	o.samples += int64(len(keep))
}

// remark notes what a chunk's times show: gaps, restarts, and a clock that was set back.
func (o *output) remark(d *delivery) {
	restarted := d.uptime > 0 && d.uptime < o.uptime
	for i, g := range d.took.gaps {
		// Only the gap at the start of the chunk can be the restart, because uptime is known once
		// per chunk.
		text := fmt.Sprintf("no samples for %s", spell(g.to-g.from))
		if i == 0 && restarted && g.to == d.times[d.took.keep[0]] {
			text += "; the server restarted in between, and its counters were reset"
		}
		o.note(recording.Note{Kind: recording.NoteGap, File: d.job.file, Offset: d.job.offset, From: o.time(g.from),
			To: o.time(g.to), Text: text})
	}

	if d.uptime > 0 {
		o.uptime = d.uptime
	}

	if b := d.took.back; b != nil {
		o.note(recording.Note{
			Kind: recording.NoteClock, File: d.job.file, Offset: d.job.offset, From: o.time(b.to), To: o.time(b.from),
			Text: fmt.Sprintf("the clock was set back by %s; %d samples were skipped until it caught up",
				spell(b.from-b.to), d.took.dropped),
		})
	}
}

// time converts a sample time to the recording's clock.
func (o *output) time(ms int64) time.Time {
	return time.UnixMilli(ms + o.opt.ClockOffset.Milliseconds()).UTC()
}

func spell(ms int64) string { return (time.Duration(ms) * time.Millisecond).String() }

// collision notes, once for each name, that a metric has the same name as another.
func (o *output) collision(path []string) {
	joined := strings.Join(path, "/")
	if o.collided[joined] {
		return
	}
	if o.collided == nil {
		o.collided = map[string]bool{}
	}
	if len(o.collided) <= notesMax {
		o.collided[joined] = true
	}
	l, _ := names.Metric(path)
	o.note(recording.Note{Kind: recording.NoteLimit,
		Text: fmt.Sprintf("%s is skipped: an earlier metric has the same name, %s", limited(joined), l)})
}

// damaged notes what could not be read.
func (o *output) damaged(j job, err error) {
	if o.firstDamage == nil {
		o.firstDamage = err
		if !errors.As(err, new(*DamageError)) { // a DamageError contains its position
			o.firstDamage = fmt.Errorf("%s: byte %d: %w", j.file, j.offset, err)
		}
	}

	n := recording.Note{Kind: recording.NoteDamage, File: j.file, Offset: j.offset}
	var damage *DamageError
	if errors.As(err, &damage) {
		n.Text = fmt.Sprintf("%v; %d bytes skipped", damage.Err, damage.Bytes)
	} else {
		n.Text = err.Error() + "; its samples are missing"
	}

	// The date of a damaged document may be anything.
	if !j.date.IsZero() && j.date.UnixMilli() >= 0 && j.date.UnixMilli() <= timeMax {
		n.From = o.time(j.date.UnixMilli())
	}

	o.note(n)
}

func (o *output) note(n recording.Note) {
	if o.notes == nil {
		o.notes = map[recording.NoteKind]int{}
	}
	if o.notes[n.Kind]++; o.notes[n.Kind] > notesMax {
		return
	}
	n.Source = o.name
	o.w.Note(n)
}

// progress reports how much has been read.
func (o *output) progress(done int64) {
	if o.opt.Progress != nil && (done-o.reported >= progressBytes || done == o.total) {
		o.reported = done
		o.opt.Progress(done, o.total)
	}
}

// finish reports what was not reported individually.
func (o *output) finish() {
	if o.opt.Progress != nil && o.reported < o.total {
		o.opt.Progress(o.total, o.total)
	}
	for _, kind := range []recording.NoteKind{recording.NoteGap, recording.NoteDamage, recording.NoteClock,
		recording.NoteLimit} {
		if more := o.notes[kind] - notesMax; more > 0 {
			o.w.Note(recording.Note{Kind: kind, Source: o.name,
				Text: fmt.Sprintf("%d more notes of this kind (%s) are not listed", more, kind)})
		}
	}
}
