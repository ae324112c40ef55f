package exposition

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// fileReader converts pages to batches.
type fileReader struct {
	f      *file
	w      recording.Writer
	opt    source.Options
	parser *parser

	pages, index int
	period       time.Duration
	prev         time.Time
	saved        bool // the time of a page is when its file was saved
	dated        int  // pages that got that time
	guessed      int
	span         span
	damage       recording.Note // the first damage
	damaged      int
}

func (r *fileReader) addPage(ctx context.Context, p *page) error {
	samples, bad := r.parser.parse(p.body, p.contentType())
	r.noteBad(p, bad)

	// The sources of a page's time, from the most to the least reliable.
	at, known := p.time, p.timed

	// node_exporter reports the time of the scrape itself.
	if !known && r.parser.nodeTime > 0 {
		at, known = time.UnixMilli(int64(r.parser.nodeTime*1000)), true
	}

	if !known && r.saved {
		at, known = p.saved, true
		r.dated++
	}

	if !known {
		at = r.guess()
		if slices.ContainsFunc(samples, func(s sample) bool { return s.ms == 0 }) {
			r.guessed++
		}
	}

	r.index++
	r.prev = at

	for _, b := range batches(samples, at.UnixMilli()) {
		b = clip(b, r.opt)
		if len(b.TimesMs) == 0 {
			continue
		}
		r.span.add(b.TimesMs[0])
		if err := r.w.Append(ctx, &b); err != nil {
			return err
		}
	}

	return nil
}

// guess returns the time of a page that has none.
func (r *fileReader) guess() time.Time {
	if !r.prev.IsZero() {
		return r.prev.Add(r.period)
	}
	return r.f.parts[len(r.f.parts)-1].Modified.Add(-time.Duration(r.pages-1-r.index) * r.period)
}

func (r *fileReader) noteBad(p *page, bad []badLine) {
	if p.torn != "" {
		bad = append(bad, badLine{offset: int64(len(p.body)), text: p.torn})
	}
	if len(bad) > 0 && r.damaged == 0 {
		r.damage = recording.Note{File: p.path, Offset: p.offset + bad[0].offset, Text: bad[0].text}
	}
	r.damaged += len(bad)
}

// noteLost records that the rest of the file could not be read.
func (r *fileReader) noteLost(at int64, why error) {
	if r.damaged == 0 {
		r.damage = recording.Note{Offset: at, Text: "read error: " + why.Error()}
	}
	r.damaged++
}

// clip shifts a batch with one time by Options.ClockOffset, and empties it if it is outside From
// and To.
func clip(b recording.Batch, opt source.Options) recording.Batch {
	b.TimesMs[0] += opt.ClockOffset.Milliseconds()
	ms := b.TimesMs[0]
	if !opt.From.IsZero() && ms < opt.From.UnixMilli() || !opt.To.IsZero() && ms > opt.To.UnixMilli() {
		return recording.Batch{}
	}
	return b
}

func (r *fileReader) describe() {
	d := recording.Source{
		Kind: "openmetrics", Name: r.f.path(),
		Engine: r.parser.engine(), Version: r.parser.version, Host: r.parser.host,
		Samples: r.span.n, Period: recording.Median(r.span.steps),
	}

	if r.span.n > 0 {
		d.From, d.To = time.UnixMilli(r.span.firstMs).UTC(), time.UnixMilli(r.span.lastMs).UTC()
	}

	r.f.SetDescription(d)
	r.w.Source(d)
	note := func(n recording.Note) {
		n.Source, n.File = r.f.path(), cmp.Or(n.File, r.f.path())
		r.w.Note(n)
	}

	if r.damaged > 0 {
		r.damage.Kind = recording.NoteDamage
		r.damage.Text = fmt.Sprintf("skipped %d unreadable lines, the first at byte %d: %s",
			r.damaged, r.damage.Offset, r.damage.Text)
		note(r.damage)
	}

	if len(r.f.parts) > 1 {
		note(recording.Note{Kind: recording.NoteLimit, Text: r.f.joinedText()})
	}

	if r.dated > 0 {
		note(recording.Note{Kind: recording.NoteLimit,
			Text: fmt.Sprintf("%d of %d pages have no time: using the times at which their files were saved",
				r.dated, r.pages)})
	}

	if r.guessed > 0 {
		note(recording.Note{Kind: recording.NoteLimit, Text: fmt.Sprintf(
			"%d of %d pages have no time: placed them %s apart, ending at the file's modification time; write a time before each page with: date +'# scraped %%s'",
			r.guessed, r.pages, r.period)})
	}

	if r.span.n == 1 {
		note(recording.Note{Kind: recording.NoteLimit,
			Text: "the file has only one sample, which gives no rates; put several pages, taken a second apart, into one file"})
	}

	if r.parser.dropped > 0 {
		note(recording.Note{Kind: recording.NoteDropped, Text: overSeries(r.parser.dropped)})
	}
}

// span keeps track of sample times.
type span struct {
	n               int64
	firstMs, lastMs int64
	steps           []int64 // the first few thousand distances
}

func (s *span) add(ms int64) {
	switch {
	case s.n == 0:
		s.firstMs, s.lastMs = ms, ms
	case ms >= s.firstMs && ms <= s.lastMs:
		return // a dump starts over with each series
	default:
		if d := ms - s.lastMs; d > 0 && len(s.steps) < 4096 {
			s.steps = append(s.steps, d)
		}
		s.firstMs, s.lastMs = min(s.firstMs, ms), max(s.lastMs, ms)
	}
	s.n++
}
