//go:build linux

package probe

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"plimsoll/internal/base/diagnostics"
	"plimsoll/internal/base/units"
)

// A position is a line and a column, both from 1.
type position struct{ line, column int }

// A parsing gathers what is wrong with a profile, each with its place.
type parsing struct {
	name   string
	places map[string]position
	found  []string
}

// Parse reads a profile. The error tells every problem with file, line and column.
func Parse(name string, text []byte) (profile *Profile, err error) {
	ps := &parsing{name: name, places: map[string]position{}}
	defer func() {
		// The library is not ours, and a typing error must not end the program.
		if r := recover(); r != nil {
			profile, err = nil, fmt.Errorf("%s:1:1: cannot be read as YAML (%v)", name, r)
		}
	}()
	body, err := ps.body(text)
	if err != nil {
		return nil, err
	}
	p := &Profile{Name: name, Stage: units.Duration(10e9)}
	ps.mapping(body, "", map[string]func(ast.Node, string){
		"about":    ps.word(&p.About),
		"measured": ps.word(&p.Measured),
		"stage":    ps.text(&p.Stage),
		"criterion": func(n ast.Node, at string) {
			p.Criterion = &Criterion{}
			ps.criterion(n, at, p.Criterion)
		},
		"streams": func(n ast.Node, at string) { p.Streams = ps.streams(n, at) },
	})
	if len(ps.found) == 0 {
		for _, x := range p.Check() {
			ps.add(x.Field, "%s", diagnostics.Problem{Text: x.Text}.Error())
		}
	}
	if len(ps.found) > 0 {
		return nil, errors.New(strings.Join(ps.found, "\n"))
	}
	return p, nil
}

// body gives the document's top, of text that is safe to parse.
func (ps *parsing) body(text []byte) (ast.Node, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	switch {
	case len(text) > profileBytesMax:
		return nil, fmt.Errorf("%s: more than the %d KiB that a profile may have", ps.name, profileBytesMax>>10)
	case !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0:
		return nil, fmt.Errorf("%s: no text in UTF-8: save the file in that encoding", ps.name)
	}
	tokens := lexer.Tokenize(string(text))
	refused := []token.Type{token.AnchorType, token.AliasType, token.MergeKeyType, token.TagType, token.MappingKeyType, token.DirectiveType}
	depth, line, dashes := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, dashes = t.Position.Line, 0
		}
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth--
		case token.SequenceEntryType:
			dashes++
		}
		if slices.Contains(refused, t.Type) || depth > nestingMax || dashes > nestingMax {
			return nil, fmt.Errorf("%s:%d:%d: %q is not taken here: write it out plainly", ps.name, t.Position.Line, t.Position.Column, t.Value)
		}
	}
	file, err := parser.Parse(tokens, 0)
	var e yaml.Error
	if errors.As(err, &e) && e.GetToken() != nil {
		at := e.GetToken().Position
		return nil, fmt.Errorf("%s:%d:%d: %s", ps.name, at.Line, at.Column, e.GetMessage())
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ps.name, err)
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return nil, fmt.Errorf("%s:1:1: a profile is one document: measured, stage, streams", ps.name)
	}
	return file.Docs[0].Body, nil
}

// nestingMax is how deep a profile's text may be nested; its own parts are three deep.
const nestingMax = 8

func (ps *parsing) add(field, format string, args ...any) {
	at := position{1, 1}
	for f := field; f != ""; {
		if p, ok := ps.places[f]; ok {
			at = p
			break
		}
		i := strings.LastIndexByte(f, '.')
		f = f[:max(i, 0)]
	}
	text := fmt.Sprintf(format, args...)
	if field != "" {
		text = field + ": " + text
	}
	ps.found = append(ps.found, fmt.Sprintf("%s:%d:%d: %s", ps.name, at.line, at.column, text))
}

func (ps *parsing) place(field string, n ast.Node) {
	if t := n.GetToken(); t != nil && t.Position != nil {
		ps.places[field] = position{max(t.Position.Line, 1), max(t.Position.Column, 1)}
	}
}

// entries are a mapping's keys and values.
func (ps *parsing) entries(n ast.Node, field string) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	ps.add(field, "wants keys and values")
	return nil
}

func join(parent, key string) string {
	if parent == "" {
		return key
	}
	return parent + "." + key
}

func (ps *parsing) each(n ast.Node, field string, take func(key ast.MapKeyNode, field string, value ast.Node)) {
	seen := map[string]bool{}
	for _, e := range ps.entries(n, field) {
		key := e.Key.GetToken().Value
		path := join(field, key)
		ps.place(path, e.Key)
		if seen[key] {
			ps.add(path, "stands here twice")
			continue
		}
		seen[key] = true
		if e.Value == nil {
			ps.add(path, "has no value")
			continue
		}
		ps.place(path, e.Value)
		if m, ok := e.Value.(*ast.MappingValueNode); ok {
			ps.place(path, m.Key)
		}
		take(e.Key, path, e.Value)
	}
}

func (ps *parsing) mapping(n ast.Node, field string, known map[string]func(ast.Node, string)) {
	ps.each(n, field, func(key ast.MapKeyNode, path string, value ast.Node) {
		if set, ok := known[key.GetToken().Value]; ok {
			set(value, path)
			return
		}
		var keys []string
		for k := range known {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		ps.place(path, key)
		ps.add(path, "there is no such key: %s", strings.Join(keys, ", "))
	})
}

// scalar is a value's text as it was written.
func (ps *parsing) scalar(n ast.Node, field string) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.NullNode:
	case ast.ScalarNode:
		return strings.TrimSpace(n.GetToken().Value), true
	}
	ps.add(field, "wants a value")
	return "", false
}

func (ps *parsing) word(to *string) func(ast.Node, string) {
	return func(n ast.Node, field string) {
		if s, ok := ps.scalar(n, field); ok {
			*to = strings.TrimSpace(s)
		}
	}
}

func (ps *parsing) text(to encoding.TextUnmarshaler) func(ast.Node, string) {
	return func(n ast.Node, field string) {
		if s, ok := ps.scalar(n, field); ok {
			if err := to.UnmarshalText([]byte(s)); err != nil {
				ps.add(field, "%v", err)
			}
		}
	}
}

func (ps *parsing) number(to *int) func(ast.Node, string) {
	return func(n ast.Node, field string) {
		if s, ok := ps.scalar(n, field); ok {
			x, err := strconv.Atoi(s)
			if err != nil {
				ps.add(field, "%q is not a whole number", s)
				return
			}
			*to = x
		}
	}
}

func (ps *parsing) bool(to *bool) func(ast.Node, string) {
	return func(n ast.Node, field string) {
		switch s, ok := ps.scalar(n, field); {
		case !ok:
		case s == "true" || s == "false":
			*to = s == "true"
		default:
			ps.add(field, "%q is neither true nor false", s)
		}
	}
}

func (ps *parsing) criterion(n ast.Node, field string, c *Criterion) {
	ps.mapping(n, field, map[string]func(ast.Node, string){
		"of": ps.word(&c.Of), "quantile": ps.word(&c.Quantile), "under": ps.text(&c.Under), "source": ps.word(&c.Source),
	})
}

func (ps *parsing) streams(n ast.Node, field string) []Stream {
	var out []Stream
	ps.each(n, field, func(key ast.MapKeyNode, path string, value ast.Node) {
		name := key.GetToken().Value
		if !isName(name) {
			ps.add(path, "%q is no name of a stream: letters, digits, - and _, 32 at most", name)
			return
		}
		s := Stream{Name: name, Depth: 1, Prewritten: true}
		ps.mapping(value, path, map[string]func(ast.Node, string){
			"kind": func(n ast.Node, field string) { ps.word((*string)(&s.Kind))(n, field) },
			"size": ps.text(&s.Size), "rate": ps.text(&s.Rate), "depth": ps.number(&s.Depth),
			"arrivals": func(n ast.Node, field string) {
				var how string
				ps.word(&how)(n, field)
				s.Poisson = how == "poisson"
				if how != "poisson" && how != "even" {
					ps.add(field, "%q is neither even nor poisson", how)
				}
			},
			"direct": ps.bool(&s.Direct), "fdatasync": ps.number(&s.Sync), "sync_at_end": ps.bool(&s.SyncAtEnd),
			"file": ps.text(&s.File), "prewritten": ps.bool(&s.Prewritten),
			"on": ps.text(&s.On), "off": ps.text(&s.Off), "burst": ps.text(&s.Burst),
		})
		out = append(out, s)
	})
	return out
}

func isName(s string) bool {
	return s != "" && len(s) <= 32 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}
