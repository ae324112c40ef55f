// Package saved reads documents that users saved from a shell: db.serverStatus() and
// getDiagnosticData, one or several, as JSON, extended JSON, or in the JavaScript that mongo and
// mongosh print. Each is one sample with the names of a capture.
//
// One serverStatus has totals since the server started, and is judged like a single page of metrics.
package saved

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"go.mongodb.org/mongo-driver/v2/bson"

	"plimsoll/internal/engine/mongodb/ftdc"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

const (
	// bytesMax bounds a file: about a thousand documents.
	bytesMax     = 64 << 20
	documentsMax = 100_000
)

var (
	begins = regexp.MustCompile(`(?m)(?:^|[>)\]] ?)\s*[{\[]`)
	// Fields that only serverStatus and getDiagnosticData have, in each spelling.
	fields = regexp.MustCompile(`["']?(?:opcounters|uptimeMillis|wiredTiger|serverStatus|localTime)["']?\s*:`)
)

// Sniff reports whether a text is such a document. A log of mongod has other documents, one per line.
func Sniff(head []byte) bool {
	// The plain search comes first, because most files are something else.
	if !bytes.Contains(head, []byte("uptimeMillis")) && !bytes.Contains(head, []byte("serverStatus")) {
		return false
	}
	at := begins.FindIndex(head)
	return at != nil && len(fields.FindAll(head[at[0]:], 3)) >= 2 &&
		!bytes.Contains(head, []byte(`"ctx":`)) && !bytes.Contains(head, []byte(`"metric":`))
}

// New prepares a file, which is read later.
func New(from source.File) source.Source {
	return &file{source.OfFile(from, recording.Source{Kind: "serverStatus", Engine: "mongodb"})}
}

type file struct{ *source.RecordedFile }

// A sample is one document.
type sample struct {
	at  time.Time
	doc []byte
}

// Read implements source.Source.
func (f *file) Read(ctx context.Context, writer recording.Writer, opt source.Options) error {
	all, damage, err := f.samples()
	if err != nil {
		return fmt.Errorf("MongoDB status %s: %w", f.Path, err)
	}
	if len(all) == 0 {
		return fmt.Errorf("MongoDB status %s: %w", f.Path,
			cmp.Or(damage, errors.New("no serverStatus: save it with: mongosh --quiet --eval 'EJSON.stringify(db.serverStatus())'")))
	}

	meta := ftdc.Identify(all[len(all)-1].doc)
	var more []labels.Label
	if meta.Host != "" {
		more = append(more, labels.Label{Name: "instance", Value: meta.Host})
	}

	described := f.Describe()
	described.Version, described.Host, described.Facts = meta.Version, hostOnly(meta.Host), meta.Facts
	docs := ftdc.NewDocuments(opt.Want, more...)
	for _, s := range all {
		if err := ctx.Err(); err != nil {
			return err
		}

		at := s.at.Add(opt.ClockOffset)
		if !opt.From.IsZero() && at.Before(opt.From) || !opt.To.IsZero() && at.After(opt.To) {
			continue
		}

		read, err := docs.Read(s.doc)
		if err != nil {
			damage = cmp.Or(damage, err)
			continue
		}
		b := &recording.Batch{TimesMs: []int64{at.UnixMilli()}, Columns: read.Columns}
		if read.Uptime > 0 {
			// A single document is judged as totals since the start of the process.
			b.Columns = append(b.Columns, recording.Column{Labels: startLabels(more),
				Values: []float64{float64(at.Add(-read.Uptime).UnixMilli()) / 1000}})
		}
		if err := writer.Append(ctx, b); err != nil {
			return err
		}

		if described.Samples++; described.Samples == 1 {
			described.From = at.UTC()
		} else if step := at.Sub(described.To); described.Period == 0 || step < described.Period {
			described.Period = step
		}
		described.To = at.UTC()
	}

	f.SetDescription(described)
	writer.Source(described)
	if damage != nil {
		writer.Note(recording.Note{Kind: recording.NoteDamage, Source: f.Path, File: f.Path,
			Text: damage.Error()})
	}

	return nil
}

func startLabels(more []labels.Label) labels.Labels {
	b := labels.NewBuilder(labels.FromStrings(labels.MetricName, "process_start_time_seconds"))
	for _, l := range more {
		b.Set(l.Name, l.Value)
	}
	return b.Labels()
}

// hostOnly is a host's name without the port of the server.
func hostOnly(host string) string {
	name, _, _ := strings.Cut(host, ":")
	return name
}

// samples returns the documents in order of time, and the first damage.
func (f *file) samples() (all []sample, damage, err error) {
	in, err := f.Open()
	if err != nil {
		return nil, nil, err
	}

	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, bytesMax+1))
	switch {
	case err != nil && len(text) == 0:
		return nil, nil, err
	case len(text) > bytesMax:
		return nil, nil, fmt.Errorf("larger than %d MiB: split it", bytesMax>>20)
	}

	p := &parser{text: string(text)}
	// Text between documents, such as the shell's prompt, is skipped.
	for len(all) < documentsMax && p.at < len(p.text) {
		at := begins.FindStringIndex(p.text[p.at:])
		if at == nil {
			break
		}

		p.at += at[1] - 1
		p.fields = 0
		v, err := p.value(0)
		if err != nil {
			damage = cmp.Or(damage, fmt.Errorf("skipped a document at line %d: %w", p.line(), err))
			// Continue one byte later, because the document may contain a complete one.
			p.at++
			continue
		}

		list, ok := v.(bson.A)
		if !ok {
			list = bson.A{v}
		}
		for _, x := range list {
			if s, ok := f.sample(x); ok {
				all = append(all, s)
			}
		}
	}

	// Files are often appended to or joined, so order and duplicates are not assumed.
	slices.SortStableFunc(all, func(a, b sample) int { return a.at.Compare(b.at) })
	all = slices.CompactFunc(all, func(a, b sample) bool { return a.at.UnixMilli() == b.at.UnixMilli() })
	return all, damage, nil
}

// sample converts a document to the form of a capture.
func (f *file) sample(v any) (s sample, ok bool) {
	d, ok := v.(bson.D)
	if !ok {
		return s, false
	}

	// getDiagnosticData has its document under data.
	if data, is := field(d, "data").(bson.D); is {
		d = data
	}
	if _, is := field(d, "serverStatus").(bson.D); !is {
		if field(d, "opcounters") == nil && field(d, "uptimeMillis") == nil {
			return s, false
		}
		d = bson.D{{Key: "serverStatus", Value: d}}
	}

	doc, err := bson.Marshal(d)
	if err != nil || len(doc) > ftdc.MaxDocument {
		return s, false
	}

	s = sample{at: f.Modified, doc: doc}
	status, _ := field(d, "serverStatus").(bson.D)
	for _, at := range []any{field(d, "start"), field(status, "localTime")} {
		if at, ok := at.(bson.DateTime); ok && at > 0 && int64(at) <= recording.TimeMaxMs {
			s.at = at.Time()
			break
		}
	}

	return s, s.at.UnixMilli() > 0
}
