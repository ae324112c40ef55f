package advise

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"plimsoll/internal/advise/discover"
	"plimsoll/internal/advise/fit"
)

// Container describes a member in a container: its flags, its environment, or a file, which
// excludes the other two (etcd documentation, "Configuration options").
func Container() discover.Container {
	return discover.Container{
		Images: []string{"etcd"}, Programs: []string{"etcd"}, Settings: memberSettings,
		LogFolder: func(p *discover.Process) string {
			value, _ := option(p, "wal-dir")
			return value
		},
	}
}

// option returns the value of an etcd option and its origin; "" if it is not set.
func option(p *discover.Process, name string) (value, from string) {
	if file, _ := p.Flag("--config-file"); file != "" {
		text, object := p.File(file)
		values := map[string]any{}
		if yaml.Unmarshal([]byte(text), &values) == nil && values[name] != nil {
			return fmt.Sprint(values[name]), object + ", " + name
		}
		return "", ""
	}
	if value, from = p.Flag("--" + name); value != "" {
		return value, from
	}
	variable := "ETCD_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	return p.Getenv(variable), variable
}

// memberSettings are the settings that a scenario has.
func memberSettings(process *discover.Process) []discover.Setting {
	milliseconds := func(text string) (fit.Quantity, error) {
		n, err := strconv.ParseFloat(text, 64)
		return fit.Duration(n / 1000), err
	}

	count := func(text string) (fit.Quantity, error) {
		n, err := strconv.ParseFloat(text, 64)
		return fit.Count(n), err
	}

	var out []discover.Setting
	for _, setting := range []struct {
		key, name, older string
		read             func(text string) (fit.Quantity, error)
	}{
		{"heartbeat", "heartbeat-interval", "", milliseconds},
		{"election", "election-timeout", "", milliseconds},
		{"batch_interval", "backend-batch-interval", "", interval},
		{"batch_limit", "backend-batch-limit", "", count},
		{"snapshot_count", "snapshot-count", "", count},
		{"catchup_entries", "snapshot-catchup-entries", "experimental-snapshot-catchup-entries", count},
		{"quota", "quota-backend-bytes", "", func(text string) (fit.Quantity, error) {
			n, err := strconv.ParseFloat(text, 64)
			return fit.Exactly(n), err
		}},
	} {
		value, from := option(process, setting.name)
		// Before 3.6 the name begins with "experimental".
		if value == "" && setting.older != "" {
			value, from = option(process, setting.older)
		}
		if value == "" || value == "0" { // 0 takes etcd's default
			continue
		}
		// A value that etcd would refuse cannot be the one in force.
		if q, err := setting.read(value); err == nil {
			out = append(out, discover.Setting{Key: setting.key, Value: q,
				From: cmp.Or(from, setting.name) + " " + value})
		}
	}

	return out
}

// interval parses a Go duration or, in a file, a number of nanoseconds.
func interval(text string) (fit.Quantity, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return fit.Duration(time.Duration(n).Seconds()), nil
	}
	d, err := time.ParseDuration(text)
	return fit.Duration(d.Seconds()), err
}
