package advise

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/advise/emit"
)

// A mongodOption is an option of mongod.conf as the server takes it.
type mongodOption struct {
	path        string
	kind        string  // number, integer or string
	least, most float64 // of numbers
}

// mongodOptions are the options written here. Names, kinds and bounds: MongoDB manual 8.0, "Self-Managed Configuration File
// Options", and the server's source of 8.0, src/mongo/db/storage/wiredtiger/wiredtiger_global_options.idl and
// src/mongo/db/mongod_options_storage.idl. (configString stands in the source alone.)
var mongodOptions = []mongodOption{
	{"storage.wiredTiger.engineConfig.cacheSizeGB", "number", 0.25, 10000},
	{"storage.wiredTiger.engineConfig.configString", "string", 0, 0},
	{"storage.syncPeriodSecs", "number", 0, 9e6},
	{"storage.journal.commitIntervalMs", "integer", 1, 500},
}

// check tells what is wrong with a value of an option.
func (o *mongodOption) check(value string) error {
	if o.kind == "string" {
		return nil
	}
	x, err := strconv.ParseFloat(value, 64)
	if err == nil && o.kind == "integer" {
		_, err = strconv.Atoi(value)
	}
	if err != nil {
		return fmt.Errorf("%s: %q is no %s", o.path, value, o.kind)
	}
	if x < o.least || x > o.most {
		return emit.Inputf("choose another value, or leave out --to mongod", "mongod takes no %s of %s: it has %v to %v", o.path, value, o.least, o.most)
	}
	return nil
}

// A mongodConf is made option by option, each checked. It is written in the order of mongodOptions.
type mongodConf struct {
	lines map[string]string // option to its comment and line
	err   error
}

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
	if c.lines == nil {
		c.lines = map[string]string{}
	}
	c.lines[path] = comment + path[strings.LastIndexByte(path, '.')+1:] + ": " + value + "\n"
}

// String is the options as YAML in blocks.
func (c *mongodConf) String() string {
	var b strings.Builder
	var open []string // the mappings one is in
	for _, o := range mongodOptions {
		line, ok := c.lines[o.path]
		if !ok {
			continue
		}
		parents := strings.Split(o.path, ".")
		parents = parents[:len(parents)-1]
		shared := 0
		for shared < len(open) && shared < len(parents) && open[shared] == parents[shared] {
			shared++
		}
		for depth := shared; depth < len(parents); depth++ {
			b.WriteString(strings.Repeat("  ", depth) + parents[depth] + ":\n")
		}
		open = parents
		indent := strings.Repeat("  ", len(parents))
		for text := range strings.Lines(line) {
			b.WriteString(indent + text)
		}
	}
	return b.String()
}
