package sources

import (
	"bytes"
	"context"
	"regexp"

	"plimsoll/internal/record/exposition"
	"plimsoll/internal/record/source"
)

// Live is an engine that running servers are read from, by addresses of its own.
type Live interface {
	// Schemes are those of its addresses, without "://". The first is the one that people are told.
	Schemes() []string
	// OpenLive prepares the server at an address. Errors have no secret of the address in them.
	OpenLive(ctx context.Context, address string, opt LiveOptions) (source.Source, error)
}

// LiveOptions say how to connect.
type LiveOptions struct {
	// Insecure accepts any TLS certificate.
	Insecure bool
	// Getenv replaces os.Getenv, for credentials.
	Getenv func(string) string
}

// Capturing is an engine that writes captures of its own statistics.
type Capturing interface {
	Captures() []Capture
}

// A Capture is a kind of file or folder that an engine writes about itself.
type Capture struct {
	// Name is what it is called: "MongoDB's diagnostic data".
	Name string
	// Holds is what makes a folder one, after "a folder without".
	Holds string
	// Whole is what to give where one file of it is compressed.
	Whole string
	// Sniff reports whether there is one at path. head are a file's first bytes, nil for a folder.
	Sniff func(path string, head []byte) bool
	// Open prepares the one at path.
	Open func(path string) (source.Source, error)
}

// Recognizing is an engine that has files which people give by mistake.
type Recognizing interface {
	Looks() []Look
}

// A Look is how a kind of file that is no source shows itself, and what to give instead.
type Look struct {
	Is   func(head []byte) bool
	Text string // after the file's name
}

// Starts recognizes a file by how it begins.
func Starts(magic string) func([]byte) bool {
	return func(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }
}

// Matches recognizes a file by its first 4,096 bytes.
func Matches(pattern string) func([]byte) bool {
	re := regexp.MustCompile(pattern)
	return func(head []byte) bool { return re.Match(head[:min(len(head), 4096)]) }
}

// Exporting is an engine that has exporters, or shows metrics itself.
type Exporting interface {
	Exporters() []exposition.Exporter
}

// An Opener recognizes sources: those that any machine has, and those of the engines it was made
// for. The zero Opener knows no engine.
type Opener struct {
	live     map[string]Live // by scheme
	schemes  []string        // the first of each engine
	captures []Capture
	looks    []Look

	exporters []exposition.Exporter
}

// For makes an Opener that knows some engines, as far as they are [Live], [Capturing],
// [Exporting] or [Recognizing].
func For[E any](engines []E) *Opener {
	o := &Opener{live: map[string]Live{}}
	for _, e := range engines {
		if l, ok := any(e).(Live); ok {
			o.schemes = append(o.schemes, l.Schemes()[0])
			for _, s := range l.Schemes() {
				o.live[s] = l
			}
		}
		if c, ok := any(e).(Capturing); ok {
			o.captures = append(o.captures, c.Captures()...)
		}
		if x, ok := any(e).(Exporting); ok {
			o.exporters = append(o.exporters, x.Exporters()...)
		}
		if r, ok := any(e).(Recognizing); ok {
			o.looks = append(o.looks, r.Looks()...)
		}
	}
	return o
}

// capture is the kind of capture at a path, nil if it is none.
func (o *Opener) capture(path string, head []byte) *Capture {
	for i := range o.captures {
		if o.captures[i].Sniff(path, head) {
			return &o.captures[i]
		}
	}
	return nil
}
