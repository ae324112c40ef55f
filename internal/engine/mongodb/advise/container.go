package advise

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"plimsoll/internal/advise/discover"
	"plimsoll/internal/advise/fit"
	"plimsoll/internal/base/units"
)

// Container describes how mongod runs in a container. Command-line options override the file.
func Container() discover.Container {
	return discover.Container{
		Images: []string{"mongo", "mongodb", "mongodb-community-server",
			"mongodb-enterprise-server", "percona-server-mongodb"},
		Programs: []string{"mongod"}, Settings: mongodSettings,
	}
}

// cacheLeast is the smallest cache that mongod chooses by default (MongoDB manual, cacheSizeGB).
const cacheLeast = 256 * units.MiB

// mongodSettings returns the settings that a scenario has. Without a cache size, mongod uses half
// of the memory over 1 GiB, counting the container's memory if it has a limit (MongoDB manual,
// cacheSizeGB).
func mongodSettings(process *discover.Process) []discover.Setting {
	file, _ := process.Flag("--config", "-f")
	text, object := process.File(file)

	var out []discover.Setting
	add := func(key, flag, option string, read func(float64) fit.Quantity) bool {
		value, from := process.Flag(flag)
		// A flag takes precedence over the file (MongoDB manual, configuration file options).
		if value == "" {
			value, from = inFile(text, option), object+", "+option
		}
		x, err := strconv.ParseFloat(value, 64)
		if value == "" || err != nil {
			return false
		}
		out = append(out, discover.Setting{Key: key, Value: read(x), From: from + " " + value})
		return true
	}

	gib := func(x float64) fit.Quantity { return fit.Exactly(x * float64(units.GiB)) }
	seconds := fit.Duration
	if !add("cache", "--wiredTigerCacheSizeGB", "storage.wiredTiger.engineConfig.cacheSizeGB", gib) &&
		// mongod's default is derived from the memory limit, which is known only for containers.
		process.Memory > 0 {
		cache := max((process.Memory-units.GiB)/2, cacheLeast)
		out = append(out, discover.Setting{Key: "cache", Value: fit.Exactly(float64(cache)), Derived: true,
			From: fmt.Sprintf("no cache size is set; mongod uses half of the memory over 1 GiB, of %s",
				process.Memory.Exact())})
	}

	add("checkpoint", "--syncdelay", "storage.syncPeriodSecs", seconds)
	add("journal_interval", "--journalCommitInterval", "storage.journal.commitIntervalMs",
		func(x float64) fit.Quantity { return seconds(x / 1000) })
	return out
}

// inFile returns an option of mongod.conf, or "" if it has none or mongod would not start with the file.
func inFile(text, option string) string {
	path, err := yaml.PathString("$." + option)
	var value any
	if err == nil {
		err = path.Read(strings.NewReader(text), &value)
	}
	if err != nil || value == nil {
		return ""
	}
	return fmt.Sprint(value)
}
