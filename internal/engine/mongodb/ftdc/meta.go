package ftdc

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"plimsoll/internal/engine/mongodb/names"
)

// Metadata is the content of a document of type 0 or 2: the server's identity and settings, not its
// state.
type Metadata struct {
	// Version and Host are empty if the document does not have them.
	Version, Host string
	// Facts are settings by name: those in names.Server.
	Facts map[string]string
}

// inSections looks up a path at the top level and in each section.
func inSections(doc []byte, path string) (element, bool) {
	keys := strings.Split(path, ".")
	for _, s := range names.Sections {
		if s != "" {
			keys = append([]string{s}, strings.Split(path, ".")...)
		}
		if e, ok := lookup(doc, keys...); ok {
			return e, true
		}
	}
	return element{}, false
}

// Identify extracts the facts about a server from a document with any of the sections buildInfo,
// hostInfo, getCmdLineOpts, getParameter and serverStatus: the content of metadata, a chunk's reference
// document, or a running server's answers.
func Identify(doc []byte) Metadata {
	metadata := Metadata{Facts: map[string]string{}}
	first := func(paths []string) string {
		for _, path := range paths {
			if e, ok := inSections(doc, path); ok {
				if text := limited(e.text()); text != "" {
					return text
				}
			}
		}
		return ""
	}

	metadata.Version, metadata.Host = first(names.Server.Version), first(names.Server.Host)
	for _, f := range names.Server.Facts {
		e, ok := inSections(doc, f.Path)
		// Several paths may give one fact, depending on the version; the first one wins.
		if !ok || metadata.Facts[f.Name] != "" {
			continue
		}
		v := e.setting(f.Scale)
		if f.Spell != nil {
			v = f.Spell(v)
		}
		if v != "" {
			metadata.Facts[f.Name] = v
		}
	}

	for _, name := range names.Server.Parameters {
		// Metadata and chunks have parameters in different sections.
		for _, in := range names.Server.ParametersIn {
			if e, ok := inSections(doc, in+"."+name); ok {
				if v := e.setting(0); v != "" {
					metadata.Facts["parameter."+name] = v
					break
				}
			}
		}
	}

	return metadata
}

// factLen limits a fact's text, which is displayed but untrusted.
const factLen = 256

func limited(s string) string {
	if len(s) > factLen {
		s = s[:factLen] + "..."
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// setting formats a value as a fact, or "" if its kind has no short text. A number is multiplied by
// scale unless that is 0.
func (e element) setting(scale float64) string {
	switch e.kind {
	case bson.TypeString:
		return limited(e.text())
	case bson.TypeBoolean:
		return strconv.FormatBool(e.value[0] != 0)
	case bson.TypeDouble:
		f := math.Float64frombits(binary.LittleEndian.Uint64(e.value))
		if scale != 0 {
			return strconv.FormatInt(truncate(f*scale), 10)
		}
		return strconv.FormatFloat(f, 'g', -1, 64)
	case bson.TypeInt32, bson.TypeInt64:
		if scale != 0 {
			return strconv.FormatInt(truncate(float64(e.integer())*scale), 10)
		}
		return strconv.FormatInt(e.integer(), 10)
	}

	return ""
}
