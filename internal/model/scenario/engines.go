package scenario

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/base/diagnostics"
	"plimsoll/internal/base/units"
	etcd "plimsoll/internal/engine/etcd/model"
	iris "plimsoll/internal/engine/iris/model"
	wiredtiger "plimsoll/internal/engine/mongodb/model"
	postgres "plimsoll/internal/engine/postgres/model"
	streams "plimsoll/internal/engine/streams/model"
	"plimsoll/internal/model/workload"
)

// A settings is what a scenario must know of an engine: how its configuration and the other parts
// tell each other.
type settings interface {
	name() string
	// database is its name as recordings and rules have it, "" if it is none.
	database() string
	// volumes are those it needs one of, and those it may have besides.
	volumes() (oneOf, more []string)
	// asked gives the workload what the engine says and the workload does not.
	asked(c *checker)
	// told gives the engine what the workload or the host says and the engine does not.
	told(c *checker, w *workload.Workload)
	check() diagnostics.List
	// size is what its data takes on the volume, as far as it is known.
	size() units.Size
	// cache is what the engine keeps in memory of its own, and under which key.
	cache() (key string, size units.Size)
}

// given are the engines that the scenario has, in the order of the type.
func (e *Engine) given() []settings {
	var out []settings
	if e.WiredTiger != nil {
		out = append(out, (*ofWiredTiger)(e.WiredTiger))
	}
	if e.Etcd != nil {
		out = append(out, (*ofEtcd)(e.Etcd))
	}
	if e.Postgres != nil {
		out = append(out, (*ofPostgres)(e.Postgres))
	}
	if e.IRIS != nil {
		out = append(out, (*ofIRIS)(e.IRIS))
	}
	if e.Streams != nil {
		out = append(out, (*ofStreams)(e.Streams))
	}
	return out
}

// only is the engine of a scenario that has one.
func (e *Engine) only() settings { return e.given()[0] }

// Name is the engine's key in a scenario: "wiredtiger".
func (e *Engine) Name() string {
	if g := e.given(); len(g) > 0 {
		return g[0].name()
	}
	return ""
}

// Database is the product as recordings and rules name it: "mongodb"; "" for streams, which are none.
func (e *Engine) Database() string {
	if g := e.given(); len(g) > 0 {
		return g[0].database()
	}
	return ""
}

var engineNames = []string{"wiredtiger", "etcd", "postgres", "iris", "streams"}

func (c *checker) engine() {
	given := c.Engine.given()
	switch len(given) {
	case 0:
		if slices.ContainsFunc(c.undecoded, func(u placed) bool { return u.noSuch && within(u.Field, "engine") }) {
			return // an engine is meant that there is not, which is told
		}
		c.add(diagnostics.Problem{Field: "engine", Text: "missing: exactly one of " + strings.Join(engineNames, ", ") + ", {wiredtiger: {}} for instance"})
		return
	case 1:
	default:
		for _, g := range given[1:] {
			c.add(diagnostics.Problem{Field: "engine." + g.name(), Text: fmt.Sprintf("a second engine, beside %s: a scenario has one", given[0].name())})
		}
		return
	}
	if len(c.Volumes) > 0 {
		c.needed(given[0])
	}
}

// needed checks that there are the volumes the engine wants and no others.
func (c *checker) needed(s settings) {
	oneOf, more := s.volumes()
	known := append(slices.Clone(oneOf), more...)
	if !slices.ContainsFunc(oneOf, func(name string) bool { return c.Volumes.Get(name) != nil }) {
		c.add(diagnostics.Problem{Field: "volumes", Text: fmt.Sprintf("%s needs a volume called %s", s.name(), strings.Join(oneOf, " or "))})
	}
	check := func(field, name string) {
		if slices.Contains(known, name) {
			return
		}
		p := diagnostics.Problem{Field: field + "." + name, Text: fmt.Sprintf("%s uses no volume called %s: it has %s", s.name(), name, strings.Join(known, ", "))}
		p.Nearest = diagnostics.Nearest(name, known)
		c.add(p)
	}
	for _, v := range c.Volumes {
		check("volumes", v.Name)
	}
	for _, m := range c.Members {
		for _, v := range m.Value.Volumes {
			check("members."+m.Name+".volumes", v.Name)
		}
	}
}

// together checks what shows only in two parts at once.
func (c *checker) together() {
	given := c.Engine.given()
	if len(given) != 1 {
		return
	}
	key, size := given[0].cache()
	if size >= c.Host.Memory && key != "" {
		nearest := (c.Host.Memory/2 - c.Host.Memory/2%units.MiB)
		c.add(diagnostics.Problem{
			Field: "engine." + given[0].name() + "." + key, Text: fmt.Sprintf("a cache of %s does not fit the host's memory", size.Exact()),
			Limit: "less than " + c.Host.Memory.Exact() + ", host.memory", Nearest: nearest.Exact(),
		})
	}
	c.fits()
}

// fits checks the data against its volume.
func (c *checker) fits() {
	data := c.Volumes.Get("data")
	if data == nil || data.Size == 0 || c.load == nil || len(c.problems) > 0 || len(c.undecoded) > 0 {
		return
	}
	size := units.Size(data.Members()) * data.Size
	if want := c.Engine.only().size(); want > size {
		c.add(diagnostics.Problem{
			Field: "volumes.data.size", Text: fmt.Sprintf("a database of %s does not fit", want),
			Limit: "the data volume's " + size.Exact(), Nearest: (want/units.GiB/units.Size(data.Members())*units.GiB + units.GiB).Exact(),
		})
	}
}

type ofWiredTiger wiredtiger.Config

func (*ofWiredTiger) name() string     { return "wiredtiger" }
func (*ofWiredTiger) database() string { return "mongodb" }
func (e *ofWiredTiger) volumes() (oneOf, more []string) {
	if e.Journal != nil && !*e.Journal {
		return []string{"data"}, nil
	}
	return []string{"data"}, []string{"journal"}
}
func (*ofWiredTiger) asked(*checker) {}
func (e *ofWiredTiger) told(c *checker, w *workload.Workload) {
	// MongoDB manual, storage.wiredTiger.engineConfig.cacheSizeGB, 8.0: 50 % of (RAM - 1 GB), at
	// least 256 MB.
	if !c.wrote("engine.wiredtiger.cache") {
		e.Cache = max((c.Host.Memory-units.GiB)/2, 256*units.MiB)
	}
	if !c.wrote("engine.wiredtiger.documents") {
		e.Documents = uint64(w.Documents())
	}
	if !c.wrote("engine.wiredtiger.document_size") {
		e.DocumentSize = w.DocumentSize()
	}
}
func (e *ofWiredTiger) check() diagnostics.List     { return (*wiredtiger.Config)(e).Check() }
func (e *ofWiredTiger) cache() (string, units.Size) { return "cache", e.Cache }
func (e *ofWiredTiger) size() units.Size            { return times(e.Documents, e.DocumentSize) }

type ofEtcd etcd.Config

func (*ofEtcd) name() string                           { return "etcd" }
func (*ofEtcd) database() string                       { return "etcd" }
func (*ofEtcd) volumes() (oneOf, more []string)        { return []string{"data"}, []string{"wal"} }
func (*ofEtcd) asked(*checker)                         {}
func (*ofEtcd) told(c *checker, w *workload.Workload)  {}
func (e *ofEtcd) check() diagnostics.List              { return (*etcd.Config)(e).Check() }
func (e *ofEtcd) cache() (key string, size units.Size) { return "", 0 }
func (e *ofEtcd) size() units.Size                     { return e.Quota }

type ofPostgres postgres.Config

// tupleHeader is a row's header (PostgreSQL 15 documentation, 73.6.1).
const tupleHeader = 24

func (*ofPostgres) name() string     { return "postgres" }
func (*ofPostgres) database() string { return "postgres" }
func (*ofPostgres) volumes() (oneOf, more []string) {
	return []string{"data"}, []string{"wal"}
}
func (e *ofPostgres) asked(c *checker) {
	if c.Workload.Preset != "" {
		return
	}
	if c.Workload.Document == nil && c.Workload.Buckets == nil {
		c.Workload.Document = &workload.Document{Size: max(e.Row-tupleHeader, 1)}
	}
	countKeys(c, uint64(max(e.Rows, 0)))
}
func (e *ofPostgres) told(c *checker, w *workload.Workload) {
	if !c.wrote("engine.postgres.rows") && w.Documents() > 0 {
		e.Rows = int64(min(w.Documents(), 1<<40))
	}
	if !c.wrote("engine.postgres.row") {
		e.Row = w.DocumentSize() + tupleHeader
	}
}
func (e *ofPostgres) check() diagnostics.List     { return (*postgres.Config)(e).Check() }
func (e *ofPostgres) cache() (string, units.Size) { return "shared_buffers", e.SharedBuffers }
func (e *ofPostgres) size() units.Size            { return times(uint64(max(e.Rows, 0)), e.Row) }

type ofIRIS iris.Config

func (*ofIRIS) name() string     { return "iris" }
func (*ofIRIS) database() string { return "iris" }
func (*ofIRIS) volumes() (oneOf, more []string) {
	return []string{"data"}, []string{"wij", "journal"}
}
func (e *ofIRIS) asked(c *checker) { blocks(c, iris.BlockSize, e.Database) }
func (e *ofIRIS) told(c *checker, w *workload.Workload) {
	if !c.wrote("engine.iris.database") {
		e.Database = max(e.Database, times(uint64(w.Documents()), w.DocumentSize()))
	}
}
func (e *ofIRIS) check() diagnostics.List     { return (*iris.Config)(e).Check() }
func (e *ofIRIS) cache() (string, units.Size) { return "buffers", e.Buffers }
func (e *ofIRIS) size() units.Size            { return e.Database }

type ofStreams streams.Config

func (*ofStreams) name() string     { return "streams" }
func (*ofStreams) database() string { return "" }
func (*ofStreams) volumes() (oneOf, more []string) {
	return []string{"wal", "data"}, []string{"journal"}
}
func (e *ofStreams) asked(c *checker)                     { blocks(c, e.Block, e.Data) }
func (*ofStreams) told(*checker, *workload.Workload)      {}
func (e *ofStreams) check() diagnostics.List              { return (*streams.Config)(e).Check() }
func (e *ofStreams) cache() (key string, size units.Size) { return "", 0 }
func (e *ofStreams) size() units.Size                     { return 0 }

// blocks lets a workload without documents ask for blocks of a database.
func blocks(c *checker, block, database units.Size) {
	w := &c.Workload
	if w.Preset != "" || block <= 0 {
		return
	}
	if w.Document == nil && w.Buckets == nil {
		w.Document = &workload.Document{Size: block}
	}
	countKeys(c, uint64(max(database/block, 1)))
}

// countKeys gives the workload a number of keys where it has none.
func countKeys(c *checker, n uint64) {
	w := &c.Workload
	if w.WorkingSet != 0 || w.Buckets != nil {
		return
	}
	keys := workload.Keys{}
	if w.Keys != nil {
		keys = *w.Keys
	}
	if keys.Count == 0 {
		keys.Count = workload.Count(min(n, uint64(workload.CountMax)))
	}
	w.Keys = &keys
}

// times is so many things of a size, bounded.
func times(n uint64, size units.Size) units.Size {
	const most = units.Size(1 << 60)
	if size <= 0 {
		return 0
	}
	if n > uint64(most/size) {
		return most
	}
	return units.Size(n) * size
}
