//go:build linux

package rollout

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/yamltree"
)

// Bounds of a site.
const (
	// SiteBytesMax is the largest size of a site's file.
	SiteBytesMax = 1 << 20
	membersMax   = 100
	// patienceDefault is how long an engine may take to stop, or to become healthy after a start.
	patienceDefault = 5 * time.Minute
)

// A Site describes the members on this machine and how to stop and start each.
type Site struct {
	Members []Member `yaml:"members"`
	// Record are the sources to record before and after; empty: the members' addresses and this host.
	Record []string `yaml:"record,omitempty"`
	// Trial allows plain folders as volumes, to try out a rollout.
	Trial bool `yaml:"trial,omitempty"`
}

func (m *Member) patience() time.Duration {
	if m.Patience > 0 {
		return m.Patience.Std()
	}
	return patienceDefault
}

// ParseSite parses a site. The error is of type yamltree.Problems if the text is invalid.
func ParseSite(file string, text []byte) (*Site, error) {
	source := yamltree.NewSource(file, text)
	root, err := yamltree.Parse(text, "site", "")
	var unreadable *yamltree.Unreadable
	if errors.As(err, &unreadable) {
		return nil, yamltree.Problems{source.Place(inputerror.Problem{Text: unreadable.Text}, unreadable.At)}
	}

	if err != nil {
		return nil, err
	}

	s := &Site{}
	d := &yamltree.Decoder{}
	d.Decode(root, reflect.ValueOf(s).Elem(), "")
	fail := func(field, format string, args ...any) { d.Fail(field, root.Locate(field), format, args...) }

	if n := len(s.Members); n == 0 || n > membersMax {
		fail("members", "has %d members; want 1 to %d", n, membersMax)
	}

	for i := range s.Members {
		s.Members[i].check(i, s.Members[:i], fail)
	}

	var all yamltree.Problems
	for _, p := range d.Problems {
		all = append(all, source.Place(p.Problem, p.At))
	}

	if len(all) > 0 {
		return nil, all
	}

	return s, nil
}

// check validates a member, also against the members before it.
func (m *Member) check(i int, before []Member, fail func(field, format string, args ...any)) {
	at := func(key string) string { return fmt.Sprintf("members[%d].%s", i, key) }
	if m.Name == "" {
		m.Name = fmt.Sprintf("m%d", i+1)
	}

	if strings.ContainsAny(m.Name, "/\\:\n\t ") || strings.HasPrefix(m.Name, ".") {
		fail(at("name"), "%q cannot name a file", m.Name)
	}

	absolute := func(key, path string) {
		if !filepath.IsAbs(path) || filepath.Clean(path) != strings.TrimSuffix(path, "/") {
			fail(at(key), "%q is not an absolute path without . and ..", path)
		}
	}

	absolute("data", m.Data)
	m.Data = filepath.Clean(m.Data)

	for k := range m.Volumes {
		absolute("volumes."+m.Volumes[k].Name, m.Volumes[k].Value)
		m.Volumes[k].Value = filepath.Clean(m.Volumes[k].Value)
	}

	if m.Config != "" {
		absolute("config", m.Config)
	}

	switch {
	case m.Unit != "" && (m.Start != "" || m.Stop != ""):
		fail(at("unit"), "excludes start and stop: give either the unit or both commands")
	case (m.Start == "") != (m.Stop == ""):
		fail(at("start"), "start and stop must be given together")
	}

	if slices.ContainsFunc(before, func(o Member) bool { return o.Name == m.Name }) {
		fail(at("name"), "%q is another member's name", m.Name)
	}

	for _, o := range before {
		if o.Data == m.Data {
			fail(at("data"), "%s is the data folder of %s", m.Data, o.Name)
		}
		for _, v := range m.Volumes {
			if to := o.Volumes.Get(v.Name); to != nil && *to == v.Value {
				fail(at("volumes."+v.Name), "%s is also the volume of %s: each member needs a separate one",
					v.Value, o.Name)
			}
		}
	}
}
