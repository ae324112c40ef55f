package yamltree

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Assigned reads the value of an assignment, "volumes.data.iops=16000" or "volumes.journal={type:
// io2, size: 10GiB}": a path of keys, with [n] for items of lists, and a YAML value. For errors,
// set is the whole assignment and example another valid one.
func Assigned(path, value, noun, set, example string) (*Node, error) {
	if _, err := splitPath(path, example[:strings.Index(example, "=")]); err != nil {
		return nil, &Unreadable{Position{Line: 1, Column: 1, Set: set}, err.Error()}
	}
	valueAt := len([]rune(path)) + 1
	tree, err := Parse([]byte(value), noun, set)
	if err != nil {
		if u, ok := err.(*Unreadable); ok { //nolint:errorlint // made by parseTree, never wrapped
			u.At.Column += valueAt
		}
		return nil, err
	}
	// Positions refer to the whole assignment, which errors show.
	tree.shift(valueAt)
	return tree, nil
}

// Put puts a value at a path. It creates missing keys; decoding the tree later shows whether they
// are known. A [Null] value removes the key. For errors, set is the whole assignment and example
// another valid one.
func (n *Node) Put(path string, value *Node, set, example string) error {
	keys, err := splitPath(path, example[:strings.Index(example, "=")])
	if err != nil {
		return &Unreadable{Position{Line: 1, Column: 1, Set: set}, err.Error()}
	}
	column := 1
	for i, key := range keys {
		at := Position{Line: 1, Column: column, Set: set}
		column += len([]rune(key)) + 1
		last := i == len(keys)-1
		if n, err = n.enter(key, at, last, value); err != nil || last {
			return err
		}
	}
	return nil
}

// enter returns the value of a key, or puts the value there if the key is the last one.
func (n *Node) enter(key string, at Position, last bool, value *Node) (*Node, error) {
	if i, isIndex := index(key); isIndex {
		if n.Kind != Sequence {
			return nil, &Unreadable{at, fmt.Sprintf("cannot set item %d: want a list, got %s", i, n.Kind)}
		}
		if i >= len(n.Items) {
			return nil, &Unreadable{at, fmt.Sprintf("cannot set item %d: the list has %d", i, len(n.Items))}
		}
		if last {
			n.Items[i] = value
		}
		return n.Items[i], nil
	}

	// An empty value becomes a mapping, so that paths into missing parts work.
	if n.Kind == Null {
		n.Kind = Mapping
	}

	if n.Kind != Mapping {
		return nil, &Unreadable{at, fmt.Sprintf("cannot set %s: want a mapping, got %s", key, n.Kind)}
	}

	e := n.Find(key)
	if last && value.Kind == Null {
		n.Remove(key)
		return nil, nil
	}

	if e == nil {
		n.Entries = append(n.Entries, Entry{Key: key, Value: &Node{At: at}})
		e = &n.Entries[len(n.Entries)-1]
	}

	if last {
		e.Value = value
	}

	// A key from the file keeps its position unless the assignment sets its value.
	if last || e.At == (Position{}) {
		e.At = at
	}

	return e.Value, nil
}

// Remove removes a key.
func (n *Node) Remove(key string) {
	n.Entries = slices.DeleteFunc(n.Entries, func(e Entry) bool { return e.Key == key })
}

// shift moves the positions in a value to where the value is in its assignment.
func (n *Node) shift(by int) {
	if n.At.Line == 1 {
		n.At.Column += by
	}
	for i := range n.Entries {
		if n.Entries[i].At.Line == 1 {
			n.Entries[i].At.Column += by
		}
		n.Entries[i].Value.shift(by)
	}
	for _, item := range n.Items {
		item.shift(by)
	}
}

var pathPart = regexp.MustCompile(`^[^.\[\]=\s]+|^\[\d{1,6}\]`)

// splitPath splits "a.b[2].c" into a, b, [2], c.
func splitPath(path, example string) ([]string, error) {
	path = strings.TrimSpace(path)
	var out []string
	for rest := path; rest != ""; {
		part := pathPart.FindString(rest)
		if part == "" || len(out) >= depthMax {
			return nil, fmt.Errorf("%q is not a path of keys: write it as %s", path, example)
		}
		out = append(out, part)
		rest = rest[len(part):]
		if dotted, ok := strings.CutPrefix(rest, "."); ok && dotted != "" {
			rest = dotted
		} else if rest != "" && rest[0] != '[' {
			return nil, fmt.Errorf("%q is not a path of keys: write it as %s", path, example)
		}
	}

	return out, nil
}

func index(key string) (int, bool) {
	text, ok := strings.CutPrefix(key, "[")
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(strings.TrimSuffix(text, "]"))
	return i, err == nil
}
