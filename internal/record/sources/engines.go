package sources

import (
	"bytes"
	"context"
	"regexp"
	"sync"
	"time"

	"plimsoll/internal/record/exposition"
	"plimsoll/internal/record/host"
	"plimsoll/internal/record/source"
)

// An Engine is what an [Opener] knows of a storage engine.
type Engine struct {
	// Schemes are those of its servers' addresses, without "://". The first is the one in messages.
	// None: its running servers cannot be read.
	Schemes []string
	// Port is where its servers listen by default.
	Port string
	// Open prepares the server at an address. Errors contain no secrets of the address.
	Open func(ctx context.Context, address string, opt LiveOptions) (source.Source, error)
	// OwnCredentials says that those in the environment which the exporters take are not its servers'.
	OwnCredentials bool
	// Captures are the kinds of captures that it writes of its own statistics.
	Captures []Capture
	// Exporters are those of its metrics; it may serve them itself.
	Exporters []exposition.Exporter
	// Looks recognise files that are often given by mistake.
	Looks []Look
}

// LiveOptions are the options for connecting.
type LiveOptions struct {
	// Insecure accepts any TLS certificate.
	Insecure bool
	// Getenv replaces os.Getenv, for credentials.
	Getenv func(string) string
	// Within is how long to wait for an answer; 0 means ten seconds.
	Within time.Duration
	// Room is for pages of metrics, as in [OpenOptions].
	Room *exposition.Room
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

// A Look recognises a kind of file that is not a source, and says what to give instead.
type Look struct {
	Is   func(head []byte) bool
	Text string // after the file's name
}

// Starts recognises a file by its prefix.
func Starts(magic string) func([]byte) bool {
	return func(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }
}

// Matches recognises a file by its first 4,096 bytes. The pattern is compiled when it is needed:
// engines are declared before the program starts.
func Matches(pattern string) func([]byte) bool {
	re := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
	return func(head []byte) bool { return re().Match(head[:min(len(head), 4096)]) }
}

// An Opener recognises sources: those of any machine, and those of the engines it was made for. The
// zero Opener knows no engine.
type Opener struct {
	live     map[string]*Engine // by scheme
	schemes  []string           // the first of each engine
	ports    map[string]string  // the same by the default port
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

// For returns an Opener for some engines.
func For(engines []Engine) *Opener {
	o := &Opener{live: map[string]*Engine{}, ports: map[string]string{}}
	for i := range engines {
		e := &engines[i]
		if len(e.Schemes) > 0 {
			o.schemes = append(o.schemes, e.Schemes[0])
			o.ports[e.Port] = e.Schemes[0]
		}
		for _, s := range e.Schemes {
			o.live[s] = e
		}
		o.captures = append(o.captures, e.Captures...)
		o.exporters = append(o.exporters, e.Exporters...)
		o.looks = append(o.looks, e.Looks...)
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
