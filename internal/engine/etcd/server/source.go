//go:build linux

package server

import (
	"plimsoll/internal/engine/etcd/live"
	"plimsoll/internal/record/exposition"
	"plimsoll/internal/record/source"
)

// newSource is a member's /metrics, its series told apart from the other members' by the label
// instance, as package engine/etcd has it.
func newSource(p *place) (source.Source, error) {
	// A process of ours: credentials for other exporters are none of its business.
	opt := exposition.URLOptions{Getenv: func(string) string { return "" }, Exporters: []exposition.Exporter{live.Exporter}}
	return exposition.OpenMember("http://"+address(p.client)+"/metrics", exposition.Member{Instance: p.name}, opt)
}
