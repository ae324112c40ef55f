package live

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"plimsoll/internal/engine/mongodb/ftdc"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

const (
	// collectedEvery is how often a mongod collects, unless diagnosticDataCollectionPeriodMillis
	// says otherwise.
	collectedEvery = time.Second
	// staleAfter is how old the newest document may get before serverStatus is used instead: the
	// server has stopped collecting, or collects seldom.
	staleAfter = 5 * time.Second
	// membersEvery is the time between two queries for the replica set's members, if
	// getDiagnosticData does not include them.
	membersEvery = 10 * time.Second
	// skewMax is how far the server's clock may be off before times are moved: synchronised clocks
	// differ by milliseconds.
	skewMax = time.Second
	// skewEvery is the time between two measurements while the best one is a slow answer's.
	skewEvery = 10 * time.Second
	// restartedBy is by how much a server's uptime must fall before it counts as restarted.
	restartedBy = 2 * time.Second
)

// A sampler is one Read.
type sampler struct {
	m    *server
	l    *link
	w    recording.Writer
	opt  source.Options
	fine bool // the period is shorter than the server's own

	instance atomic.Pointer[string]
	readers  map[string]*ftdc.Documents // by kind of document
	tail     *tail

	rich     bool          // getDiagnosticData is permitted
	start    time.Time     // of the newest document, by the server's clock
	since    time.Time     // when it was first seen
	skew     time.Duration // to be added to the server's times
	trip     time.Duration // how long the request took that the skew is from
	skewAt   time.Time     // when it was measured last
	measured bool
	phase    time.Duration // after the period's beginning

	last    time.Time // time of the last sample
	members time.Time // last queried
	uptime  time.Duration
	changed bool              // the server being read
	desc    *recording.Source // after a restart; nil: as Open found it
	told    map[string]bool
	batches []recording.Batch
}

func newSampler(m *server, l *link, w recording.Writer, opt source.Options) *sampler {
	s := &sampler{m: m, l: l, w: w, opt: opt, rich: true, told: map[string]bool{}}
	s.fine = opt.Period > 0 && opt.Period < collectedEvery
	s.is(m.address.hosts[0])
	return s
}

// is sets which server is read from now on.
func (s *sampler) is(instance string) {
	s.instance.Store(&instance)
	s.readers = map[string]*ftdc.Documents{}
	s.tail = newTail(instance)
	s.uptime, s.start, s.measured, s.trip = 0, time.Time{}, false, 0
}

// reader returns the reader of one kind of document.
func (s *sampler) reader(kind string, without string) *ftdc.Documents {
	r := s.readers[kind]
	if r == nil {
		want := s.opt.Want
		if without != "" {
			want = func(metric string) bool {
				return !strings.HasPrefix(metric, without) && (s.opt.Want == nil || s.opt.Want(metric))
			}
		}
		r = ftdc.NewDocuments(want, labels.Label{Name: "instance", Value: *s.instance.Load()})
		s.readers[kind] = r
	}
	return r
}

// Sample implements source.Sampler.
func (s *sampler) Sample(ctx context.Context, at time.Time) ([]recording.Batch, error) {
	s.batches = s.batches[:0]
	asked := time.Now()
	now := func() time.Time { return at.Add(time.Since(asked)) }
	err := s.sample(ctx, at, now)
	if err == nil {
		s.latencies(ctx, now())
	}
	if err != nil && !errors.Is(err, source.ErrNothingNew) {
		return nil, s.l.explain(err)
	}
	return s.batches, err
}

func (s *sampler) sample(ctx context.Context, at time.Time, now func() time.Time) error {
	if s.rich && !s.fine {
		err := s.collected(ctx, now, "")
		if err == nil || !errors.Is(err, errUnsaid) {
			return err
		}
		at = now()
	}

	if err := s.asked(ctx, at); err != nil {
		return err
	}

	if s.rich && s.fine && at.Sub(s.since) >= collectedEvery {
		if err := s.collected(ctx, now, "mongodb_ss_"); err != nil && !errors.Is(err, errUnsaid) &&
			!errors.Is(err, source.ErrNothingNew) {
			return err
		}
	}

	return nil
}

// collected reads the document that the server collected last. If there is none, now or ever, it
// returns errUnsaid.
func (s *sampler) collected(ctx context.Context, now func() time.Time, without string) error {
	if !s.start.IsZero() && s.phase > 0 && !pause(ctx, s.phase) {
		return ctx.Err()
	}

	answer, err := s.l.ask(ctx, "getDiagnosticData")
	if err != nil {
		code := mongo.ErrorCodes(err)
		for _, c := range code {
			if c == codeUnauthorized || c == codeCommandNotFound {
				s.rich = false
				s.limit("getDiagnosticData may not be asked for: disks, memory and pressure of the server's host are not told (record host there beside it); the role clusterMonitor gives it")
				return errUnsaid
			}
		}
		return err
	}

	data, ok := answer.Lookup("data").DocumentOK()
	if !ok {
		return errUnsaid
	}

	s.host(data)
	read, err := s.reader("collected"+without, without).Read(data)
	if err != nil {
		return fmt.Errorf("getDiagnosticData: %w", err)
	}

	if read.Time.IsZero() {
		return errUnsaid
	}
	if read.Time.Equal(s.start) {
		return s.nothingNew(now())
	}

	at, err := s.place(ctx, read.Time, now)
	if err != nil {
		return err
	}

	s.phased(read.Time)
	s.start, s.since = read.Time, now()
	if !at.After(s.last) && without == "" {
		return source.ErrNothingNew
	}

	s.batches = append(s.batches, recording.Batch{TimesMs: []int64{at.UnixMilli()}, Columns: read.Columns})
	if without == "" {
		s.restarted(ctx, read.Uptime, at)
	}

	return nil
}

// nothingNew handles a document that was already read.
func (s *sampler) nothingNew(now time.Time) error {
	if now.Sub(s.since) >= max(staleAfter, s.opt.Period) {
		s.limit(
			fmt.Sprintf("the server has collected no diagnostic data for more than %s (diagnosticDataCollectionEnabled, diagnosticDataCollectionPeriodMillis): serverStatus is read instead, which does not contain disks",
				staleAfter))
		return errUnsaid
	}
	s.shift()
	return source.ErrNothingNew
}

// phased checks whether a document was missed. Servers collect at whole seconds and so do we; a
// request in between always gets the newest one.
func (s *sampler) phased(start time.Time) {
	switch gap := start.Sub(s.start); {
	case s.start.IsZero():
		if s.opt.Period <= collectedEvery && !s.fine {
			s.phase = collectedEvery / 2
		}
	case s.phase > 0 && gap > collectedEvery+collectedEvery/2 && gap < staleAfter:
		s.shift()
	}
}

// shift moves requests to another part of the second from now on.
func (s *sampler) shift() {
	if s.phase > 0 {
		s.phase = (s.phase+collectedEvery/4-1)%(collectedEvery-collectedEvery/4) + 1
	}
}

// place converts a time of the server's clock to this machine's.
func (s *sampler) place(ctx context.Context, start time.Time, now func() time.Time) (time.Time, error) {
	at := start.Add(s.skew)
	settled := s.trip <= skewMax || now().Sub(s.skewAt) < skewEvery
	if s.measured && settled && start.After(s.start) && at.Before(now().Add(skewMax)) {
		return at, nil
	}

	before := now()
	who, err := s.l.ask(ctx, "hello")
	if err != nil {
		return at, err
	}

	after := now()
	theirs, ok := who.Lookup("localTime").TimeOK()
	if !ok {
		return at, nil
	}

	s.measure(before, after, theirs)
	return start.Add(s.skew), nil
}

// measure takes a measurement of the server's clock, which was read at some time between before and
// after. A slow answer, as in a stall, says little: its skew is anything within half the time that it
// took. So one that contradicts nothing is replaced by none that took longer.
func (s *sampler) measure(before, after, theirs time.Time) {
	trip := after.Sub(before)
	skew := before.Add(trip / 2).Sub(theirs)
	possible := skewMax + trip/2
	s.skewAt = after

	if s.measured && trip >= s.trip && (skew-s.skew).Abs() < possible {
		return
	}

	s.trip = trip
	if skew.Abs() < possible {
		skew = 0
	}

	if skew != s.skew || !s.measured {
		s.measured = true
		if (skew - s.skew).Abs() >= skewMax {
			s.clock(skew, after)
		}
		s.skew = skew
	}
}

func (s *sampler) clock(skew time.Duration, at time.Time) {
	text := "the server's clock agrees with this machine's again"
	if skew != 0 {
		word := "behind"
		if skew < 0 {
			word = "ahead of"
		}
		text = fmt.Sprintf("the server's clock is %s %s this machine's; its samples get this machine's time",
			skew.Abs().Round(100*time.Millisecond), word)
	}
	s.w.Note(recording.Note{Kind: recording.NoteClock, Source: s.m.address.name, From: s.moment(at),
		To: s.moment(at), Text: text})
}

// moment converts a time to the recording's.
func (s *sampler) moment(at time.Time) time.Time { return at.Add(s.opt.ClockOffset).UTC() }

// asked reads serverStatus and, regularly, the members of the replica set.
func (s *sampler) asked(ctx context.Context, at time.Time) error {
	answer, err := s.l.ask(ctx, "serverStatus", leftOut...)
	if err != nil {
		return err
	}

	doc := bson.Raw(ftdc.Join(ftdc.Section{Name: "serverStatus", Answer: answer}))
	s.host(doc)
	read, err := s.reader("status", "").Read(doc)
	if err != nil {
		return fmt.Errorf("serverStatus: %w", err)
	}

	ms := []int64{at.UnixMilli()}
	s.batches = append(s.batches, recording.Batch{TimesMs: ms, Columns: read.Columns})
	s.restarted(ctx, read.Uptime, at)

	if (s.rich && s.fine) || s.m.router || at.Sub(s.members) < membersEvery {
		return nil
	}

	s.members = at
	members, err := s.l.ask(ctx, "replSetGetStatus", bson.E{Key: "initialSync", Value: 0})
	if err != nil {
		if refused(err) {
			s.limit("this user may not ask for replSetGetStatus: members and their lag are not told; the role clusterMonitor gives it")
		}
		return nil // it is standalone, or denies it
	}

	set, err := s.reader("members", "").Read(ftdc.Join(ftdc.Section{Name: "replSetGetStatus", Answer: members}))
	if err == nil {
		s.batches = append(s.batches, recording.Batch{TimesMs: []int64{ms[0]}, Columns: set.Columns})
	}

	return nil
}

// host checks which server answered: in a set it is the primary, which may have changed.
func (s *sampler) host(doc bson.Raw) {
	if s.m.address.one() || s.m.router {
		return
	}
	for _, path := range [][]string{{"serverStatus", "host"}, {"shard", "serverStatus", "host"},
		{"common", "serverStatus", "host"}} {
		name, ok := textAt(doc, path)
		if !ok {
			continue
		}

		if was := *s.instance.Load(); name != was {
			if !s.last.IsZero() {
				s.w.Note(recording.Note{Kind: recording.NoteGap, Source: s.m.address.name, From: s.moment(s.last),
					Text: fmt.Sprintf("the primary was %s, and is %s from here on", was, name)})
				s.changed = true
			}
			s.is(name)
		}

		return
	}
}

// textAt looks up one key at a time: with several, the driver's look-up panics where a length within
// is not true.
func textAt(doc bson.Raw, path []string) (text string, ok bool) {
	last := len(path) - 1
	for _, key := range path[:last] {
		if doc, ok = doc.Lookup(key).DocumentOK(); !ok {
			return "", false
		}
	}
	return doc.Lookup(path[last]).StringValueOK()
}

// startedAgain reports whether a server's uptime shows a restart since the last sample: it fell, or
// it is shorter than the time since then and than it should be. A server that had lived for only
// seconds may be up as long again.
func (s *sampler) startedAgain(uptime time.Duration, at time.Time) bool {
	if uptime <= 0 || s.last.IsZero() {
		return false
	}
	since := at.Sub(s.last)
	return uptime+restartedBy < s.uptime || uptime <= since && uptime+restartedBy < s.uptime+since
}

// restarted notes that a server restarted, and identifies it again.
func (s *sampler) restarted(ctx context.Context, uptime time.Duration, at time.Time) {
	if s.startedAgain(uptime, at) {
		s.changed = true
		s.w.Note(recording.Note{Kind: recording.NoteGap, Source: s.m.address.name, From: s.moment(s.last),
			To:   s.moment(at),
			Text: "the server was restarted in between, and its counters started again"})
	}

	if s.changed {
		s.changed = false
		if status, err := s.l.ask(ctx, "serverStatus", leftOut...); err == nil {
			d := recording.Source{}
			identify(ctx, s.l, status, &d)
			s.desc = &d
		}
	}

	s.uptime, s.last = uptime, at
}

// Tell implements source.Sampler.
func (s *sampler) Tell(d *recording.Source) {
	if s.desc != nil {
		d.Version, d.Host, d.Facts = s.desc.Version, s.desc.Host, s.desc.Facts
	}
}

// toldMax bounds the notes about what cannot be told.
const toldMax = 100

// limit notes once what cannot be known.
func (s *sampler) limit(text string) {
	if text = clipped(text); !s.told[text] && len(s.told) < toldMax {
		s.told[text] = true
		s.w.Note(recording.Note{Kind: recording.NoteLimit, Source: s.m.address.name, Text: text})
	}
}
