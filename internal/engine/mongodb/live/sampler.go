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
	// collectedEvery is how often mongod collects by default
	// (diagnosticDataCollectionPeriodMillis).
	collectedEvery = time.Second
	// staleAfter is how old the newest document may become before serverStatus is used instead,
	// because the server has stopped collecting or collects seldom.
	staleAfter = 5 * time.Second
	// membersEvery is the time between two queries for the replica set's members, if
	// getDiagnosticData does not include them.
	membersEvery = 10 * time.Second
	// skewMax is how far the server's clock may be off before times are converted. Synchronised
	// clocks differ by milliseconds.
	skewMax = time.Second
	// skewEvery is the time between two measurements while the best one comes from a slow answer.
	skewEvery = 10 * time.Second
	// restartedBy is how much a server's uptime must fall to count as a restart.
	restartedBy = 2 * time.Second
)

// A sampler holds the state of one Read.
type sampler struct {
	m    *server
	l    *link
	w    recording.Writer
	opt  source.Options
	fine bool // the period is shorter than the server's own

	instance atomic.Pointer[string]
	readers  map[string]*ftdc.Documents // by kind of document
	tail     tail

	rich     bool          // getDiagnosticData is permitted
	start    time.Time     // of the newest document, by the server's clock
	since    time.Time     // when it was first received
	skew     time.Duration // added to the server's times
	trip     time.Duration // duration of the request that the skew was measured with
	skewAt   time.Time     // when it was last measured
	measured bool
	phase    time.Duration // of requests, after the start of the period

	last    time.Time // time of the last sample
	members time.Time // last queried
	uptime  time.Duration
	changed bool              // another server is being read, or it restarted
	desc    *recording.Source // after a restart; nil if unchanged since Open
	noted   map[string]bool
	batches []recording.Batch
}

func newSampler(m *server, l *link, w recording.Writer, opt source.Options) *sampler {
	s := &sampler{m: m, l: l, w: w, opt: opt, rich: true, noted: map[string]bool{}}
	s.fine = opt.Period > 0 && opt.Period < collectedEvery
	s.switchTo(m.address.hosts[0])
	return s
}

// switchTo sets the server that is read from now on.
func (s *sampler) switchTo(instance string) {
	s.instance.Store(&instance)
	s.readers = map[string]*ftdc.Documents{}
	s.tail = tail{}
	s.uptime, s.start, s.measured, s.trip = 0, time.Time{}, false, 0
}

// reader returns the reader for one kind of document.
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
	begun := time.Now()
	now := func() time.Time { return at.Add(time.Since(begun)) }
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
		err := s.readCollected(ctx, now, "")
		if err == nil || !errors.Is(err, errNotCollected) {
			return err
		}
		at = now()
	}

	// Either the server collects nothing, or it collects less often than the period.
	if err := s.readStatus(ctx, at); err != nil {
		return err
	}

	if s.rich && s.fine && at.Sub(s.since) >= collectedEvery {
		if err := s.readCollected(ctx, now, "mongodb_ss_"); err != nil && !errors.Is(err, errNotCollected) &&
			!errors.Is(err, source.ErrNothingNew) {
			return err
		}
	}

	return nil
}

// readCollected reads the document that the server collected last. It returns errNotCollected if
// there is none, now or permanently.
func (s *sampler) readCollected(ctx context.Context, now func() time.Time, without string) error {
	if !s.start.IsZero() && s.phase > 0 && !source.Pause(ctx, s.phase) {
		return ctx.Err()
	}

	answer, err := s.l.command(ctx, "getDiagnosticData")
	if err != nil {
		code := mongo.ErrorCodes(err)
		for _, c := range code {
			if c == codeUnauthorized || c == codeCommandNotFound {
				s.rich = false
				s.limit("this user may not run getDiagnosticData: disks, memory and pressure of the server's host are unknown (record the host there as well); the role clusterMonitor grants it")
				return errNotCollected
			}
		}
		return err
	}

	data, ok := answer.Lookup("data").DocumentOK()
	if !ok {
		return errNotCollected
	}

	s.host(data)
	read, err := s.reader("collected"+without, without).Read(data)
	if err != nil {
		return fmt.Errorf("getDiagnosticData: %w", err)
	}

	if read.Time.IsZero() {
		return errNotCollected
	}
	if read.Time.Equal(s.start) {
		return s.nothingNew(now())
	}

	at, err := s.toLocal(ctx, read.Time, now)
	if err != nil {
		return err
	}

	s.phased(read.Time)
	s.start, s.since = read.Time, now()

	// A clock that was set back must not make the recording's times go backwards.
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
			fmt.Sprintf("the server has collected no diagnostic data for more than %s (diagnosticDataCollectionEnabled, diagnosticDataCollectionPeriodMillis): serverStatus is read instead, which does not include disks",
				staleAfter))
		return errNotCollected
	}
	s.shift()
	return source.ErrNothingNew
}

// phased checks whether a document was missed. Servers collect on whole seconds and so does
// Plimsoll; a request in the middle of a second always gets the newest document.
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

// shift moves requests to another part of the second.
func (s *sampler) shift() {
	if s.phase > 0 {
		// Steps of a quarter second that never return to the whole second.
		s.phase = (s.phase+collectedEvery/4-1)%(collectedEvery-collectedEvery/4) + 1
	}
}

// toLocal converts a time on the server's clock to this machine's.
func (s *sampler) toLocal(ctx context.Context, start time.Time, now func() time.Time) (time.Time, error) {
	at := start.Add(s.skew)
	settled := s.trip <= skewMax || now().Sub(s.skewAt) < skewEvery

	// The last measurement holds as long as the server's times advance and stay plausible.
	if s.measured && settled && start.After(s.start) && at.Before(now().Add(skewMax)) {
		return at, nil
	}

	before := now()
	who, err := s.l.command(ctx, "hello")
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

// measure records a measurement of the server's clock, read at some time between before and after.
// A slow answer, as in a stall, is imprecise, because the skew may be off by half its duration. So a
// measurement is replaced only by a faster one, or by one that contradicts it.
func (s *sampler) measure(before, after, theirs time.Time) {
	trip := after.Sub(before)
	skew := before.Add(trip / 2).Sub(theirs)
	possible := skewMax + trip/2
	s.skewAt = after

	if s.measured && trip >= s.trip && (skew-s.skew).Abs() < possible {
		return
	}

	s.trip = trip

	// A skew within the error of the measurement is treated as none.
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

// readStatus reads serverStatus and, regularly, the members of the replica set.
func (s *sampler) readStatus(ctx context.Context, at time.Time) error {
	answer, err := s.l.command(ctx, "serverStatus", leftOut...)
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

	// getDiagnosticData already includes the members.
	if (s.rich && s.fine) || s.m.router || at.Sub(s.members) < membersEvery {
		return nil
	}

	s.members = at
	members, err := s.l.command(ctx, "replSetGetStatus", bson.E{Key: "initialSync", Value: 0})
	if err != nil {
		if refused(err) {
			s.limit("this user may not run replSetGetStatus: members and their lag are unknown; the role clusterMonitor grants it")
		}
		return nil // it is standalone or denies it
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
					Text: fmt.Sprintf("the primary was %s and is now %s", was, name)})
				s.changed = true
			}
			s.switchTo(name)
		}

		return
	}
}

// textAt looks up one key at a time. With several keys, the driver's lookup panics if an inner
// length is wrong.
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
// it is shorter than the time since that sample although it should be longer. The second test is
// for a server that had been up for only seconds and may be up that long again.
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
			Text: "the server restarted in between, and its counters were reset"})
	}

	if s.changed {
		s.changed = false
		if status, err := s.l.command(ctx, "serverStatus", leftOut...); err == nil {
			d := recording.Source{}
			identify(ctx, s.l, status, &d)
			s.desc = &d
		}
	}

	s.uptime, s.last = uptime, at
}

// AddFacts implements source.Sampler.
func (s *sampler) AddFacts(d *recording.Source) {
	if s.desc != nil {
		d.Version, d.Host, d.Facts = s.desc.Version, s.desc.Host, s.desc.Facts
	}
}

// notedMax limits the number of notes about missing data.
const notedMax = 100

// limit notes, once for each text, what cannot be known.
func (s *sampler) limit(text string) {
	if text = clipped(text); !s.noted[text] && len(s.noted) < notedMax {
		s.noted[text] = true
		s.w.Note(recording.Note{Kind: recording.NoteLimit, Source: s.m.address.name, Text: text})
	}
}
