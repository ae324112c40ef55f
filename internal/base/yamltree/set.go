package yamltree

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Assigned reads the value of an assignment, "volumes.data.iops=16000" or "volumes.journal={type:
// io2, size: 10GiB}": a path of keys, with [n] for items of lists, and a value as YAML has it. set
// is the whole assignment, and like another of this kind, for errors.
func Assigned(path, value, noun, set, like string) (*Node, error) {
	if _, err := splitPath(path, like[:strings.Index(like, "=")]); err != nil {
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
	tree.shift(valueAt)
	return tree, nil
}

// Put puts a value at a path. Keys on the way are made; whether they mean anything shows when the
// tree is decoded. [Null] takes the key away. set is the whole assignment, and like another of this
// kind, for errors.
func (n *Node) Put(path string, value *Node, set, like string) error {
	keys, err := splitPath(path, like[:strings.Index(like, "=")])
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

// enter goes to a key, or puts the value there if it is the last.
func (n *Node) enter(key string, at Position, last bool, value *Node) (*Node, error) {
	if i, isIndex := index(key); isIndex {
		if n.Kind != Sequence {
			return nil, &Unreadable{at, fmt.Sprintf("there is no item %d: there is %s here, and no list", i, n.Kind)}
		}
		if i >= len(n.Items) {
			return nil, &Unreadable{at, fmt.Sprintf("there is no item %d: the list has %d", i, len(n.Items))}
		}
		if last {
			n.Items[i] = value
		}
		return n.Items[i], nil
	}

	if n.Kind == Null {
		n.Kind = Mapping
	}

	if n.Kind != Mapping {
		return nil, &Unreadable{at, fmt.Sprintf("%s: there is %s here, which has no keys", key, n.Kind)}
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

	if last || e.At == (Position{}) {
		e.At = at
	}

	return e.Value, nil
}

// Remove takes a key away.
func (n *Node) Remove(key string) {
	for i := range n.Entries {
		if n.Entries[i].Key == key {
			n.Entries = append(n.Entries[:i], n.Entries[i+1:]...)
			return
		}
	}
}

// shift moves positions within an assignment to where the value stands in it.
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

// splitPath gives "a.b[2].c" as a, b, [2], c.
func splitPath(path, like string) ([]string, error) {
	path = strings.TrimSpace(path)
	var out []string
	for rest := path; rest != ""; {
		part := pathPart.FindString(rest)
		if part == "" || len(out) >= depthMax {
			return nil, fmt.Errorf("%q is no path of keys: write it as %s", path, like)
		}
		out = append(out, part)
		rest = rest[len(part):]
		if dotted, ok := strings.CutPrefix(rest, "."); ok && dotted != "" {
			rest = dotted
		} else if rest != "" && rest[0] != '[' {
			return nil, fmt.Errorf("%q is no path of keys: write it as %s", path, like)
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
