package saved

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Bounds of a document. The server's own limit is 16 MiB of BSON.
const (
	depthMax  = 64
	fieldsMax = 200_000
)

// A parser reads one value of what a shell prints: JSON, MongoDB's extended JSON, or JavaScript with
// unquoted keys and calls such as NumberLong("5") and ISODate("2026-01-05T10:00:00Z").
type parser struct {
	text   string
	at     int
	fields int
}

var errEnds = errors.New("the document has no closing bracket: it was cut short")

// line is the number of the current line.
func (p *parser) line() int { return 1 + strings.Count(p.text[:min(p.at, len(p.text))], "\n") }

func (p *parser) space() {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			p.at++
		case strings.HasPrefix(p.text[p.at:], "//"):
			for p.at < len(p.text) && p.text[p.at] != '\n' {
				p.at++
			}
		default:
			return
		}
	}
}

// next returns the next character that is not a space; 0 at the end.
func (p *parser) next() byte {
	p.space()
	if p.at >= len(p.text) {
		return 0
	}
	return p.text[p.at]
}

func (p *parser) value(depth int) (any, error) {
	if depth > depthMax {
		return nil, fmt.Errorf("documents nested deeper than %d levels", depthMax)
	}
	if p.fields++; p.fields > fieldsMax {
		return nil, fmt.Errorf("more than %d fields", fieldsMax)
	}

	switch c := p.next(); {
	case c == 0:
		return nil, errEnds
	case c == '{':
		return p.document(depth)
	case c == '[':
		return p.list(depth)
	case c == '"' || c == '\'' || c == '`':
		return p.quoted()
	case c == '-' || c == '+' || c >= '0' && c <= '9':
		return p.number()
	case isWord(c):
		return p.word(depth)
	default:
		return nil, fmt.Errorf("unexpected %q", c)
	}
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func (p *parser) document(depth int) (any, error) {
	p.at++ // the bracket
	out := bson.D{}
	for {
		switch c := p.next(); c {
		case 0:
			return nil, errEnds
		case '}':
			p.at++
			return extended(out), nil
		case ',':
			p.at++
			continue
		}

		key, err := p.key()
		if err != nil {
			return nil, err
		}
		if p.next() != ':' {
			return nil, fmt.Errorf("want a colon after %.40q", key)
		}

		p.at++
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, bson.E{Key: key, Value: v})
	}
}

func (p *parser) key() (string, error) {
	if c := p.text[p.at]; c == '"' || c == '\'' {
		return p.quoted()
	}
	from := p.at
	for p.at < len(p.text) && (isWord(p.text[p.at]) || p.text[p.at] >= '0' && p.text[p.at] <= '9') {
		p.at++
	}
	if p.at == from {
		return "", fmt.Errorf("want a field's name, not %q", p.text[p.at])
	}
	return p.text[from:p.at], nil
}

func (p *parser) list(depth int) (any, error) {
	p.at++ // the bracket
	// Shells print [Object] and [Array] for what is nested too deeply for them.
	for _, short := range []string{"Object]", "Array]"} {
		if strings.HasPrefix(p.text[p.at:], short) {
			p.at += len(short)
			return nil, nil
		}
	}

	return p.elements(']', depth)
}

// elements reads values with commas between them, up to the closing bracket.
func (p *parser) elements(closing byte, depth int) (bson.A, error) {
	out := bson.A{}
	for {
		switch c := p.next(); c {
		case 0:
			return nil, errEnds
		case closing:
			p.at++
			return out, nil
		case ',':
			p.at++
			continue
		}

		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
}

func (p *parser) quoted() (string, error) {
	quote := p.text[p.at]
	p.at++
	var b strings.Builder
	for p.at < len(p.text) {
		c := p.text[p.at]
		p.at++
		switch {
		case c == quote:
			return strings.ToValidUTF8(strings.ReplaceAll(b.String(), "\x00", ""), "\uFFFD"), nil
		case c == '\\' && p.at < len(p.text):
			// Escapes other than those of quotes do not occur in names and figures.
			b.WriteByte(p.text[p.at])
			p.at++
		default:
			b.WriteByte(c)
		}
	}

	return "", errEnds
}

func (p *parser) number() (any, error) {
	from := p.at
	for p.at < len(p.text) && strings.IndexByte("+-.eE0123456789", p.text[p.at]) >= 0 {
		p.at++
	}
	return numberOf(p.text[from:p.at])
}

func numberOf(s string) (any, error) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, nil
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, fmt.Errorf("%.40q is not a number", s)
	}
	return x, nil
}

// word reads a name: a constant, or a call with its arguments.
func (p *parser) word(depth int) (any, error) {
	from := p.at
	for p.at < len(p.text) && (isWord(p.text[p.at]) || p.text[p.at] == '.' ||
		p.text[p.at] >= '0' && p.text[p.at] <= '9') {
		p.at++
	}

	name := p.text[from:p.at]
	if name == "new" {
		return p.value(depth + 1)
	}
	if p.next() != '(' {
		switch name {
		case "true":
			return true, nil
		case "false":
			return false, nil
		case "NaN":
			return math.NaN(), nil
		}
		return nil, nil // null, undefined, MinKey and others without a figure
	}

	p.at++
	args, err := p.elements(')', depth)
	if err != nil {
		return nil, err
	}
	return call(name, args), nil
}

// call is the value of a call. Those that are neither a number nor a time have no figure.
func call(name string, args bson.A) any {
	if len(args) == 0 {
		return nil
	}

	name, _, _ = strings.Cut(name, ".") // Long.fromString("5")
	switch name {
	case "NumberLong", "Long", "NumberInt", "Int32", "Double", "NumberDecimal", "Decimal128":
		return numberIn(args[0])
	case "ISODate", "Date":
		return timeIn(args[0])
	case "Timestamp":
		return timestamp(args)
	}
	return nil
}

func numberIn(v any) any {
	if s, ok := v.(string); ok {
		n, err := numberOf(strings.TrimSpace(s))
		if err != nil {
			return nil
		}
		return n
	}
	return v
}

func timeIn(v any) any {
	switch v := v.(type) {
	case int64:
		return bson.DateTime(v)
	case string:
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999-0700",
			"2006-01-02T15:04:05.999"} {
			if at, err := time.Parse(layout, v); err == nil {
				return bson.NewDateTimeFromTime(at)
			}
		}
	}
	return nil
}

func timestamp(args bson.A) any {
	var t, i any
	if d, ok := args[0].(bson.D); ok {
		t, i = field(d, "t"), field(d, "i")
	} else if len(args) > 1 {
		t, i = args[0], args[1]
	}
	seconds, ok1 := t.(int64)
	inc, ok2 := i.(int64)
	if !ok1 || !ok2 || seconds < 0 || inc < 0 || seconds > math.MaxUint32 || inc > math.MaxUint32 {
		return nil
	}
	return bson.Timestamp{T: uint32(seconds), I: uint32(inc)}
}

// extended converts a document that stands for a value in extended JSON.
func extended(d bson.D) any {
	if len(d) == 0 || !strings.HasPrefix(d[0].Key, "$") {
		return d
	}
	switch d[0].Key {
	case "$numberLong", "$numberInt", "$numberDouble", "$numberDecimal":
		return numberIn(d[0].Value)
	case "$date":
		return timeIn(d[0].Value) // a text, or a $numberLong that is already a number
	case "$timestamp":
		return timestamp(bson.A{d[0].Value})
	case "$oid", "$binary", "$uuid", "$undefined", "$minKey", "$maxKey":
		return nil
	}
	return d
}

// field is a document's field; nil if it has none of this name.
func field(d bson.D, key string) any {
	for _, e := range d {
		if e.Key == key {
			return e.Value
		}
	}
	return nil
}
