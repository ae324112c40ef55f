package act

import "plimsoll/internal/judge/rules"

// ServiceOf is serviceOf for tests.
func ServiceOf(host string) (rules.Place, map[string]string) { return serviceOf(hostOf(host)) }
