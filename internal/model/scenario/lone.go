package scenario

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"plimsoll/internal/base/yamltree"
)

// Text returns the file's text.
func (f *File) Text() []byte { return f.text }

// ParseVolumes reads what to mount and applies assignments. Its input is a scenario, of which only
// volumes and host matter, or a lone volume: an order by itself ("type: gp3"), with its instance if
// that matters ("instance: m5.large"). A lone volume becomes a scenario's volume called data, and
// assignments to it need no prefix: "iops=4000". Problems have their positions in the file and its
// own keys.
func (f *File) ParseVolumes(sets []string) (*Scenario, error) {
	root, err := yamltree.Parse(bytes.TrimPrefix(f.text, []byte("\ufeff")), noun, "")
	if err != nil || root.Find("type") == nil {
		return f.Parse(sets)
	}

	long := make([]string, len(sets))
	for i, set := range sets {
		long[i] = loneSet(set)
	}

	sc, err := f.language.parse(f.path, f.text, long, f.open, loneVolume)
	var problems Problems
	if errors.As(err, &problems) {
		for i := range problems {
			shorten(&problems[i], sets)
		}
		return nil, problems
	}

	// A lone volume has no name key, so it gets its file's name, without directories.
	if err == nil && sc.Name == f.path {
		sc.Name = filepath.Base(f.path)
	}

	return sc, err
}

// Prefixes of a lone volume's keys in the scenario made from it.
const (
	loneVolumeAt   = "volumes.data."
	loneInstanceAt = "host."
	instanceKey    = "instance"
)

// loneVolume makes the mountable part of a scenario from a lone volume.
func loneVolume(lone *yamltree.Node) *yamltree.Node {
	root := &yamltree.Node{Kind: yamltree.Mapping, At: lone.At}
	if on := lone.Find(instanceKey); on != nil {
		host := &yamltree.Node{Kind: yamltree.Mapping, At: on.At, Entries: []yamltree.Entry{*on}}
		lone.Remove(instanceKey)
		root.Entries = append(root.Entries, yamltree.Entry{Key: "host", At: on.At, Value: host})
	}
	volumes := &yamltree.Node{Kind: yamltree.Mapping, At: lone.At,
		Entries: []yamltree.Entry{{Key: "data", At: lone.At, Value: lone}}}
	root.Entries = append(root.Entries, yamltree.Entry{Key: "volumes", At: lone.At, Value: volumes})
	return root
}

// loneSet turns an assignment to a lone volume into one to its scenario.
func loneSet(set string) string {
	key := set
	if i := strings.IndexAny(set, ".=["); i >= 0 {
		key = set[:i]
	}
	switch {
	case key == instanceKey:
		return loneInstanceAt + set
	// These keys belong to the scenario, so they need no prefix.
	case key == "" || slices.Contains([]string{"name", "seed", "host", "volumes"}, key):
		return set
	}
	return loneVolumeAt + set
}

// shorten rewrites a problem with the lone volume's keys, and with the assignment as it was
// written.
func shorten(p *Problem, sets []string) {
	for _, prefix := range []string{loneVolumeAt, loneInstanceAt} {
		p.Field = strings.TrimPrefix(p.Field, prefix)
		if short, ok := strings.CutPrefix(p.Text, prefix); ok && p.Line == 0 && slices.Contains(sets, short) {
			p.Text, p.Column = short, max(p.Column-utf8.RuneCountInString(prefix), 1)
		}
	}
}
