package events

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"plimsoll/internal/base/safefile"
)

// Version is the version of the file format: a gzip stream of JSON, with one line for the header
// and one line for each event.
const Version = 1

// EventsMax is the maximum number of events in a file.
const EventsMax = 2_000_000

// line is one event; exactly one of its fields is set.
type line struct {
	Call    *Call    `json:"call,omitempty"`
	Wait    *Wait    `json:"wait,omitempty"`
	Request *Request `json:"request,omitempty"`
	Commit  *Commit  `json:"commit,omitempty"`
	Handle  *Handle  `json:"handle,omitempty"`
	File    *File    `json:"used,omitempty"`
}

// Save writes a trace.
func Save(w io.Writer, h *Header, b *Batch) error {
	z := gzip.NewWriter(w)
	enc := json.NewEncoder(z)
	h.Version = Version

	// The first error ends it: a full disk fails every later write with the same text.
	err := enc.Encode(h)
	put := func(l line) {
		if err == nil {
			err = enc.Encode(l)
		}
	}

	for i := range b.Files {
		put(line{File: &b.Files[i]})
	}

	for i := range b.Commits {
		put(line{Commit: &b.Commits[i]})
	}

	for i := range b.Handles {
		put(line{Handle: &b.Handles[i]})
	}

	for i := range b.Requests {
		put(line{Request: &b.Requests[i]})
	}

	for i := range b.Waits {
		put(line{Wait: &b.Waits[i]})
	}

	for i := range b.Calls {
		put(line{Call: &b.Calls[i]})
	}

	return cmp.Or(err, z.Close())
}

// SaveFile writes a trace to a file, either completely or not at all. An existing file is an error, unless
// replace is set.
func SaveFile(path string, h *Header, b *Batch, replace bool) error {
	f, err := safefile.Create(path, safefile.Options{New: !replace})
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	if err := cmp.Or(Save(out, h, b), out.Flush()); err != nil {
		return errors.Join(err, f.Discard())
	}
	return f.Commit()
}

// Load reads what [Save] wrote.
func Load(r io.Reader) (*Header, *Batch, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, nil, fmt.Errorf("not a saved trace: %w", err)
	}

	dec := json.NewDecoder(z)
	h, b := &Header{}, &Batch{}
	if err := dec.Decode(h); err != nil || h.Version == 0 {
		return nil, nil, errors.Join(errors.New("not a saved trace"), err)
	}

	if h.Version != Version {
		return nil, nil, fmt.Errorf("saved trace has version %d: this program reads version %d",
			h.Version, Version)
	}

	for n := 0; ; n++ {
		var l line
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			return h, b, nil
		} else if err != nil {
			return nil, nil, fmt.Errorf("saved trace is damaged after %d events: %w", n, err)
		}
		// The limit protects against files that would exhaust memory.
		if n == EventsMax {
			return nil, nil, fmt.Errorf("saved trace has more than %d events", EventsMax)
		}
		b.add(&l)
	}
}

func (b *Batch) add(l *line) {
	switch {
	case l.Call != nil:
		b.Calls = append(b.Calls, *l.Call)
	case l.Wait != nil:
		b.Waits = append(b.Waits, *l.Wait)
	case l.Request != nil:
		b.Requests = append(b.Requests, *l.Request)
	case l.Commit != nil:
		b.Commits = append(b.Commits, *l.Commit)
	case l.Handle != nil:
		b.Handles = append(b.Handles, *l.Handle)
	case l.File != nil:
		b.Files = append(b.Files, *l.File)
	}
}

// LoadFile reads a saved trace.
func LoadFile(path string) (*Header, *Batch, error) {
	f, err := safefile.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	h, b, err := Load(bufio.NewReader(f))
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return h, b, err
}
