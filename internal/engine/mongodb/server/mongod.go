//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/base/units"
	wiredtiger "plimsoll/internal/engine/mongodb/model"
)

// find returns the absolute path of a mongod, given as a path or a name on PATH.
func find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "",
			fmt.Errorf("cannot find the requested mongod: %w: it is in MongoDB's packages (www.mongodb.com/try/download/community)",
				err)
	}
	return filepath.Abs(path) // mongod runs in another folder
}

// version returns a binary's version: "8.0.4".
func version(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", path, err)
	}
	return parseVersion(string(out))
}

var versions = regexp.MustCompile(`^db version v(\d{1,3}\.\d{1,3}\.\d{1,3}\S{0,40})`)

func parseVersion(text string) (string, error) {
	if m := versions.FindStringSubmatch(text); m != nil {
		return m[1], nil
	}
	first, _, _ := strings.Cut(text, "\n")
	return "", fmt.Errorf("this is not mongod: its version reads %.60q", first)
}

// release returns the first two numbers of a version, 8 and 0 for "8.0.4".
func release(version string) (major, minor int) {
	first, rest, _ := strings.Cut(version, ".")
	second, _, _ := strings.Cut(rest, ".")
	major, _ = strconv.Atoi(first)
	minor, _ = strconv.Atoi(second)
	return major, minor
}

// A place is where a mongod runs: its data, its journal if that has its own volume, and its port on
// loopback.
type place struct {
	data, journal string
	port          int
}

// replicaSet is the name of the single-member replica set.
const replicaSet = "plimsoll"

// cacheLeast is the smallest cache that mongod accepts (MongoDB manual,
// storage.wiredTiger.engineConfig.cacheSizeGB: 0.25 GB).
const cacheLeast = 256 * units.MiB

// conf returns mongod's configuration file (MongoDB manual, configuration file options, 8.0).
// Strings are quoted as JSON, which is valid YAML.
func conf(cfg *wiredtiger.Config, at place) string {
	var yaml strings.Builder
	line := func(indent int, format string, args ...any) {
		fmt.Fprintf(&yaml, strings.Repeat("  ", indent)+format+"\n", args...)
	}
	line(0, "# the scenario's")
	line(0, "storage:")
	line(1, "dbPath: %q", at.data)
	// syncPeriodSecs: 0 would turn checkpoints off.
	line(1, "syncPeriodSecs: %s", rounded(max(cfg.Checkpoint.Std().Seconds(), 1)))
	line(1, "journal:")
	// mongod accepts 1 to 500 ms.
	line(2, "commitIntervalMs: %d", min(max(cfg.JournalInterval.Std().Milliseconds(), 1), 500))
	line(1, "wiredTiger:")
	line(2, "engineConfig:")
	line(3, "cacheSizeGB: %s", decimal(float64(max(cfg.Cache, cacheLeast))/float64(units.GiB)))

	if text := engineConfig(cfg); text != "" {
		line(3, "configString: %q", text)
	}

	line(2, "collectionConfig:")
	compressor := "snappy"
	if !wiredtiger.Enabled(cfg.Compressor) {
		compressor = "none"
	}

	line(3, "blockCompressor: %s", compressor)
	if wiredtiger.Enabled(cfg.Oplog) {
		line(0, "replication:")
		line(1, "replSetName: %s", replicaSet)
		line(1, "oplogSizeMB: %d", 990) // mongod's own minimum
	}

	line(0, "# the lab's")
	line(0, "net:")
	line(1, "bindIp: 127.0.0.1")
	line(1, "port: %d", at.port)
	line(1, "unixDomainSocket: {enabled: false}")

	return yaml.String()
}

// engineConfig is the string that mongod passes to WiredTiger unchanged: the scenario's settings
// that differ from mongod's defaults.
func engineConfig(cfg *wiredtiger.Config) string {
	fixed := wiredtiger.Defaults()
	var set []string

	usual := fixed.EvictionShares()
	for i, s := range cfg.EvictionShares() {
		if s != usual[i] {
			set = append(set, s.Name+"="+rounded(float64(s.Of)*100))
		}
	}

	if cfg.EvictionThreadsMin != fixed.EvictionThreadsMin || cfg.EvictionThreadsMax != fixed.EvictionThreadsMax {
		set = append(set, fmt.Sprintf("eviction=(threads_min=%d,threads_max=%d)", cfg.EvictionThreadsMin,
			cfg.EvictionThreadsMax))
	}

	if cfg.IOCapacity != 0 {
		set = append(set, fmt.Sprintf("io_capacity=(total=%d)", int64(cfg.IOCapacity)))
	}

	return strings.Join(set, ",")
}

// rounded and decimal format numbers. mongod and WiredTiger accept only whole seconds and
// percentages.
func rounded(x float64) string { return strconv.FormatFloat(math.Round(x), 'f', -1, 64) }
func decimal(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// noIndexes is the remark for scenarios with engine.mongodb.indexes.
const noIndexes = "engine.mongodb.indexes is ignored: the collection has only the index on _id"

// cannot lists the scenario's settings that mongod does not support. It returns an error for anything
// that mongod cannot do at all.
func cannot(cfg *wiredtiger.Config, version string) ([]string, error) {
	if !wiredtiger.Enabled(cfg.Journal) {
		if major, minor := release(version); major > 6 || major == 6 && minor >= 1 {
			return nil,
				errors.New("journal: false: mongod has not supported this since 6.1; plimsoll's own WiredTiger worker does (omit --mongod)")
		}
		return nil,
			errors.New("journal: false: with mongod the lab always has a journal; plimsoll's own WiredTiger worker can run without one (omit --mongod)")
	}

	var out []string
	if cfg.Cache < cacheLeast {
		out = append(out,
			fmt.Sprintf("engine.mongodb.cache is %s in the scenario, but mongod accepts at least %s, which is used here",
				cfg.Cache.Exact(), cacheLeast.Exact()))
	}

	if cfg.Indexes > 0 {
		out = append(out, noIndexes)
	}

	fixed := wiredtiger.Defaults()
	if cfg.LeafPage != fixed.LeafPage || cfg.LogFile != fixed.LogFile {
		out = append(
			out, "engine.mongodb.leaf_page and log_file are compiled into mongod: 32 KB and 100 MB here")
	}

	return out, nil
}
