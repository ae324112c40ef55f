package scenario

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"sync"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/yamltree"
	"plimsoll/internal/model/catalog"
)

// A Language defines what scenarios may contain: the format, and the engines that they may name.
type Language struct {
	able   []*Engine // that scenarios may name
	known  *catalog.Catalog
	schema func() []byte
}

// NewLanguage makes the language for some engines and for a catalogue's machines and prices. A nil
// catalogue means the built-in one, without a user's imports.
func NewLanguage(able []*Engine, known *catalog.Catalog) *Language {
	l := &Language{able: able, known: known}
	l.schema = sync.OnceValue(l.makeSchema)
	return l
}

// keys returns the names of the engines.
func (l *Language) keys() []string {
	out := make([]string, len(l.able))
	for i, e := range l.able {
		out[i] = e.Key
	}
	return out
}

// clusters are the keys of the engines that have members.
func (l *Language) clusters() []string {
	var out []string
	for _, e := range l.able {
		if e.Cluster != nil {
			out = append(out, e.Key)
		}
	}
	return out
}

// Load reads a scenario from a file and applies assignments. Files that it names, such as a
// recorded rate, are opened relative to it. An error in the content is of type [Problems].
func (l *Language) Load(path string, sets []string) (*Scenario, error) {
	f, err := l.Open(path)
	if err != nil {
		return nil, err
	}
	return f.Parse(sets)
}

// Open reads a file for [File.Parse], up to the largest size of a scenario.
func (l *Language) Open(path string) (*File, error) {
	text, err := ReadText(path)
	if err != nil {
		return nil, err
	}
	return l.NewFile(path, text), nil
}

// ReadText reads a scenario's file, up to the largest size of a scenario.
func ReadText(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	defer f.Close()
	// One byte more than allowed, so that the parser can distinguish an oversized file from one at the
	// limit.
	text, err := io.ReadAll(io.LimitReader(f, yamltree.BytesMax+1))
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	return text, nil
}

// NewFile returns a file whose text another process has read.
func (l *Language) NewFile(path string, text []byte) *File { return &File{l, path, text} }

// Parse reads a scenario from the named file's text and applies assignments
// ("volumes.data.iops=16000"). It opens no other file. An error in the content is of type
// [Problems].
func (l *Language) Parse(name string, text []byte, sets []string) (*Scenario, error) {
	return l.parse(name, text, sets, nil, nil)
}

// engines decodes all engines in the scenario, in the language's order; the checker refuses more
// than one.
func (l *Language) engines(d *yamltree.Decoder, chosen *[]Chosen,
	ignored *inputerror.List) func(*yamltree.Node, reflect.Value, string) bool {
	return func(n *yamltree.Node, v reflect.Value, field string) bool {
		if v.Type() != reflect.TypeFor[Chosen]() {
			return false
		}

		keys := l.keys()
		if !d.IsMapping(n, keys, field) {
			return true
		}

		configs := map[string]Config{}
		for _, e := range n.Entries {
			i := slices.Index(keys, e.Key)
			if i < 0 {
				d.Unknown(e, keys, field)
				continue
			}
			cfg := l.able[i].NewConfig()
			t := newTranslator(l.able[i], cfg)
			t.settings(e.Value)
			d.Problems = append(d.Problems, t.problems...)
			*ignored = append(*ignored, t.ignored...)
			d.Decode(e.Value, reflect.ValueOf(cfg).Elem(), yamltree.Join(field, e.Key))
			configs[e.Key] = cfg
		}

		// Use the language's order, not the file's, so that messages do not depend on the order of keys
		// in a file.
		for i, key := range keys {
			if cfg, ok := configs[key]; ok {
				*chosen = append(*chosen, Chosen{l.able[i], cfg})
			}
		}

		return true
	}
}

// MarshalTree returns the engine's part of a scenario.
func (c Chosen) MarshalTree() *yamltree.Node {
	if c.Engine == nil {
		return &yamltree.Node{}
	}
	return &yamltree.Node{Kind: yamltree.Mapping,
		Entries: []yamltree.Entry{{Key: c.Name(), Value: yamltree.Encode(c.Config)}}}
}
