package yamltree

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

// What a text may not go beyond.
const (
	// BytesMax is some hundred times what a person writes.
	BytesMax = 64 << 10
	depthMax = 32
)

// A Position is where something was written: a line and column of the file, both from 1, or a
// --set.
type Position struct {
	Line, Column int
	Set          string // the whole assignment, if it stands in one; column is in it
}

// A Kind is what a node is.
type Kind uint8

// The kinds of nodes.
const (
	Null Kind = iota
	Scalar
	Mapping
	Sequence
)

// String is the kind in messages.
func (k Kind) String() string {
	return [...]string{"nothing", "a value", "a mapping", "a list"}[k]
}

// A Node is a part of the tree that the text says. Unlike the YAML library's it knows nothing of
// how it was written, so an assignment can be put into it.
type Node struct {
	Kind    Kind
	Text    string // of a scalar
	Entries []Entry
	Items   []*Node
	At      Position
}

// An Entry is a key of a mapping and its value.
type Entry struct {
	Key   string
	At    Position // of the key
	Value *Node
}

// Find is the entry of a key, nil if there is none.
func (n *Node) Find(key string) *Entry {
	if n == nil {
		return nil
	}
	for i := range n.Entries {
		if n.Entries[i].Key == key {
			return &n.Entries[i]
		}
	}
	return nil
}

// An Unreadable text is no YAML, or none that is taken here.
type Unreadable struct {
	At   Position
	Text string
}

func (e *Unreadable) Error() string { return e.Text }

// Parse reads one document of YAML that is to be a noun ("scenario"). Positions count from the
// text's beginning, or are all of a --set. Where the text is at fault the error is an
// [*Unreadable].
func Parse(text []byte, noun, set string) (root *Node, err error) {
	defer func() {
		// The library is not ours, and a person's typing error must not end the program.
		if r := recover(); r != nil {
			root, err = nil, &Unreadable{Position{Line: 1, Column: 1, Set: set},
				fmt.Sprintf("cannot be read as YAML (%v)", r)}
		}
	}()

	if len(text) > BytesMax {
		return nil, &Unreadable{Position{Line: 1, Column: 1, Set: set},
			fmt.Sprintf("more than the %d KiB that a %s may have", BytesMax>>10, noun)}
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
			return nil, &Unreadable{n.At, "a second document: a " + noun + " is one"}
		}
		root = n
	}

	if root == nil {
		root = &Node{At: Position{Line: 1, Column: 1, Set: set}}
	}

	return root, nil
}

// Check refuses text that a YAML library cannot be given in safety, whoever wrote it: no text,
// anchors and what else makes much of little, and nesting, by which a parser's memory and stack
// grow. The error tells the place; file names the text in it.
func Check(file string, text []byte) error {
	_, err := safe(text, "")
	var u *Unreadable
	if errors.As(err, &u) {
		return errors.New(NewSource(file, text).Place(diagnostics.Problem{Text: u.Text}, u.At).String())
	}
	return err
}

// safe gives the text's tokens, if they are such that a parser may have.
func safe(text []byte, set string) (token.Tokens, error) {
	if i := notText(text); i >= 0 {
		before := text[:i]
		line, from := 1+bytes.Count(before, []byte("\n")), bytes.LastIndexByte(before, '\n')+1
		return nil, &Unreadable{Position{Line: line, Column: 1 + utf8.RuneCount(before[from:]),
			Set: set}, "no text in UTF-8: save the file in that encoding"}
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
		token.AnchorType:   "anchors are not taken here: write it out",
		token.AliasType:    "aliases are not taken here: write it out",
		token.MergeKeyType: "merge keys are not taken here: write it out", token.TagType: "tags are not taken here",
		token.MappingKeyType: "explicit keys (?) are not taken here: write Key: value",
		token.DirectiveType:  "directives are not taken here",
	}

	flow, onLine, line := 0, 0, 0
	for _, t := range tokens {
		if text, ok := refused[t.Type]; ok {
			return &Unreadable{at(t, set), text}
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
			return &Unreadable{at(t, set), fmt.Sprintf("nested deeper than %d", depthMax)}
		}
	}

	return nil
}

func syntax(err error, set string) error {
	var e yaml.Error
	if !errors.As(err, &e) || e.GetToken() == nil {
		return &Unreadable{Position{Line: 1, Column: 1, Set: set}, err.Error()}
	}
	text := e.GetMessage()
	if strings.HasPrefix(text, "found character '\t'") {
		text = "a tab: YAML is indented with spaces"
	}
	return &Unreadable{at(e.GetToken(), set), text}
}

func at(t *token.Token, set string) Position {
	if t == nil || t.Position == nil {
		return Position{Line: 1, Column: 1, Set: set}
	}
	return Position{Line: max(t.Position.Line, 1), Column: max(t.Position.Column, 1), Set: set}
}

// A reader makes nodes of the library's.
type reader struct{ set string }

func (r reader) node(n ast.Node, depth int) (*Node, error) {
	if depth > depthMax {
		return nil, &Unreadable{at(n.GetToken(), r.set), fmt.Sprintf("nested deeper than %d", depthMax)}
	}

	switch n := n.(type) {
	case *ast.MappingNode:
		return r.mapping(n.GetToken(), n.Values, depth)
	case *ast.MappingValueNode:
		return r.mapping(n.Key.GetToken(), []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		out := &Node{Kind: Sequence, At: at(n.GetToken(), r.set)}
		for _, v := range n.Values {
			item, err := r.node(v, depth+1)
			if err != nil {
				return nil, err
			}
			out.Items = append(out.Items, item)
		}
		return out, nil
	case *ast.NullNode:
		return &Node{At: at(n.GetToken(), r.set)}, nil
	case *ast.LiteralNode:
		return &Node{Kind: Scalar, Text: n.Value.Value, At: at(n.GetToken(), r.set)}, nil
	case *ast.StringNode:
		return &Node{Kind: Scalar, Text: n.Value, At: at(n.GetToken(), r.set)}, nil
	case ast.ScalarNode:
		// As it was written: a number's text is what quantities are parsed from.
		return &Node{Kind: Scalar, Text: strings.TrimSpace(n.GetToken().Value), At: at(n.GetToken(), r.set)}, nil
	}

	return nil, &Unreadable{at(n.GetToken(), r.set),
		fmt.Sprintf("%s is not taken here", strings.ToLower(n.Type().String()))}
}

func (r reader) mapping(start *token.Token, values []*ast.MappingValueNode, depth int) (*Node, error) {
	out := &Node{Kind: Mapping, At: at(start, r.set)}
	if len(values) > 0 {
		out.At = at(values[0].Key.GetToken(), r.set)
	}

	for _, v := range values {
		key, err := r.node(v.Key, depth+1)
		if err != nil {
			return nil, err
		}

		if key.Kind != Scalar {
			return nil, &Unreadable{key.At, fmt.Sprintf("a key is a word, not %s", key.Kind)}
		}

		if before := out.Find(key.Text); before != nil {
			return nil, &Unreadable{key.At,
				fmt.Sprintf("%s stands here twice, first in line %d", key.Text, before.At.Line)}
		}

		value := &Node{At: key.At}
		if v.Value != nil {
			if value, err = r.node(v.Value, depth+1); err != nil {
				return nil, err
			}
		}

		out.Entries = append(out.Entries, Entry{key.Text, key.At, value})
	}

	return out, nil
}
