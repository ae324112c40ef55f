package live

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/record/recording"
)

// settingsQuery returns the numeric and boolean settings, as the exporter does, except those that
// our own session changed.
const settingsQuery = "SELECT name, setting, coalesce(unit, ''), vartype FROM pg_settings WHERE vartype IN ('bool', 'integer', 'real')" +
	" AND source <> 'client' AND name <> 'transaction_read_only'"

// Units of settings (pg_settings.unit), in seconds or bytes. A number may precede a unit: 8kB.
var (
	timeUnits = map[string]float64{"ms": 1e-3, "s": 1, "min": 60, "h": 3600, "d": 86400}
	sizeUnits = map[string]float64{"B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
)

// metricOfSetting returns the series of a setting, such as pg_settings_checkpoint_timeout_seconds.
// -1, which means "off" or "the same as another setting", stays -1. ok is false if the setting is
// not a number.
func metricOfSetting(name, setting, unit, vartype string) (metric string, value float64, ok bool) {
	metric = "pg_settings_" + strings.ReplaceAll(name, ".", "_")
	if vartype == "bool" {
		if setting == "on" {
			value = 1
		}
		return metric, value, setting == "on" || setting == "off"
	}

	value, err := strconv.ParseFloat(setting, 64)
	if err != nil {
		return "", 0, false
	}

	if unit == "" {
		return metric, value, true
	}

	// Units may have a factor, such as 8kB for settings in pages.
	count, base := 1.0, strings.TrimLeft(unit, "0123456789")
	if digits := strings.TrimSuffix(unit, base); digits != "" {
		if count, err = strconv.ParseFloat(digits, 64); err != nil {
			return "", 0, false
		}
	}

	suffix := "_seconds"
	scale, known := timeUnits[base]
	if !known {
		suffix = "_bytes"
		scale, known = sizeUnits[base]
	}

	if !known {
		return metric, value, true
	}

	switch {
	// -1 is not a quantity: with a unit it would become a negative size.
	case value == -1:
	case base == "ms": // 1500/1000 is exactly 1.5, 1500*0.001 may not be
		value = value * count / 1000
	default:
		value *= count * scale
	}

	return metric + suffix, value, true
}

// factsQuery returns settings in a human-readable format.
const factsQuery = "SELECT name, current_setting(name) FROM pg_settings WHERE name IN ("

// factNames are the settings that determine how a server writes.
var factNames = []string{
	"shared_buffers", "checkpoint_timeout", "checkpoint_completion_target", "checkpoint_flush_after",
	"bgwriter_flush_after", "backend_flush_after",
	"max_wal_size", "min_wal_size", "full_page_writes", "wal_compression", "wal_buffers", "wal_sync_method",
	"synchronous_commit", "fsync", "commit_delay",
	"max_connections", "track_io_timing", "track_wal_io_timing", "huge_pages", "effective_io_concurrency",
	"io_method", "data_checksums",
}

// addressNames are the settings by which a client on the server's own host reaches it. Fixes do not
// change them, so their facts begin with "server.".
var addressNames = []string{"port", "unix_socket_directories", "data_directory"}

// services are settings that only one provider's servers have, with the name of its service. Aurora servers
// have RDS's settings, too, so the last match counts.
var services = []struct{ setting, service string }{
	{"azure.extensions", "azure"},
	{"cloudsql.iam_authentication", "cloudsql"},
	{"rds.extensions", "rds"},
	{"apg_ccm_enabled", "aurora"},
}

func factsStatement() string {
	names := slices.Concat(factNames, addressNames)
	for _, x := range services {
		names = append(names, x.setting)
	}
	return factsQuery + "'" + strings.Join(names, "', '") + "')"
}

// rereadEvery is how often settings are read again, because a reload may change them.
const rereadEvery = time.Minute

// aboutItself returns the queries for settings, as series and as facts.
func (s *sampler) aboutItself() []*question {
	return []*question{
		{name: "pg_settings", query: settingsQuery, columns: 4, every: rereadEvery, take: s.takeSettings},
		{name: "pg_settings", query: factsStatement(), columns: 2, every: rereadEvery, take: s.takeFacts},
	}
}

// takeSettings keeps the settings as series. Every sample includes them, like every page of the
// exporter.
func (s *sampler) takeSettings(rows [][][]byte) ([]recording.Column, error) {
	s.settings = nil
	for _, r := range rows {
		metric, value, ok := metricOfSetting(string(r[0]), string(r[1]), string(r[2]), string(r[3]))
		if ok && s.wants(metric) {
			s.settings = append(s.settings,
				recording.Column{Labels: s.labelled(metric, nil, nil), Values: []float64{value}})
		}
	}
	return nil, nil
}

func (s *sampler) takeFacts(rows [][][]byte) ([]recording.Column, error) {
	for _, r := range rows {
		if slices.Contains(factNames, string(r[0])) {
			s.facts["postgresql."+string(r[0])] = clipped(string(r[1]))
		}
		if slices.Contains(addressNames, string(r[0])) {
			s.facts["server."+string(r[0])] = clipped(string(r[1]))
		}
	}

	for _, x := range services {
		if slices.ContainsFunc(rows, func(r [][]byte) bool { return string(r[0]) == x.setting }) {
			s.facts["server.service"] = x.service
		}
	}
	return nil, nil
}
