package serverlog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/record/lineprefix"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// headBytes is how much of a file shows what its lines look like.
const headBytes = 64 << 10

// A part is one file of a log.
type part struct {
	source.File

	wrapper wrapper
	begins  time.Time
}

// Read implements source.Source.
func (l *log) Read(ctx context.Context, writer recording.Writer, opt source.Options) error {
	lines := &reader{format: l.format, w: writer, opt: opt, loc: cmp.Or(opt.Location, time.Local),
		name: l.parts[0].Path}
	// Files of one log may be given in any order, and counters need increasing times.
	parts, err := lines.order(l.parts)
	if err != nil {
		return fmt.Errorf("%s log: %w", l.format.Product, err)
	}

	lines.events = newEvents(l.format.Series)
	lines.events.keepFrom, lines.events.keepTo = opt.From, opt.To
	lines.parser = l.format.New(lines.events)

	for _, p := range parts {
		lines.total += p.Bytes
	}
	for i := range parts {
		if err := lines.read(ctx, &parts[i]); err != nil {
			return fmt.Errorf("%s log %s: %w", l.format.Product, parts[i].Path, err)
		}
	}

	if lines.events.from.IsZero() {
		return fmt.Errorf("%s log %s: no line with a time", l.format.Product, l.names())
	}

	// Events that are open at the end of the log, such as a checkpoint, end with it.
	lines.parser.End(lines.events.to)
	for _, why := range slices.Sorted(maps.Keys(lines.events.unread)) {
		// Without any event, unreadable lines are the reason and not a remark.
		if len(lines.events.cells) == 0 {
			return fmt.Errorf("%s log %s has %s", l.format.Product, l.names(), why)
		}
		lines.damage = append(lines.damage, recording.Note{Kind: recording.NoteLimit, Source: lines.name,
			Text: fmt.Sprintf("%d lines were not read: %s", lines.events.unread[why], why)})
	}

	n, err := lines.events.write(ctx, writer, opt.Want)
	if err != nil {
		return err
	}

	lines.note(l)
	d := recording.Source{Kind: l.format.Kind, Name: l.parts[0].Path, Engine: l.format.Engine,
		Version: lines.events.facts["version"], From: lines.events.from.UTC(), To: lines.events.to.UTC(),
		Period: steps[lines.events.step], Samples: n}
	l.SetDescription(d)
	writer.Source(d)

	return nil
}

// order determines the format of each file's lines, and sorts the files by their first time.
func (r *reader) order(files []source.File) ([]part, error) {
	var out []part
	for _, f := range files {
		in, err := f.Open()
		if err != nil {
			return nil, err
		}

		head := make([]byte, headBytes)
		n, err := io.ReadFull(in, head)
		in.Close()
		if n == 0 && err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}

		p := part{File: f}
		// Docker, Kubernetes or journald may have wrapped one file and not the other.
		p.wrapper, _ = r.format.detect(head[:n])
		r.modified = f.Modified
		for line := range bytes.Lines(head[:n]) {
			if at, ok := r.timeOf(&p.wrapper, line, nil); ok {
				p.begins = at
				break
			}
		}

		out = append(out, p)
	}

	slices.SortStableFunc(out, func(a, b part) int { return a.begins.Compare(b.begins) })
	// Reading the heads set these flags; the notes are about the lines that count.
	r.zoneless, r.yearless = false, false

	return out, nil
}

// A reader is the state of reading a log.
type reader struct {
	format *Format
	w      recording.Writer
	opt    source.Options
	loc    *time.Location
	name   string
	events *Events
	parser Parser

	modified time.Time // of the current file
	latest   time.Time // later times are rejected; zero if unknown

	done, total        int64
	lines              int64
	long, late, dark   int64 // lines that were too long, from the future, or without a time
	zoneless, yearless bool
	damage             []recording.Note
	kept               time.Time
	last               []byte // the last line if its time was not read
}

// read reads a file. Everything read before an error is kept.
func (r *reader) read(ctx context.Context, file *part) error {
	in, err := file.Open()
	if err != nil {
		return err
	}

	defer in.Close()

	// No line is later than the last write to its file, apart from a difference between the clocks. If the
	// file's time is before its first line, it is not the time of that write, and bounds nothing.
	r.modified, r.latest, r.kept = file.Modified, time.Time{}, time.Time{}
	if !file.Modified.IsZero() && !file.begins.IsZero() && file.Modified.After(file.begins) {
		r.latest = file.Modified.Add(24 * time.Hour)
	}

	lines := source.NewLineReader(in, lineBytesMax)
	before := r.done
	var held []byte // of a line that its wrapper has split
	for {
		line, long, err := lines.Next()
		r.done = before + lines.To
		// The beginning of a line says what it is about; the rest is skipped.
		if long {
			r.long++
		}
		if len(line) > 0 {
			held = r.line(&file.wrapper, bytes.TrimRight(line, "\r\n"), held)
		}

		if r.lines++; r.lines&0xfff == 0 {
			if e := ctx.Err(); e != nil {
				return e
			}
			if r.opt.Progress != nil {
				r.opt.Progress(r.done, max(r.total, r.done))
			}
		}

		if err != nil {
			r.stampLast(&file.wrapper)
		}

		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			r.damage = append(r.damage, recording.Note{Kind: recording.NoteDamage, Source: r.name, File: file.Path,
				Offset: r.done, Text: "the rest of the log cannot be read: " + err.Error()})
			return nil
		}
	}
}

// line handles a line, and returns the text that the next line continues.
func (r *reader) line(prefix *wrapper, raw, held []byte) []byte {
	// Most lines are of no interest. A part of a split line may be, even if the words that Keep looks for are
	// in another part.
	if len(held) == 0 && !r.format.Keep(raw) && !prefix.split(raw) {
		r.stamp(prefix, raw)
		return nil
	}

	text, p, ok := prefix.cut(raw)
	if !ok {
		return nil
	}

	if p == partial || len(held) > 0 {
		held = append(held, text[:min(len(text), lineBytesMax-len(held))]...)
		if p == partial {
			return held
		}
		text = held
	}

	if !r.format.Keep(text) {
		r.stamp(prefix, raw)
		return nil
	}

	// A line without a time continues the one before it.
	at, ok := r.timeOf(prefix, raw, text)
	if !ok && r.kept.IsZero() {
		r.dark++
		return nil
	}
	if !ok {
		at = r.kept
	}
	r.kept = at

	if r.see(at) {
		r.parser.Line(at, text)
	}

	return nil
}

// stampEvery is how often the time of a line without an event is read: only the first and the last
// time of a log matter.
const stampEvery = 16

func (r *reader) stamp(w *wrapper, raw []byte) {
	if r.lines%stampEvery != 0 && !r.events.from.IsZero() {
		r.last = append(r.last[:0], raw...)
		return
	}
	r.last = r.last[:0]
	if at, ok := r.timeOf(w, raw, nil); ok {
		r.see(at)
	}
}

// stampLast reads the time of the last line of a file.
func (r *reader) stampLast(w *wrapper) {
	if len(r.last) == 0 {
		return
	}
	if at, ok := r.timeOf(w, r.last, nil); ok {
		r.see(at)
	}
	r.last = r.last[:0]
}

// see records the time of a line; false if the time is impossible.
func (r *reader) see(at time.Time) bool {
	if !r.latest.IsZero() && at.After(r.latest) || at.Year() < 1990 || at.UnixMilli() > recording.TimeMaxMs {
		r.late++
		return false
	}
	e := r.events
	if e.from.IsZero() || at.Before(e.from) {
		e.from = at
	}
	if at.After(e.to) {
		e.to = at
	}
	return true
}

// timeOf returns the time of a line: the server's own, or that of the wrapper if only it has a
// zone. text is the line in the wrapper, nil if it was not decoded.
func (r *reader) timeOf(w *wrapper, raw, text []byte) (time.Time, bool) {
	outer := w.when(raw)
	own, ok := lineprefix.Time{}, false

	switch {
	case text != nil:
		own, ok = r.format.Stamp(text)
	case w.kind == bare:
		own, ok = r.format.Stamp(cutPod(raw))
	case w.kind == prefixed || w.kind == cri:
		if inner, _, cut := w.cut(raw); cut {
			own, ok = r.format.Stamp(inner)
		}
	}

	if !ok || !own.HasZone && outer.HasZone && outer.Month != 0 {
		own, ok = outer, outer.Month != 0
	}
	if !ok {
		return time.Time{}, false
	}

	r.zoneless = r.zoneless || !own.HasZone
	if own.Year == 0 {
		own = r.yearOf(own)
	}

	return own.In(r.loc).Add(r.opt.ClockOffset), true
}

// yearOf adds the year to a time without one: the last in which it is not after the file was
// written.
func (r *reader) yearOf(at lineprefix.Time) lineprefix.Time {
	r.yearless = true
	modified := r.modified
	if modified.IsZero() {
		modified = time.Now()
	}
	at.Year = modified.In(r.loc).Year()
	if at.In(r.loc).After(modified.Add(24 * time.Hour)) {
		at.Year--
	}
	return at
}

// note reports assumptions, and lines that could not be read.
func (r *reader) note(l *log) {
	add := func(kind recording.NoteKind, format string, args ...any) {
		r.w.Note(recording.Note{Kind: kind, Source: r.name, Text: fmt.Sprintf(format, args...)})
	}

	for _, n := range r.damage {
		r.w.Note(n)
	}

	if len(l.parts) > 1 {
		add(recording.NoteLimit, "read %d files as one log, in the order of their first times: %s", len(l.parts),
			l.names())
	}

	if r.zoneless {
		add(recording.NoteClock, "the times of this log have no zone: assuming %s (give another one with --tz)", r.loc)
	}
	if r.yearless {
		add(recording.NoteClock, "the times of this log have no year: assuming that the file was last written at %s",
			r.modified.In(r.loc).Format(time.DateTime))
	}

	if r.long > 0 {
		add(recording.NoteLimit, "%d lines were longer than 1 MiB: only their beginnings were read", r.long)
	}
	if r.late > 0 {
		add(recording.NoteClock, "skipped %d lines with times after the file was last written", r.late)
	}
	if r.dark > 0 {
		add(recording.NoteLimit, "skipped %d lines without a time: give the log with the times that journald, docker or kubectl add", r.dark)
	}

	if s := steps[r.events.step]; s > time.Second {
		add(recording.NoteLimit, "the log is long: its events are counted in intervals of %s, not of seconds; --from and --to select a part",
			strings.TrimSuffix(strings.TrimSuffix(s.String(), "0s"), "0m"))
	}
}
