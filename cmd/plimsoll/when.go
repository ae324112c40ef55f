package main

import (
	"path/filepath"
	"strings"
	"time"

	"plimsoll/internal/record/address"
)

// moments are the formats of a time, besides RFC 3339 and a negative duration.
var moments = []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04",
	"2006-01-02 15:04", "2006-01-02"}

// parseMoment reads a time: RFC 3339, the same without a zone (then zone's), "now", or
// a duration before now such as -2h30m.
func parseMoment(flag, text string, now time.Time, zone *time.Location) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if text == "now" {
		return now, nil
	}

	if d, err := time.ParseDuration(text); err == nil {
		// People write 2h for two hours ago, so the hint suggests the minus sign.
		if d > 0 {
			return time.Time{}, usagef("write -"+text+" for "+text+" ago", "%s %s is in the future", flag, text)
		}
		return now.Add(d), nil
	}

	// A zone in the text overrides --tz.
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}

	for _, layout := range moments {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t, nil
		}
	}

	return time.Time{},
		usagef("for example 2026-07-20T15:55:00Z, \"2026-07-20 15:55\" (in the zone of --tz), or -2h",
			"%s %q is not a time", flag, text)
}

// offsets are corrections to sources' clocks.
type offsets struct {
	all  time.Duration
	some map[string]time.Duration // by the source's argument, or its last element
}

// parseOffsets reads values of --offset: "2s" for all sources, "iostat.log=-2s" for one of them.
func parseOffsets(values, args []string) (offsets, error) {
	o := offsets{some: map[string]time.Duration{}}
	for _, v := range values {
		name, text := "", v
		if i := strings.LastIndexByte(v, '='); i >= 0 {
			name, text = v[:i], v[i+1:]
		}

		d, err := time.ParseDuration(text)
		if err != nil {
			// the text after the = may be part of a password
			if strings.Contains(v, "@") || strings.Contains(v, "://") {
				return o, usagef("for example --offset 2s, or --offset iostat.log=-90m",
					"--offset %q does not end with = and a duration", address.Public(v))
			}
			return o, usagef("for example --offset 2s, or --offset iostat.log=-90m",
				"--offset %q: %q is not a duration", v, text)
		}

		if name == "" {
			o.all = d
			continue
		}

		if err := checkArgument("--offset "+text, name, args); err != nil {
			return o, err
		}

		o.some[name] = d
	}

	return o, nil
}

// of is the correction for one source: the one that names it, or else the one for all.
func (o offsets) of(arg string) time.Duration {
	for _, name := range []string{arg, filepath.Base(arg)} {
		if d, ok := o.some[name]; ok {
			return d
		}
	}
	return o.all
}
