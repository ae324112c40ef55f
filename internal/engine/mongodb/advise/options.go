package advise

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	values, comments map[string]string
	err              error
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

	c.values[path], c.comments[path] = value, comment
}

// yaml returns the options in the file's format.
func (c *mongodConf) yaml() string {
	var b strings.Builder
	var above []string // the keys of the option before
	for _, o := range mongodOptions {
		value, ok := c.values[o.path]
		if !ok {
			continue
		}

		keys := strings.Split(o.path, ".")
		same := 0
		for same < len(above) && above[same] == keys[same] {
			same++
		}

		last := len(keys) - 1
		for i := same; i < last; i++ {
			fmt.Fprintf(&b, "%s%s:\n", strings.Repeat("  ", i), keys[i])
		}

		indent := strings.Repeat("  ", last)
		for line := range strings.Lines(c.comments[o.path]) {
			b.WriteString(indent + line)
		}

		fmt.Fprintf(&b, "%s%s: %s\n", indent, keys[last], value)
		above = keys
	}

	return b.String()
}
