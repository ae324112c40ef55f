package judge

import "plimsoll/internal/judge/rules"

// bounds are the levels from which operations evict pages or wait for a ticket.
var bounds = []rules.Bound{
	{Resource: "cache_fill", Title: "cache in use", Used: CacheFill, At: fillTrigger.byDef,
		Fact: fillTrigger.level, Text: triggerText(fillTrigger), Then: evict},
	{Resource: "cache_dirty", Title: "dirty cache", Used: DirtyRatio, At: dirtyTrigger.byDef,
		Fact: dirtyTrigger.level, Text: triggerText(dirtyTrigger), Then: evict},
	{Resource: "cache_updates", Title: "updates in cache", Used: CacheUpdatesRatio, At: updatesTrigger.byDef,
		Fact: updatesTrigger.level, Text: triggerText(updatesTrigger), Then: evict},
	{Resource: "write_tickets", Title: "write tickets", Used: WriteTicketsOut, Limit: WriteTickets,
		Text: "as the server reports; from 7.0 on it adjusts the number itself", Then: "writes queue"},
	{Resource: "read_tickets", Title: "read tickets", Used: ReadTicketsOut, Limit: ReadTickets,
		Text: "as the server reports; from 7.0 on it adjusts the number itself", Then: "reads queue"},
}

const evict = "operations must evict pages before they continue"

func triggerText(t cacheTrigger) string {
	return t.key + ": the server's setting if it reports one, otherwise the default"
}
