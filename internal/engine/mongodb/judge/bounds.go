package judge

import (
	"regexp"
	"strconv"

	"plimsoll/internal/judge/rules"
)

// bounds are the levels from which operations evict, or wait for a ticket.
var bounds = []rules.Bound{
	{Resource: "cache_fill", Title: "cache in use", Used: CacheFill, At: cacheTriggers[0].over, Fact: setting("eviction_trigger"), Text: triggerText("eviction_trigger"), Then: evict},
	{Resource: "cache_dirty", Title: "dirty cache", Used: DirtyRatio, At: cacheTriggers[1].over, Fact: setting("eviction_dirty_trigger"), Text: triggerText("eviction_dirty_trigger"), Then: evict},
	{Resource: "cache_updates", Title: "updates in cache", Used: CacheUpdatesRatio, At: cacheTriggers[2].over, Fact: setting("eviction_updates_trigger"), Text: triggerText("eviction_updates_trigger"), Then: evict},
	{Resource: "write_tickets", Title: "write tickets", Used: WriteTicketsOut, Limit: WriteTickets, Text: "as the server reports; from 7.0 on it changes their number itself", Then: "writes queue"},
	{Resource: "read_tickets", Title: "read tickets", Used: ReadTicketsOut, Limit: ReadTickets, Text: "as the server reports; from 7.0 on it changes their number itself", Then: "reads queue"},
}

const evict = "operations must evict pages before they go on"

func triggerText(name string) string {
	return name + ": the server's setting if it reports one, or else the default"
}

// setting finds a percentage in wiredTigerEngineRuntimeConfig. A value over 100 is in bytes: it is
// no share of the cache.
func setting(name string) func(facts map[string]string) (float64, bool) {
	pattern := regexp.MustCompile(`(?:^|[,(\s])` + name + `=(\d+)(?:[,)\s]|$)`)
	return func(facts map[string]string) (float64, bool) {
		m := pattern.FindStringSubmatch(facts["parameter.wiredTigerEngineRuntimeConfig"])
		if m == nil {
			return 0, false
		}
		n, err := strconv.Atoi(m[1])
		return float64(n) / 100, err == nil && n > 0 && n <= 100
	}
}
