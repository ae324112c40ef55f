package scenario

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// assign puts an assignment into the tree, "volumes.data.iops=16000" or "volumes.journal={type: io2, size:
// 10GiB}": a path of keys, with [n] for items of lists, and a value as YAML has it. Keys on the way are
// made; whether they mean anything shows when the tree is decoded. The value null, "a.b=", takes
// the key away.
func (n *node) assign(text string) error {
	if text == "" {
		text = "''" // a position without an assignment would be one in the file
	}
	path, value, ok := strings.Cut(text, "=")
	if !ok || strings.TrimSpace(path) == "" {
		return &unreadable{position{line: 1, column: 1, set: text}, "is no assignment: write it as volumes.data.iops=16000"}
	}
	if _, err := splitPath(path); err != nil {
		return &unreadable{position{line: 1, column: 1, set: text}, err.Error()}
	}
	tree, err := assigned(path, value, text)
	if err != nil {
		return err
	}
	return n.put(path, tree, text)
}

// assigned reads an assignment's value.
func assigned(path, value, set string) (*node, error) {
	valueAt := len([]rune(path)) + 1
	tree, err := parseTree([]byte(value), set)
	if err != nil {
		if u, ok := err.(*unreadable); ok { //nolint:errorlint // made by parseTree, never wrapped
			u.at.column += valueAt
		}
		return nil, err
	}
	tree.shift(valueAt)
	return tree, nil
}

// put puts a value at a path; set is the whole assignment.
func (n *node) put(path string, value *node, set string) error {
	keys, err := splitPath(path)
	if err != nil {
		return &unreadable{position{line: 1, column: 1, set: set}, err.Error()}
	}
	column := 1
	for i, key := range keys {
		at := position{line: 1, column: column, set: set}
		column += len([]rune(key)) + 1
		last := i == len(keys)-1
		if n, err = n.enter(key, at, last, value); err != nil || last {
			return err
		}
	}
	return nil
}

// enter goes to a key, or puts the value there if it is the last.
func (n *node) enter(key string, at position, last bool, value *node) (*node, error) {
	if i, isIndex := index(key); isIndex {
		if n.kind != sequence {
			return nil, &unreadable{at, fmt.Sprintf("there is no item %d: there is %s here, and no list", i, n.kind)}
		}
		if i >= len(n.items) {
			return nil, &unreadable{at, fmt.Sprintf("there is no item %d: the list has %d", i, len(n.items))}
		}
		if last {
			n.items[i] = value
		}
		return n.items[i], nil
	}
	if n.kind == null {
		n.kind = mapping
	}
	if n.kind != mapping {
		return nil, &unreadable{at, fmt.Sprintf("%s: there is %s here, which has no keys", key, n.kind)}
	}
	e := n.find(key)
	if last && value.kind == null {
		n.remove(key)
		return nil, nil
	}
	if e == nil {
		n.entries = append(n.entries, entry{key: key, value: &node{at: at}})
		e = &n.entries[len(n.entries)-1]
	}
	if last {
		e.value = value
	}
	if last || e.at == (position{}) {
		e.at = at
	}
	return e.value, nil
}

func (n *node) remove(key string) {
	for i := range n.entries {
		if n.entries[i].key == key {
			n.entries = append(n.entries[:i], n.entries[i+1:]...)
			return
		}
	}
}

// shift moves positions within an assignment to where the value stands in it.
func (n *node) shift(by int) {
	if n.at.line == 1 {
		n.at.column += by
	}
	for i := range n.entries {
		if n.entries[i].at.line == 1 {
			n.entries[i].at.column += by
		}
		n.entries[i].value.shift(by)
	}
	for _, item := range n.items {
		item.shift(by)
	}
}

var pathPart = regexp.MustCompile(`^[^.\[\]=\s]+|^\[\d{1,6}\]`)

// splitPath gives "a.b[2].c" as a, b, [2], c.
func splitPath(path string) ([]string, error) {
	path = strings.TrimSpace(path)
	var out []string
	for rest := path; rest != ""; {
		part := pathPart.FindString(rest)
		if part == "" || len(out) >= depthMax {
			return nil, fmt.Errorf("%q is no path of keys: write it as volumes.data.iops", path)
		}
		out = append(out, part)
		rest = rest[len(part):]
		if dotted, ok := strings.CutPrefix(rest, "."); ok && dotted != "" {
			rest = dotted
		} else if rest != "" && rest[0] != '[' {
			return nil, fmt.Errorf("%q is no path of keys: write it as volumes.data.iops", path)
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
