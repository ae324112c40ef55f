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

	"plimsoll/internal/base/inputerror"
)

// Limits of a text.
const (
	// BytesMax is several hundred times the size of files that users write.
	BytesMax = 64 << 10
	depthMax = 32
)

// A Position is a line and column of the file, both from 1, or of a --set.
type Position struct {
	Line, Column int
	Set          string // the whole assignment, if the position is in one; Column counts in it
}

// A Kind is the kind of a node.
type Kind uint8

// The kinds of nodes.
const (
	Null Kind = iota
	Scalar
	Mapping
	Sequence
)

// String returns the kind for messages.
func (k Kind) String() string {
	return [...]string{"nothing", "a value", "a mapping", "a list"}[k]
}

// A Node is a part of the tree. Unlike the YAML library's nodes it does not record the notation, so
// that assignments can change it.
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

// Find returns the entry of a key, or nil if there is none.
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

// Unreadable is the error of a text that is not YAML, or uses YAML that is not supported.
type Unreadable struct {
	At   Position
	Text string
}

func (e *Unreadable) Error() string { return e.Text }

// Parse reads one YAML document that describes a noun ("scenario"). Positions are in the text, or
// in the assignment set. If the text is at fault, the error is an [*Unreadable].
func Parse(text []byte, noun, set string) (root *Node, err error) {
	defer func() {
		// The library may panic on malformed input, and a typing error must not end the program.
		if r := recover(); r != nil {
			root, err = nil, &Unreadable{Position{Line: 1, Column: 1, Set: set},
				fmt.Sprintf("cannot parse as YAML (%v)", r)}
		}
	}()

	if len(text) > BytesMax {
		return nil, &Unreadable{Position{Line: 1, Column: 1, Set: set},
			fmt.Sprintf("exceeds the limit of %d KiB for a %s", BytesMax>>10, noun)}
	}

	// Unsafe constructs are refused on tokens, before the parser builds anything from them.
	tokens, err := safe(text, set)
	if err != nil {
		return nil, err
	}

	// The reader reports duplicate keys itself, with what to do.
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, syntax(err, tokens, set)
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
			return nil, &Unreadable{n.At, "second YAML document: want one " + noun}
		}
		root = n
	}

	if root == nil {
		root = &Node{At: Position{Line: 1, Column: 1, Set: set}}
	}

	return root, nil
}

// Check refuses text that is unsafe to pass to a YAML library: text that is not UTF-8, anchors and
// other constructs that expand, and deep nesting, which makes a parser's memory and stack grow. The
// error shows the position; file is the name of the text in it.
func Check(file string, text []byte) error {
	_, err := safe(text, "")
	var u *Unreadable
	if errors.As(err, &u) {
		return errors.New(NewSource(file, text).Place(inputerror.Problem{Text: u.Text}, u.At).String())
	}
	return err
}

// safe returns the text's tokens, if they are safe to parse.
func safe(text []byte, set string) (token.Tokens, error) {
	if i := notText(text); i >= 0 {
		before := text[:i]
		line, from := 1+bytes.Count(before, []byte("\n")), bytes.LastIndexByte(before, '\n')+1
		return nil, &Unreadable{Position{Line: line, Column: 1 + utf8.RuneCount(before[from:]),
			Set: set}, "not UTF-8 text: save the file in UTF-8"}
	}
	tokens := lexer.Tokenize(string(text))
	return tokens, plain(tokens, set)
}

// notText returns the index of the first byte that is not UTF-8 text, or -1.
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

// plain refuses unsupported YAML before the parser sees it.
func plain(tokens token.Tokens, set string) error {
	refused := map[token.Type]string{
		token.AnchorType:     "anchors are not supported: write the value out",
		token.AliasType:      "aliases are not supported: write the value out",
		token.MergeKeyType:   "merge keys are not supported: write the keys out",
		token.TagType:        "tags are not supported",
		token.MappingKeyType: "explicit keys (?) are not supported: write key: value",
		token.DirectiveType:  "directives are not supported",
	}

	// The parser recurses once per level of flow brackets, and per dash on the same line ("- - -").
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
			return &Unreadable{at(t, set), fmt.Sprintf("nested deeper than %d levels", depthMax)}
		}
	}

	return nil
}

func syntax(err error, tokens token.Tokens, set string) error {
	var e yaml.Error
	if !errors.As(err, &e) || e.GetToken() == nil {
		return &Unreadable{Position{Line: 1, Column: 1, Set: set}, err.Error()}
	}
	text := e.GetMessage()
	if strings.HasPrefix(text, "found character '\t'") {
		text = "tab in the indentation: YAML needs spaces"
	}
	// The library reports where it noticed, which may be lines before or after a wrong indentation.
	if strings.Contains(text, "not allowed in this context") {
		if key, why := misindented(tokens); key != nil {
			return &Unreadable{at(key, set), why}
		}
	}
	return &Unreadable{at(e.GetToken(), set), text}
}

func at(t *token.Token, set string) Position {
	if t == nil || t.Position == nil {
		return Position{Line: 1, Column: 1, Set: set}
	}
	return Position{Line: max(t.Position.Line, 1), Column: max(t.Position.Column, 1), Set: set}
}

// A reader converts the library's nodes.
type reader struct{ set string }

func (r reader) node(n ast.Node, depth int) (*Node, error) {
	if depth > depthMax {
		return nil, &Unreadable{at(n.GetToken(), r.set), fmt.Sprintf("nested deeper than %d levels", depthMax)}
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
		// The text as written, because quantities are parsed from it.
		return &Node{Kind: Scalar, Text: strings.TrimSpace(n.GetToken().Value), At: at(n.GetToken(), r.set)}, nil
	}

	return nil, &Unreadable{at(n.GetToken(), r.set),
		fmt.Sprintf("%s is not supported", strings.ToLower(n.Type().String()))}
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
			return nil, &Unreadable{key.At, fmt.Sprintf("a key must be a word, not %s", key.Kind)}
		}

		if before := out.Find(key.Text); before != nil {
			return nil, &Unreadable{key.At,
				fmt.Sprintf("duplicate key %s: first in line %d; merge the two, or remove one", key.Text,
					before.At.Line)}
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
