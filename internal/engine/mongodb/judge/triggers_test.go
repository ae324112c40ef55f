package judge

import (
	"math"
	"testing"
)

// The triggers come from the configuration, wherever it is set. The updates trigger falls with the
// dirty trigger.
func TestTriggersOfConfiguration(t *testing.T) {
	const cache = "1073741824" // 1 GiB
	for name, c := range map[string]struct {
		facts                map[string]string
		fill, dirty, updates float64
	}{
		"defaults":            {nil, 0.95, 0.20, 0.10},
		"dirty":               {map[string]string{runtimeConfig: "eviction_dirty_target=3,eviction_dirty_trigger=10"}, 0.95, 0.10, 0.05},
		"updates":             {map[string]string{runtimeConfig: "eviction_dirty_trigger=10,eviction_updates_trigger=8"}, 0.95, 0.10, 0.08},
		"fill":                {map[string]string{runtimeConfig: "eviction_trigger=15"}, 0.15, 0.15, 0.075},
		"from the file":       {map[string]string{"engine_config": "eviction_dirty_trigger=30"}, 0.95, 0.30, 0.15},
		"run time overrides":  {map[string]string{"engine_config": "eviction_dirty_trigger=30", runtimeConfig: "eviction_dirty_trigger=10"}, 0.95, 0.10, 0.05},
		"the last counts":     {map[string]string{runtimeConfig: "eviction_dirty_trigger=10,eviction_dirty_trigger=40"}, 0.95, 0.40, 0.20},
		"bytes":               {map[string]string{runtimeConfig: "eviction_dirty_trigger=107374182", "cache_bytes": cache}, 0.95, 0.10, 0.05},
		"megabytes":           {map[string]string{runtimeConfig: "eviction_dirty_trigger=512MB", "cache_bytes": cache}, 0.95, 0.50, 0.25},
		"of an unknown cache": {map[string]string{runtimeConfig: "eviction_dirty_trigger=512MB"}, 0.95, 0.20, 0.10},
		"startup parameter":   {map[string]string{"parameter.wiredTigerEvictionDirtyMaxGB": "0.25", "cache_bytes": cache}, 0.95, 0.25, 0.125},
		"parameter not set":   {map[string]string{"parameter.wiredTigerEvictionDirtyMaxGB": "0", "cache_bytes": cache}, 0.95, 0.20, 0.10},
		"updates in GB":       {map[string]string{"eviction_updates_trigger_gb": "0.5", "cache_bytes": cache}, 0.95, 0.20, 0.50},
		"another setting":     {map[string]string{runtimeConfig: "eviction_dirty_target=10"}, 0.95, 0.20, 0.10},
	} {
		t.Run(name, func(t *testing.T) {
			for i, want := range []float64{c.fill, c.dirty, c.updates} {
				if got, _ := cacheTriggers[i].level(c.facts); math.Abs(got-want) > 1e-6 {
					t.Errorf("%s is %g, want %g", cacheTriggers[i].key, got, want)
				}
			}
		})
	}
}
