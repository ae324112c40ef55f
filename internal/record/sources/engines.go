package sources

import (
	"bytes"
	"context"
	"regexp"
	"time"

	"plimsoll/internal/record/exposition"
	"plimsoll/internal/record/host"
	"plimsoll/internal/record/source"
)

// Live is an engine whose running servers can be read, at addresses with its own schemes.
type Live interface {
	// Schemes are those of its addresses, without "://". The first is the one in messages.
	Schemes() []string
	// Port is where its servers listen by default.
	Port() string
	// OpenLive prepares the server at an address. Errors contain no secrets of the address.
	OpenLive(ctx context.Context, address string, opt LiveOptions) (source.Source, error)
}

// LiveOptions are the options for connecting.
type LiveOptions struct {
	// Insecure accepts any TLS certificate.
	Insecure bool
	// Getenv replaces os.Getenv, for credentials.
	Getenv func(string) string
	// Within is how long to wait for an answer; 0 means ten seconds.
	Within time.Duration
}

// Capturing is an engine that writes captures of its own statistics.
type Capturing interface {
	Captures() []Capture
}

// A Capture is a kind of file or folder that an engine writes about itself.
type Capture struct {
	// Name is its name for display: "MongoDB's diagnostic data".
	Name string
	// Holds is what such a folder contains, for "a folder without"; "" if it is never a folder.
	Holds string
	// Whole is what to give instead of a single compressed file of it.
	Whole string
	// Sniff reports whether path is such a capture. head are a file's first bytes, nil for a
	// folder.
	Sniff func(path string, head []byte) bool
	// Open prepares the one at path.
	Open func(path string) (source.Source, error)
}

// Recognizing is an engine with files that are often given by mistake.
type Recognizing interface {
	Looks() []Look
}

// A Look recognises a kind of file that is not a source, and says what to give instead.
type Look struct {
	Is   func(head []byte) bool
	Text string // after the file's name
}

// Starts recognises a file by its prefix.
func Starts(magic string) func([]byte) bool {
	return func(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }
}

// Matches recognises a file by its first 4,096 bytes.
func Matches(pattern string) func([]byte) bool {
	re := regexp.MustCompile(pattern)
	return func(head []byte) bool { return re.Match(head[:min(len(head), 4096)]) }
}

// Exporting is an engine that has exporters, or serves metrics itself.
type Exporting interface {
	Exporters() []exposition.Exporter
}

// An Opener recognises sources: those of any machine, and those of the engines it was made for. The
// zero Opener knows no engine.
type Opener struct {
	live     map[string]Live   // by scheme
	schemes  []string          // the first of each engine
	ports    map[string]string // the same by the default port
	captures []Capture
	looks    []Look

	exporters []exposition.Exporter

	clouds   map[string]Cloud // by scheme
	begins   []string         // of clouds' addresses
	saved    []Saving
	describe host.Describer
}

// A Cloud is a provider whose own metrics of volumes and machines can be read.
type Cloud interface {
	// Scheme is that of its addresses, without "://".
	Scheme() string
	// Begins are the ways in which its addresses begin: "aws://vol-".
	Begins() []string
	// Open prepares an address.
	Open(ctx context.Context, address string) (source.Source, error)
}

// A Saving is a cloud whose tools print answers of its metrics service, which people save.
type Saving interface {
	IsSaved(head []byte) bool
	Saved(from source.File) source.Source
}

// A HostDescriber is a cloud that can be asked what this machine and its volumes are: see
// [host.Describer].
type HostDescriber interface {
	DescribeHost(ctx context.Context, volumes []string) (facts map[string]string, notes []string)
}

// With lets an Opener open addresses of clouds, and ask them about this machine.
func (o *Opener) With(clouds ...Cloud) *Opener {
	o.clouds = map[string]Cloud{}
	for _, c := range clouds {
		o.schemes = append(o.schemes, c.Scheme())
		o.clouds[c.Scheme()] = c
		o.begins = append(o.begins, c.Begins()...)
		if s, ok := c.(Saving); ok {
			o.saved = append(o.saved, s)
		}
		if d, ok := c.(HostDescriber); ok {
			o.describe = d.DescribeHost
		}
	}
	return o
}

// Begins are the ways in which addresses begin, for completion: of engines and exporters by their
// schemes, of clouds also by what they name.
func (o *Opener) Begins() []string {
	out := []string{"http://", "https://"}
	for _, s := range o.schemes {
		if o.clouds[s] == nil {
			out = append(out, s+"://")
		}
	}
	return append(out, o.begins...)
}

// For returns an Opener for the engines that are [Live], [Capturing], [Exporting] or [Recognizing].
func For[E any](engines []E) *Opener {
	o := &Opener{live: map[string]Live{}, ports: map[string]string{}}
	for _, e := range engines {
		if l, ok := any(e).(Live); ok {
			o.schemes = append(o.schemes, l.Schemes()[0])
			o.ports[l.Port()] = l.Schemes()[0]
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

// capture is the kind of capture at a path, nil if it is not a capture.
func (o *Opener) capture(path string, head []byte) *Capture {
	for i := range o.captures {
		if o.captures[i].Sniff(path, head) {
			return &o.captures[i]
		}
	}
	return nil
}
