package advise

import (
	"strconv"
	"strings"

	"plimsoll/internal/advise/discover"
	"plimsoll/internal/advise/fit"
	"plimsoll/internal/base/units"
)

// Container describes a server in a container. Its command line overrides its files.
func Container() discover.Container {
	return discover.Container{Images: []string{"postgres", "postgresql", "postgis", "timescaledb", "spilo"},
		Programs: []string{"postgres"}, Settings: serverSettings}
}

// A parameter is a setting of the server with the unit of a bare number (PostgreSQL documentation,
// "Server Configuration").
type parameter struct {
	name string
	read func(text string) (fit.Quantity, bool)
}

// parameters are the settings that a scenario has under the same names.
var parameters = []parameter{
	{"shared_buffers", memory(8 * units.KiB)},
	{"max_connections", number},
	{"checkpoint_timeout", timeOf(1)},
	{"checkpoint_completion_target", func(text string) (fit.Quantity, bool) {
		x, err := strconv.ParseFloat(text, 64)
		return fit.Ratio(x), err == nil
	}},
	{"max_wal_size", memory(units.MiB)},
	{"min_wal_size", memory(units.MiB)},
	{"full_page_writes", boolean},
	{"wal_buffers", memory(8 * units.KiB)},
	{"synchronous_commit", boolean},
	{"wal_writer_delay", timeOf(1e-3)},
	{"bgwriter_delay", timeOf(1e-3)},
	{"bgwriter_lru_maxpages", number},
}

// serverSettings reads -c name=value and --name=value from the command line, and files that end in
// .conf. If a name occurs several times, the last one wins.
func serverSettings(p *discover.Process) []discover.Setting {
	type given struct{ value, from string }
	all := map[string]given{}
	for _, file := range p.FilesLike(".conf") {
		text, object := p.File(file)
		// postgresql.conf: name = value or name value, with comments and quotes.
		for line := range strings.Lines(text) {
			line, _, _ = strings.Cut(line, "#")
			name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
			if !ok {
				name, value, _ = strings.Cut(strings.TrimSpace(line), " ")
			}
			if name = strings.TrimSpace(name); name != "" {
				all[strings.ToLower(name)] = given{strings.Trim(strings.TrimSpace(value), "'"), object + ", " + name}
			}
		}
	}

	// After the files, because the command line takes precedence over them.
	for i, arg := range p.Args {
		setting, long := strings.CutPrefix(arg, "--")
		if i > 0 && p.Args[i-1] == "-c" {
			setting, long = arg, true
		}
		if short, ok := strings.CutPrefix(arg, "-c"); ok && short != "" {
			setting, long = short, true
		}
		if name, value, ok := strings.Cut(setting, "="); ok && long {
			name = strings.ToLower(strings.ReplaceAll(name, "-", "_"))
			all[name] = given{value, "-c " + name}
		}
	}

	var out []discover.Setting
	for _, is := range parameters {
		// Only parameters that a scenario has; all others stay unchanged.
		g, ok := all[is.name]
		if !ok {
			continue
		}
		if q, ok := is.read(g.value); ok {
			out = append(out, discover.Setting{Key: is.name, Value: q, From: g.from + " " + g.value})
		}
	}

	return out
}

func number(text string) (fit.Quantity, bool) {
	x, err := strconv.ParseFloat(text, 64)
	return fit.Count(x), err == nil && x >= 0
}

// boolean parses on or off. synchronous_commit has further values, all of which wait for the local
// log.
func boolean(text string) (fit.Quantity, bool) {
	switch strings.ToLower(text) {
	case "off", "false", "no", "0":
		return fit.Boolean(false), true
	case "on", "true", "yes", "1", "local", "remote_write", "remote_apply":
		return fit.Boolean(true), true
	}
	return fit.Quantity{}, false
}

// suffixed parses a number followed by one of the given units, or by none (bare).
func suffixed(text string, bare float64, of map[string]float64) (float64, bool) {
	at := strings.IndexFunc(text, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	unit := bare
	if at >= 0 {
		var ok bool
		if unit, ok = of[strings.TrimSpace(text[at:])]; !ok {
			return 0, false
		}
		text = text[:at]
	}
	x, err := strconv.ParseFloat(text, 64)
	return x * unit, err == nil
}

func memory(bare units.Size) func(string) (fit.Quantity, bool) {
	return func(text string) (fit.Quantity, bool) {
		x, ok := suffixed(text, float64(bare),
			map[string]float64{"B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40})
		return fit.Exactly(x), ok
	}
}

func timeOf(bare float64) func(string) (fit.Quantity, bool) {
	return func(text string) (fit.Quantity, bool) {
		x, ok := suffixed(text, bare, map[string]float64{"us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600,
			"d": 86400})
		return fit.Duration(x), ok
	}
}
