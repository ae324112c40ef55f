package ftdc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"

	"plimsoll/internal/engine/mongodb/names"
)

// Limits on what a chunk may claim. Real chunks stay far below: 1,000 to 5,000 metrics, 300
// samples, 0.2 MB inflated.
const (
	// MaxDepth limits the nesting below the reference document. It is the server's own limit
	// (kMaxRecursion in src/mongo/db/ftdc/util.cpp).
	MaxDepth = 10
	// MaxMetrics limits the metrics of a chunk.
	MaxMetrics = 1 << 16
	// MaxSamples limits the samples of a chunk.
	MaxSamples = 1 << 17
	// MaxValues limits the metrics of a chunk times its samples, because runs of zeros turn a few
	// bytes into millions of values.
	MaxValues = 1 << 24
	// pathBytesMax limits a metric's path, and namesBytesMax the paths of a chunk together. In the
	// file, children share the bytes of their parent's name, but in memory each has its own copy.
	// Real paths have up to 190 bytes each and 0.25 MB together.
	pathBytesMax  = 4096
	namesBytesMax = 8 << 20
	// schemaCacheMetrics limits the metrics of all cached schemas together. A server's schema
	// changes when a collection, a disk or a member is added or removed.
	schemaCacheMetrics = MaxMetrics
)

// A Schema is the names of a chunk's metrics. Chunks whose reference documents have the same keys
// in the same order share one.
type Schema struct {
	paths [][]string
	// repeated marks metrics that have the same path as an earlier one.
	repeated []bool
	// timeAt is the metric that holds the sample times, -1 if there is none.
	timeAt int
	// uptimeAt is the metric with the server's uptime, -1 if there is none.
	uptimeAt int
	plan     *plan // the metrics that a reader wants; nil until needed
}

// Len is the number of metrics.
func (s *Schema) Len() int { return len(s.paths) }

// Path is the path of metric i in the sampled document. The increment of a timestamp is a separate
// metric with the timestamp's path plus "inc". The result is shared and must not be changed.
func (s *Schema) Path(i int) []string { return s.paths[i] }

// Duplicate reports whether an earlier metric has the same path. The server writes the same key
// twice if, for example, two mounts have the same name.
func (s *Schema) Duplicate(i int) bool { return s.repeated[i] }

// A slot is the position of a metric's first value in the reference document.
type slot struct {
	at   int32
	kind bson.Type
	inc  bool // the increment of a timestamp; the previous slot has its seconds
}

func (s slot) width() int32 {
	switch s.kind {
	case bson.TypeBoolean:
		return 1
	case bson.TypeInt32:
		return 4
	case bson.TypeDecimal128:
		return 16
	}
	if s.inc {
		return 0 // the previous slot covers both
	}
	return 8
}

// A layout reads successive reference documents. Usually only the values differ; then the bytes
// between the values are compared at memory speed, without walking the document or looking up keys.
type layout struct {
	cache  *schemaCache
	last   []byte // the reference document that slots refer to
	slots  []slot
	schema *Schema

	shape []byte // buffer of walk
	names int    // total bytes of all paths
}

// read returns the schema of a reference document and its values. It reuses the memory of values if
// that is large enough.
func (l *layout) read(doc []byte, values []int64) (*Schema, []int64, error) {
	// Most chunks have the previous one's layout, so the walk is rare.
	if l.schema == nil || !l.matches(doc) {
		if err := l.walk(doc); err != nil {
			l.schema = nil
			return nil, nil, err
		}
	}

	if cap(values) < len(l.slots) {
		values = make([]int64, len(l.slots))
	}

	values = values[:len(l.slots)]
	for i, s := range l.slots {
		switch {
		case s.inc:
			values[i] = int64(binary.LittleEndian.Uint32(doc[s.at:]))
		case s.kind == bson.TypeInt64:
			values[i] = int64(binary.LittleEndian.Uint64(doc[s.at:]))
		default:
			values[i] = metricValue(s.kind, doc[s.at:])
		}
	}

	return l.schema, values, nil
}

// matches reports whether doc has the same bytes as the last document around its values.
func (l *layout) matches(doc []byte) bool {
	// Values have a fixed width, so the same layout has the same length.
	if len(doc) != len(l.last) {
		return false
	}
	from := int32(0)
	for _, s := range l.slots {
		if s.inc {
			continue
		}
		if !bytes.Equal(doc[from:s.at], l.last[from:s.at]) {
			return false
		}
		from = s.at + s.width()
	}
	return bytes.Equal(doc[from:], l.last[from:])
}

func (l *layout) walk(doc []byte) error {
	l.slots, l.shape, l.names = l.slots[:0], l.shape[:0], 0
	if err := l.descend(doc, 0, 0, 0); err != nil {
		return fmt.Errorf("reference document: %w", err)
	}
	l.last = append(l.last[:0], doc...)
	l.schema = l.cache.get(l.shape)
	return nil
}

// Marks in a shape. Each is followed by a key and a zero byte, except shapeUp. All kinds of number
// share a mark, because the server treats them as the same schema.
const (
	shapeNumber    = 'n'
	shapeDate      = 'd'
	shapeTimestamp = 't'
	shapeDown      = '{'
	shapeUp        = '}'
)

// descend reads the document at an offset. pathBytes is the length of its path.
func (l *layout) descend(doc []byte, at, depth, pathBytes int) error {
	if depth > MaxDepth {
		return fmt.Errorf("offset %d: nested deeper than %d", at, MaxDepth)
	}

	n, err := documentLen(doc[at:])
	if err != nil {
		return fmt.Errorf("offset %d: %w", at, err)
	}

	// Between the document's length (4 bytes) and its closing zero.
	for pos, end := at+4, at+n-1; pos < end; {
		element, next, err := nextElement(doc, pos, end)
		if err != nil {
			return err
		}

		pos = next
		metric := slot{at: int32(element.at), kind: element.kind}

		mark := byte(shapeNumber)
		switch element.kind {
		case bson.TypeDouble, bson.TypeInt32, bson.TypeInt64, bson.TypeDecimal128, bson.TypeBoolean:
		case bson.TypeDateTime:
			mark = shapeDate
		case bson.TypeTimestamp:
			mark = shapeTimestamp
		case bson.TypeEmbeddedDocument, bson.TypeArray:
			l.name(shapeDown, element.key)
			if err := l.descend(doc, element.at, depth+1, pathBytes+len(element.key)+1); err != nil {
				return err
			}
			l.shape = append(l.shape, shapeUp)
			continue
		default:
			continue
		}

		l.name(mark, element.key)
		// A timestamp is two metrics: its seconds and its increment.
		l.slots = append(l.slots, metric)
		if mark == shapeTimestamp {
			l.slots = append(l.slots, slot{at: metric.at, kind: metric.kind, inc: true})
		}

		if err := l.bound(pathBytes + len(element.key)); err != nil {
			return err
		}
	}

	return nil
}

// bound checks the limits after a metric with a path of pathBytes was added.
func (l *layout) bound(pathBytes int) error {
	l.names += pathBytes
	switch {
	case len(l.slots) > MaxMetrics:
		return fmt.Errorf("over %d metrics", MaxMetrics)
	case pathBytes > pathBytesMax:
		return fmt.Errorf("a metric's name has %d bytes; at most %d are read", pathBytes, pathBytesMax)
	case l.names > namesBytesMax:
		return fmt.Errorf("the metrics' names have over %d bytes", namesBytesMax)
	}
	return nil
}

func (l *layout) name(mark byte, key []byte) {
	l.shape = append(l.shape, mark)
	l.shape = append(append(l.shape, key...), 0)
}

// A schemaCache keeps the schemas seen so far, by shape. It is safe for concurrent use.
type schemaCache struct {
	mu      sync.Mutex
	byShape map[string]*Schema
	metrics int
	plan    func(*Schema) *plan // nil: no plans
}

func (c *schemaCache) get(shape []byte) *Schema {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.byShape[string(shape)]; ok {
		return s
	}

	s := newSchema(shape)
	if c.plan != nil {
		s.plan = c.plan(s)
	}

	// Dropping everything is simple, and rare enough not to need an eviction policy.
	if c.byShape == nil || c.metrics+s.Len() > schemaCacheMetrics {
		c.byShape, c.metrics = map[string]*Schema{}, 0
	}

	c.byShape[string(shape)] = s
	c.metrics += s.Len()
	return s
}

// newSchema converts a shape to paths.
func newSchema(shape []byte) *Schema {
	schema := &Schema{timeAt: -1, uptimeAt: -1}
	seen := map[string]bool{}
	var path []string
	add := func(date bool, more ...string) {
		p := slices.Concat(path, more)
		key := strings.Join(p, "\x00")
		schema.repeated = append(schema.repeated, seen[key])
		seen[key] = true
		schema.remember(p, date)
		schema.paths = append(schema.paths, p)
	}

	for len(shape) > 0 {
		mark := shape[0]
		if mark == shapeUp {
			path, shape = path[:len(path)-1], shape[1:]
			continue
		}

		n := bytes.IndexByte(shape, 0)
		key := string(shape[1:n])
		shape = shape[n+1:]

		switch mark {
		case shapeDown:
			path = append(path, key)
		// A timestamp is two metrics, in the order in which mongod writes them.
		case shapeTimestamp:
			add(false, key)
			add(false, key, "inc")
		default:
			add(mark == shapeDate, key)
		}
	}

	return schema
}

// remember notes the metrics that the reader itself needs. The server stamps each sample with a
// top-level "start". In a build that nests everything in sections, the first section's is used,
// which is a few milliseconds later.
func (s *Schema) remember(path []string, date bool) {
	i := len(s.paths)
	last := path[len(path)-1]
	if date && last == "start" && (s.timeAt < 0 || len(path) == 1 && len(s.paths[s.timeAt]) > 1) {
		s.timeAt = i
	}
	if p := names.Bare(path); s.uptimeAt < 0 && len(p) == 2 && p[0] == "serverStatus" && p[1] == "uptimeMillis" {
		s.uptimeAt = i
	}
}
