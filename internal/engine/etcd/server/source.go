//go:build linux

package server

import (
	"plimsoll/internal/engine/etcd/live"
	"plimsoll/internal/record/exposition"
	"plimsoll/internal/record/source"
)

// newSource reads a member's /metrics, with the member's name in the label instance, like the live
// source.
func newSource(p *place) (source.Source, error) {
	// Our own process: it must not receive credentials for other exporters.
	opt := exposition.URLOptions{Getenv: func(string) string { return "" },
		Exporters: []exposition.Exporter{live.Exporter}}
	return exposition.OpenMember("http://"+address(p.client)+"/metrics",
		exposition.Member{Instance: p.name}, opt)
}
