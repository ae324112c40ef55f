package recognise

import (
	"bytes"
	"context"
	"regexp"
	"sync"
	"time"

	"plimsoll/internal/record/exposition"
	"plimsoll/internal/record/host"
	"plimsoll/internal/record/serverlog"
	"plimsoll/internal/record/source"
)

// An Engine is what an [Opener] needs to know about a storage engine.
type Engine struct {
	// Schemes are the schemes of its servers' addresses, without "://". Messages show the first
	// one. If there are none, running servers cannot be read.
	Schemes []string
	// Port is the default port of its servers.
	Port string
	// Open prepares the server at an address. Its errors contain no secrets of the address.
	Open func(ctx context.Context, address string, opt LiveOptions) (source.Source, error)
	// OwnCredentials means that the environment's credentials for exporters do not apply to its
	// servers.
	OwnCredentials bool
	// Captures are the kinds of captures that it writes about itself.
	Captures []Capture
	// Logs are the logs that its servers write.
	Logs []*serverlog.Format
	// Texts are texts about it that other programs print, such as its benchmark's. They may be
	// compressed.
	Texts []Text
	// Exporters are the exporters of its metrics; it may serve them itself.
	Exporters []exposition.Exporter
	// Looks recognise files that are often given by mistake. [ServerHere] in their text is replaced.
	Looks []Look
	// Programs are the names of its servers' processes, and Names are other names that users have for it.
	Programs, Names []string
	// DataFolder reports whether a folder is a server's data, which cannot be read, and which server's: its
	// process, 0 if unknown, and its port, "" if unknown. It is called for folders that are not captures.
	DataFolder func(dir string) (pid int, port string, is bool)
	// Configured matches the text of a server's configuration, and ConfiguredPort the port of its clients in it.
	Configured, ConfiguredPort *regexp.Regexp
}

// Configuration reports whether a text is a server's configuration, and the port of its clients, "" if it
// names none.
func (e *Engine) Configuration(head []byte) (port string, is bool) {
	if e.Configured == nil || !e.Configured.Match(head) {
		return "", false
	}
	if m := e.ConfiguredPort.FindSubmatch(head); m != nil {
		port = string(m[1])
	}
	return port, true
}

// ServerHere stands for the address of the engine's server on this machine in a [Look]'s text.
const ServerHere = "{{server}}"

// LiveOptions are the options for connecting.
type LiveOptions struct {
	// Insecure accepts any TLS certificate.
	Insecure bool
	// Getenv replaces os.Getenv, for credentials.
	Getenv func(string) string
	// Within bounds the wait for an answer; 0 means ten seconds.
	Within time.Duration
	// Room is for pages of metrics, as in [OpenOptions].
	Room *exposition.Room
}

// A Capture is a kind of file or folder that an engine writes about itself.
type Capture struct {
	// Name is its name for display: "MongoDB's diagnostic data".
	Name string
	// Holds is the content of such a folder, for messages ("a folder without ..."); "" if it is
	// never a folder.
	Holds string
	// Whole is what to give instead of a single compressed file of it.
	Whole string
	// Sniff reports whether path is such a capture. head is the first bytes of a file, nil for a
	// folder.
	Sniff func(path string, head []byte) bool
	// Open prepares the capture at path.
	Open func(path string) (source.Source, error)
}

// A Text is a kind of text file that a program printed about an engine.
type Text struct {
	Sniff func(head []byte) bool
	New   func(from source.File) source.Source
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

// Matches recognises a file by its first 4,096 bytes. The pattern is compiled on first use, because
// engines are declared at startup.
func Matches(pattern string) func([]byte) bool {
	re := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
	return func(head []byte) bool { return re().Match(head[:min(len(head), 4096)]) }
}

// An Opener recognises sources: general ones, and those of the engines it was created for. The zero Opener
// has no engines.
type Opener struct {
	live     map[string]*Engine // by scheme
	schemes  []string           // the first scheme of each engine
	ports    map[string]string  // the first scheme, by default port
	captures []Capture
	looks    []engineLook
	engines  []*Engine
	proc     string // where processes are listed
	logs     []*serverlog.Format

	texts     []Text
	exporters []exposition.Exporter

	clouds   map[string]Cloud // by scheme
	begins   []string         // prefixes of the addresses of clouds
	saved    []Saving
	describe host.Describer
}

// An engineLook is a look of an engine, whose text may name its server.
type engineLook struct {
	Look
	of *Engine
}

// A Cloud is a provider whose own metrics of volumes and machines can be read.
type Cloud interface {
	// Scheme returns the scheme of the addresses, without "://".
	Scheme() string
	// Begins returns the prefixes of the addresses: "aws://vol-".
	Begins() []string
	// Open prepares an address.
	Open(ctx context.Context, address string) (source.Source, error)
}

// A Saving is a cloud whose command-line tools print its metrics service's answers, which users save to
// files.
type Saving interface {
	IsSaved(head []byte) bool
	Saved(from source.File) source.Source
}

// A HostDescriber is a cloud that can describe this machine and its volumes: see [host.Describer].
type HostDescriber interface {
	DescribeHost(ctx context.Context, volumes []string) (facts map[string]string, notes []string)
}

// With adds clouds, whose addresses the Opener then opens, and which may describe this machine.
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

// Begins returns the prefixes of addresses, for completion: the schemes of engines and exporters,
// and more specific ones for clouds.
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
	o := &Opener{live: map[string]*Engine{}, ports: map[string]string{}, proc: procDir}
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
		o.texts = append(o.texts, e.Texts...)
		o.exporters = append(o.exporters, e.Exporters...)
		o.engines = append(o.engines, e)
		for _, l := range e.Looks {
			o.looks = append(o.looks, engineLook{l, e})
		}
		o.logs = append(o.logs, e.Logs...)
	}

	return o
}

// capture returns the kind of capture at a path, or nil if it is not a capture.
func (o *Opener) capture(path string, head []byte) *Capture {
	for i := range o.captures {
		if o.captures[i].Sniff(path, head) {
			return &o.captures[i]
		}
	}
	return nil
}
