package judge

import (
	"regexp"
	"strconv"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A cacheTrigger is a level above which operations, not only background threads, have to evict.
type cacheTrigger struct {
	signal *rules.Signal
	what   string // "80 % full"
	most   string // the label of the highest level
	key    string // in WiredTiger's configuration
	byDef  float64
	// gigabytes are the startup parameters and options that set it in GB.
	gigabytes []string
}

// The defaults are WiredTiger's (dist/api_data.py); mongod sets none of them. The updates trigger
// is half the dirty trigger (conn_cache.c, WT 4.4 to 8.x), so it falls with a lower dirty trigger.
var (
	fillTrigger = cacheTrigger{signal: CacheFill, what: "full", most: "fullest",
		key: "eviction_trigger", byDef: 0.95}
	dirtyTrigger = cacheTrigger{signal: DirtyRatio, what: "dirty", most: "most dirty",
		key: "eviction_dirty_trigger", byDef: 0.20,
		gigabytes: []string{"parameter.wiredTigerEvictionDirtyMaxGB", "eviction_dirty_trigger_gb"}}
	updatesTrigger = cacheTrigger{signal: CacheUpdatesRatio, what: "held by updates",
		most: "most held by updates", key: "eviction_updates_trigger", byDef: 0.10,
		gigabytes: []string{"eviction_updates_trigger_gb"}}

	cacheTriggers = []cacheTrigger{fillTrigger, dirtyTrigger, updatesTrigger}
)

// level is the trigger as a share of the cache: from the source's settings, or the default. set
// reports whether it comes from a setting.
func (t cacheTrigger) level(facts map[string]string) (level float64, set bool) {
	level, set = t.own(facts)
	if t.key == updatesTrigger.key && !set {
		dirty, lower := dirtyTrigger.level(facts)
		level, set = dirty/2, lower
	}
	// No trigger can exceed the trigger of the whole cache.
	if t.key != fillTrigger.key {
		if fill, _ := fillTrigger.own(facts); level > fill {
			level = fill
		}
	}
	return level, set
}

// own is the trigger's own setting, or its default.
func (t cacheTrigger) own(facts map[string]string) (level float64, set bool) {
	cache, _ := strconv.ParseFloat(facts["cache_bytes"], 64)

	// A change at run time overrides the configuration at startup.
	for _, config := range []string{facts[runtimeConfig], facts["engine_config"]} {
		if x, ok := configured(config, t.key); ok {
			if x <= 100 {
				return x / 100, true
			}
			// Values over 100 are in bytes (__cache_config_abs_to_pct).
			if cache > 0 {
				return x / cache, true
			}
		}
	}

	for _, name := range t.gigabytes {
		if gb, err := strconv.ParseFloat(facts[name], 64); err == nil && gb > 0 && cache > 0 {
			return gb * (1 << 30) / cache, true
		}
	}

	return t.byDef, false
}

// where marks the cells in which the trigger is exceeded.
func (t cacheTrigger) where(c *rules.Case) timeline.Mask {
	level, _ := t.level(c.Facts)
	return timeline.Where(c.One(t.signal), func(x float64) bool { return x >= level })
}

// overTrigger marks the cells in which the cache exceeds any of the given triggers.
func overTrigger(c *rules.Case, triggers ...cacheTrigger) timeline.Mask {
	over := make(timeline.Mask, c.Grid.N)
	for _, t := range triggers {
		over = over.Or(t.where(c))
	}
	return over
}

// text is the label of a figure.
func (t cacheTrigger) text(level float64) string {
	return t.most + " (trigger " + units.Percent(level) + ")"
}

// bytesOf are the units in WiredTiger's configuration.
var bytesOf = map[string]float64{"": 1, "B": 1, "K": 1 << 10, "KB": 1 << 10, "M": 1 << 20, "MB": 1 << 20,
	"G": 1 << 30, "GB": 1 << 30, "T": 1 << 40, "TB": 1 << 40}

// configured finds a number in a WiredTiger configuration. If a key occurs several times, the last
// one counts.
func configured(config, key string) (float64, bool) {
	// Commas are doubled because matches may not overlap: each key needs its own leading one.
	all := regexp.MustCompile(`(?:^|[,(\s])`+key+
		`\s*[=:]\s*"?(\d+(?:\.\d+)?)\s*([KMGTkmgt]?[Bb]?)"?(?:[,)\s]|$)`).FindAllStringSubmatch(
		strings.ReplaceAll(config, ",", ",,"), -1)
	if len(all) == 0 {
		return 0, false
	}
	m := all[len(all)-1]
	x, err := strconv.ParseFloat(m[1], 64)
	return x * bytesOf[strings.ToUpper(m[2])], err == nil && x > 0
}
