package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"plimsoll/internal/base/diagnostics"
)

// What a scenario's text may not go beyond.
const (
	// fileBytesMax is some hundred times a long scenario.
	fileBytesMax = 64 << 10
	depthMax     = 32
	// setsMax bounds assignments over the file.
	setsMax = 1000
)

// A position is where something was written: a line and column of the file, both from 1, or a --set.
type position struct {
	line, column int
	set          string // the whole assignment, if it stands in one; column is in it
}

type kind uint8

const (
	null kind = iota
	scalar
	mapping
	sequence
)

func (k kind) String() string {
	return [...]string{"nothing", "a value", "a mapping", "a list"}[k]
}

// A node is a part of the tree that the text says. Unlike the YAML library's it knows nothing of how it
// was written, so an assignment can be put into it.
type node struct {
	kind    kind
	text    string // of a scalar
	entries []entry
	items   []*node
	at      position
}

type entry struct {
	key   string
	at    position // of the key
	value *node
}

func (n *node) find(key string) *entry {
	if n == nil {
		return nil
	}
	for i := range n.entries {
		if n.entries[i].key == key {
			return &n.entries[i]
		}
	}
	return nil
}

// An unreadable text is no YAML, or none that is taken here.
type unreadable struct {
	at   position
	text string
}

func (e *unreadable) Error() string { return e.text }

// parseTree reads YAML. Positions count from the text's beginning, or are all of a --set.
func parseTree(text []byte, set string) (root *node, err error) {
	defer func() {
		// The library is not ours, and a person's typing error must not end the program.
		if r := recover(); r != nil {
			root, err = nil, &unreadable{position{line: 1, column: 1, set: set}, fmt.Sprintf("cannot be read as YAML (%v)", r)}
		}
	}()
	if len(text) > fileBytesMax {
		return nil, &unreadable{position{line: 1, column: 1, set: set}, fmt.Sprintf("more than the %d KiB that a scenario may have", fileBytesMax>>10)}
	}
	tokens, err := safe(text, set)
	if err != nil {
		return nil, err
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, syntax(err, set)
	}
	r := reader{set: set}
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		n, err := r.node(doc.Body, 0)
		switch {
		case err != nil:
			return nil, err
		case root != nil:
			return nil, &unreadable{n.at, "a second document: a scenario is one"}
		}
		root = n
	}
	if root == nil {
		root = &node{at: position{line: 1, column: 1, set: set}}
	}
	return root, nil
}

// CheckYAML refuses text that a YAML library cannot be given in safety, whoever wrote it: no text, anchors and
// what else makes much of little, and nesting, by which a parser's memory and stack grow. The error
// tells the place; file names the text in it.
func CheckYAML(file string, text []byte) error {
	_, err := safe(text, "")
	var u *unreadable
	if errors.As(err, &u) {
		return errors.New(newSource(file, text).place(diagnostics.Problem{Text: u.text}, u.at).String())
	}
	return err
}

// safe gives the text's tokens, if they are such that a parser may have.
func safe(text []byte, set string) (token.Tokens, error) {
	if i := notText(text); i >= 0 {
		before := text[:i]
		line, from := 1+bytes.Count(before, []byte("\n")), bytes.LastIndexByte(before, '\n')+1
		return nil, &unreadable{position{line: line, column: 1 + utf8.RuneCount(before[from:]), set: set}, "no text in UTF-8: save the file in that encoding"}
	}
	tokens := lexer.Tokenize(string(text))
	return tokens, plain(tokens, set)
}

// notText is where the first byte stands that no text in UTF-8 has, -1 if there is none.
func notText(text []byte) int {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 || r == 0 {
			return i
		}
		i += n
	}
	return -1
}

// plain refuses what is not taken of YAML before the parser sees it.
func plain(tokens token.Tokens, set string) error {
	refused := map[token.Type]string{
		token.AnchorType: "anchors are not taken here: write it out", token.AliasType: "aliases are not taken here: write it out",
		token.MergeKeyType: "merge keys are not taken here: write it out", token.TagType: "tags are not taken here",
		token.MappingKeyType: "explicit keys (?) are not taken here: write key: value", token.DirectiveType: "directives are not taken here",
	}
	flow, onLine, line := 0, 0, 0
	for _, t := range tokens {
		if text, ok := refused[t.Type]; ok {
			return &unreadable{at(t, set), text}
		}
		if t.Position.Line != line {
			line, onLine = t.Position.Line, 0
		}
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow--
		case token.SequenceEntryType:
			onLine++
		}
		if flow > depthMax || onLine > depthMax {
			return &unreadable{at(t, set), fmt.Sprintf("nested deeper than %d", depthMax)}
		}
	}
	return nil
}

func syntax(err error, set string) error {
	var e yaml.Error
	if !errors.As(err, &e) || e.GetToken() == nil {
		return &unreadable{position{line: 1, column: 1, set: set}, err.Error()}
	}
	text := e.GetMessage()
	if strings.HasPrefix(text, "found character '\t'") {
		text = "a tab: YAML is indented with spaces"
	}
	return &unreadable{at(e.GetToken(), set), text}
}

func at(t *token.Token, set string) position {
	if t == nil || t.Position == nil {
		return position{line: 1, column: 1, set: set}
	}
	return position{line: max(t.Position.Line, 1), column: max(t.Position.Column, 1), set: set}
}

// A reader makes nodes of the library's.
type reader struct{ set string }

func (r reader) node(n ast.Node, depth int) (*node, error) {
	if depth > depthMax {
		return nil, &unreadable{at(n.GetToken(), r.set), fmt.Sprintf("nested deeper than %d", depthMax)}
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return r.mapping(n.GetToken(), n.Values, depth)
	case *ast.MappingValueNode:
		return r.mapping(n.Key.GetToken(), []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		out := &node{kind: sequence, at: at(n.GetToken(), r.set)}
		for _, v := range n.Values {
			item, err := r.node(v, depth+1)
			if err != nil {
				return nil, err
			}
			out.items = append(out.items, item)
		}
		return out, nil
	case *ast.NullNode:
		return &node{at: at(n.GetToken(), r.set)}, nil
	case *ast.LiteralNode:
		return &node{kind: scalar, text: n.Value.Value, at: at(n.GetToken(), r.set)}, nil
	case *ast.StringNode:
		return &node{kind: scalar, text: n.Value, at: at(n.GetToken(), r.set)}, nil
	case ast.ScalarNode:
		// As it was written: a number's text is what quantities are parsed from.
		return &node{kind: scalar, text: strings.TrimSpace(n.GetToken().Value), at: at(n.GetToken(), r.set)}, nil
	}
	return nil, &unreadable{at(n.GetToken(), r.set), fmt.Sprintf("%s is not taken here", strings.ToLower(n.Type().String()))}
}

func (r reader) mapping(start *token.Token, values []*ast.MappingValueNode, depth int) (*node, error) {
	out := &node{kind: mapping, at: at(start, r.set)}
	if len(values) > 0 {
		out.at = at(values[0].Key.GetToken(), r.set)
	}
	for _, v := range values {
		key, err := r.node(v.Key, depth+1)
		if err != nil {
			return nil, err
		}
		if key.kind != scalar {
			return nil, &unreadable{key.at, fmt.Sprintf("a key is a word, not %s", key.kind)}
		}
		if before := out.find(key.text); before != nil {
			return nil, &unreadable{key.at, fmt.Sprintf("%s stands here twice, first in line %d", key.text, before.at.line)}
		}
		value := &node{at: key.at}
		if v.Value != nil {
			if value, err = r.node(v.Value, depth+1); err != nil {
				return nil, err
			}
		}
		out.entries = append(out.entries, entry{key.text, key.at, value})
	}
	return out, nil
}
