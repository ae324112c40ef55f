package scenario

import (
	"fmt"
	"io"
	"os"
	"sync"

	"plimsoll/internal/model/engine"
)

// A Language is what scenarios may say: the format, and the engines that they may name.
type Language struct {
	all     []engine.Engine
	engines []Engine // those of all that scenarios can name
	schema  func() []byte
}

// NewLanguage makes the language of some engines.
func NewLanguage(all []engine.Engine) *Language {
	l := &Language{all: all, engines: engine.Facets[Engine](all)}
	l.schema = sync.OnceValue(l.makeSchema)
	return l
}

// keys are the engines' names.
func (l *Language) keys() []string {
	out := make([]string, len(l.engines))
	for i, e := range l.engines {
		out[i] = e.Traits().Key
	}
	return out
}

// clusters are the keys of the engines that have members.
func (l *Language) clusters() []string {
	var out []string
	for _, e := range l.engines {
		if _, ok := e.NewConfig().(Cluster); ok {
			out = append(out, e.Traits().Key)
		}
	}
	return out
}

// Load reads a scenario from a file, with assignments over it. Files that it names, a recorded rate, are
// looked for beside it. An error of what is written is of type [Problems].
func (l *Language) Load(path string, sets []string) (*Scenario, error) {
	f, err := l.Open(path)
	if err != nil {
		return nil, err
	}
	return f.Parse(sets)
}

// LoadVolumes reads what is to be mounted: a scenario of which only volumes and host matter, or a lone volume:
// an order by itself ("type: gp3"), with the instance it is attached to if that matters ("instance: m5.large"). A lone
// volume becomes a scenario's volume called data, and assignments over it need not say so: "iops=4000".
// Problems are told where they stand in the file, by its own keys.
func (l *Language) LoadVolumes(path string, sets []string) (*Scenario, error) {
	f, err := l.Open(path)
	if err != nil {
		return nil, err
	}
	return f.ParseVolumes(sets)
}

// Open reads a file for [File.Parse], no more of it than a scenario may have.
func (l *Language) Open(path string) (*File, error) {
	text, err := ReadText(path)
	if err != nil {
		return nil, err
	}
	return l.NewFile(path, text), nil
}

// ReadText reads a scenario's file, no more of it than a scenario may have.
func ReadText(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, fileBytesMax+1))
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	return text, nil
}

// NewFile is a file whose text was read before, by another process.
func (l *Language) NewFile(path string, text []byte) *File { return &File{l, path, text} }

// Parse reads a scenario from text that came from the named file, with assignments over it
// ("volumes.data.iops=16000"). It opens no other file. An error of what is written is of type
// [Problems].
func (l *Language) Parse(name string, text []byte, sets []string) (*Scenario, error) {
	return l.parse(name, text, sets, nil, nil)
}
