package advise

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"plimsoll/internal/advise/emit"
)

// A mongodOption is an option of mongod.conf with the values that the server accepts.
type mongodOption struct {
	path        string
	kind        string  // number, integer or string
	least, most float64 // of numbers
}

// mongodOptions are the options written here. Names, kinds and bounds come from the MongoDB manual
// 8.0, "Self-Managed Configuration File Options", and the server's source of 8.0,
// src/mongo/db/storage/wiredtiger/wiredtiger_global_options.idl and
// src/mongo/db/mongod_options_storage.idl. (Only the source has configString.)
var mongodOptions = []mongodOption{
	{"storage.wiredTiger.engineConfig.cacheSizeGB", "number", 0.25, 10000},
	{"storage.wiredTiger.engineConfig.configString", "string", 0, 0},
	{"storage.syncPeriodSecs", "number", 0, 9e6},
	{"storage.journal.commitIntervalMs", "integer", 1, 500},
}

// check returns an error if a value is not valid for an option.
func (o *mongodOption) check(value string) error {
	if o.kind == "string" {
		return nil
	}

	x, err := strconv.ParseFloat(value, 64)
	if err == nil && o.kind == "integer" {
		_, err = strconv.Atoi(value)
	}

	if err != nil {
		return fmt.Errorf("%s: %q is not a %s", o.path, value, o.kind)
	}
	if x < o.least || x > o.most {
		return emit.Inputf("choose another value, or omit --target mongod",
			"%s %s out of range for mongod: want %v to %v", o.path, value, o.least, o.most)
	}

	return nil
}

// A mongodConf collects options, each checked. It is written in the order of mongodOptions.
type mongodConf struct {
	values   map[string]literal
	comments yaml.CommentMap
	err      error
}

// A literal is a scalar, written as is.
type literal string

// MarshalYAML returns the literal.
func (v literal) MarshalYAML() ([]byte, error) { return []byte(v), nil }

func (c *mongodConf) set(path, value, comment string) {
	i := slices.IndexFunc(mongodOptions, func(o mongodOption) bool { return o.path == path })
	if i < 0 {
		c.err = fmt.Errorf("mongod has no option %s", path)
		return
	}

	if err := mongodOptions[i].check(value); err != nil && c.err == nil {
		c.err = err
	}

	if mongodOptions[i].kind == "string" {
		value = strconv.Quote(value)
	}

	if c.values == nil {
		c.values, c.comments = map[string]literal{}, yaml.CommentMap{}
	}

	var lines []string
	for line := range strings.Lines(comment) {
		lines = append(lines, strings.TrimSuffix(strings.TrimPrefix(line, "#"), "\n"))
	}

	c.values[path] = literal(value)
	c.comments["$."+path] = []*yaml.Comment{yaml.HeadComment(lines...)}
}

// yaml returns the options in the file's format.
func (c *mongodConf) yaml() (string, error) {
	var tree yaml.MapSlice
	for _, o := range mongodOptions {
		if v, ok := c.values[o.path]; ok {
			tree = put(tree, strings.Split(o.path, "."), v)
		}
	}
	text, err := yaml.MarshalWithOptions(tree, yaml.WithComment(c.comments))
	return string(text), err
}

// put sets a value at a path below a mapping.
func put(tree yaml.MapSlice, path []string, v literal) yaml.MapSlice {
	i := slices.IndexFunc(tree, func(x yaml.MapItem) bool { return x.Key == path[0] })
	if i < 0 {
		i, tree = len(tree), append(tree, yaml.MapItem{Key: path[0]})
	}
	if len(path) == 1 {
		tree[i].Value = v
	} else {
		below, _ := tree[i].Value.(yaml.MapSlice)
		tree[i].Value = put(below, path[1:], v)
	}
	return tree
}
