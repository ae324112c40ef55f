package advise

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/base/units"
	wiredtiger "plimsoll/internal/engine/mongodb/model"
	"plimsoll/internal/model/scenario"
)

// mongod writes the options of mongod.conf and, because restarting a replica set takes an evening,
// the settings that can change at run time. The parameter for the latter,
// wiredTigerEngineRuntimeConfig, is not an option of the file: it can only be set at run time
// (server source, wiredtiger_global_options.idl, "set_at: runtime"), and a restart resets it. So
// the file passes the same settings to WiredTiger as configString.
func mongod(transition *emit.Transition) (*emit.Part, error) {
	before := scenario.ConfigOf[*wiredtiger.Config](transition.Before)
	after := scenario.ConfigOf[*wiredtiger.Config](transition.After)
	part := &emit.Part{}
	conf := &mongodConf{values: map[string]string{}, comments: map[string]string{}}
	engine := wiredTigerStrings(before, after, transition)
	var live, back []string

	// mongod.conf takes GiB while WiredTiger takes bytes, so both are rounded to whole MiB.
	if path := "engine.mongodb.cache"; transition.Changed(path) {
		mib := int64(after.Cache / units.MiB)
		conf.set("storage.wiredTiger.engineConfig.cacheSizeGB", gib(after.Cache),
			transition.Comments(path)+"# mongod's unit is GiB.\n")
		live = append(live, fmt.Sprintf("cache_size=%dMB", mib))
		back = append(back, fmt.Sprintf("cache_size=%dMB", int64(before.Cache/units.MiB)))
		part.Applies = append(part.Applies, path)
	}

	if len(engine) > 0 {
		comment, values := "", []string{}
		for _, e := range engine {
			comment += transition.Comments(e.path)
			values = append(values, e.value)
			back = append(back, e.before)
			part.Applies = append(part.Applies, e.paths...)
		}
		live = append(live, values...)
		conf.set("storage.wiredTiger.engineConfig.configString", strings.Join(values, ","),
			comment+
				"# mongod passes this to WiredTiger after its own settings. If you already have a configString, join the two with a comma.\n")
	}

	changed := changedParameters(before, after, transition)
	for _, p := range changed {
		conf.set(p.option, p.value, transition.Comments(p.path))
		part.Applies = append(part.Applies, p.path)
	}

	if conf.err != nil {
		return nil, conf.err
	}

	text := transition.Head("#", "Options of mongod: merge them into your mongod.conf.")
	for _, v := range transition.NewVolumes() {
		if v.Volume == "journal" {
			text += "\n# " + v.Why +
				"\n# There is no option for the journal's location: it is the folder journal in dbPath, which becomes a link to a\n# folder on its volume (" +
				journalMount + "/journal). README.md describes the move.\n"
		}
	}

	if len(conf.values) == 0 {
		return nil, nil
	}

	part.Files = []emit.File{emit.Text("mongod/mongod.conf", text+"\n"+conf.yaml())}
	part.Apply = []string{"Merge `mongod/mongod.conf` into each member's own; it takes effect at the next start."}
	if script := runtimeScript(transition, live, changed); script != "" {
		part.Files = append(part.Files, emit.Text("mongod/runtime.js", script))
		part.Apply = append(
			part.Apply, "Without a restart, on each member: `mongosh \"mongodb://member/?directConnection=true\" mongod/runtime.js | tee -a runtime-member.log`. It first prints which server it is and the present values; keep that log for going back. It lasts until the next restart; after that the file applies.")
	}

	part.Restarts = []string{"mongod, if you do not use `runtime.js`."}
	part.Verify = []string{"`db.serverStatus().wiredTiger.cache`: `maximum bytes configured`, `tracked dirty bytes in the cache`, pages evicted by application threads; " +
		"`db.serverStatus().wiredTiger` `checkpoint` (before 8.0 `transaction`) `most recent time (msecs)`."}
	part.Back = []string{"Remove the options and restart"}

	if len(back) > 0 {
		part.Back[0] += ", or immediately set the values that `runtime.js` printed first. If wiredTigerEngineRuntimeConfig was empty there, those of the scenario: `db.adminCommand({setParameter: 1, wiredTigerEngineRuntimeConfig: \"" +
			strings.Join(back, ",") + "\"})`"
	}

	for _, p := range changed {
		part.Back[0] += fmt.Sprintf(", and `db.adminCommand({setParameter: 1, %s: %s})`", p.name, p.before)
	}

	part.Back[0] += "."
	part.Risks = []string{"`configString` is an option that mongod accepts but does not document: if it contains a word that WiredTiger does not recognise, mongod does not start. Try it on one secondary first."}
	if after.Cache > before.Cache {
		part.Risks = append(
			part.Risks, "A larger cache reduces the page cache, and in a container counts towards its memory limit: mongod needs about 1 GiB more than the cache, plus some for each connection.")
	}

	return part, nil
}

// A parameter is an option of mongod.conf that can also be set at run time (storage_parameters.idl: set_at
// startup and runtime), where it has another name.
type parameter struct{ path, option, name, value, before string }

func changedParameters(b, a *wiredtiger.Config, l *emit.Transition) []parameter {
	seconds := func(d units.Duration) string { return strconv.FormatFloat(d.Std().Seconds(), 'f', -1, 64) }
	ms := func(d units.Duration) string { return strconv.FormatInt(d.Std().Milliseconds(), 10) }
	return slices.DeleteFunc([]parameter{
		{"engine.mongodb.checkpoint", "storage.syncPeriodSecs", "syncdelay",
			seconds(a.Checkpoint), seconds(b.Checkpoint)},
		{"engine.mongodb.journal_interval", "storage.journal.commitIntervalMs", "journalCommitInterval",
			ms(a.JournalInterval), ms(b.JournalInterval)},
	}, func(p parameter) bool { return !l.Changed(p.path) })
}

// A wiredTigerString is one setting in WiredTiger's configuration string.
type wiredTigerString struct {
	path          string   // of the change that comments explain
	paths         []string // all changes that it applies
	value, before string
}

// wiredTigerStrings returns the settings that changed, named as in the WiredTiger configuration
// reference, 11.3 (WT_CONNECTION::reconfigure).
func wiredTigerStrings(b, a *wiredtiger.Config, l *emit.Transition) []wiredTigerString {
	var out []wiredTigerString
	was := b.EvictionShares()
	for i, s := range a.EvictionShares() {
		if path := "engine.mongodb." + s.Name; l.Changed(path) {
			out = append(out, wiredTigerString{path, []string{path}, s.Name + "=" + wtShare(s.Of, a.Cache),
				s.Name + "=" + wtShare(was[i].Of, b.Cache)})
		}
	}

	least, most := "engine.mongodb.eviction_threads_min", "engine.mongodb.eviction_threads_max"
	if l.Changed(least) || l.Changed(most) {
		path := most
		if !l.Changed(most) {
			path = least
		}
		threads := func(c *wiredtiger.Config) string {
			return fmt.Sprintf("eviction=(threads_min=%d,threads_max=%d)", c.EvictionThreadsMin,
				max(c.EvictionThreadsMin, c.EvictionThreadsMax))
		}
		out = append(out, wiredTigerString{path, []string{least, most}, threads(a), threads(b)})
	}

	if path := "engine.mongodb.io_capacity"; l.Changed(path) {
		total := func(t units.Throughput) string { return fmt.Sprintf("io_capacity=(total=%d)", int64(t)) }
		out = append(out, wiredTigerString{path, []string{path}, total(a.IOCapacity), total(b.IOCapacity)})
	}

	return out
}

// wtShare formats a share of the cache for WiredTiger: a whole percentage or, if it is not whole,
// bytes. WiredTiger takes values over 100 as bytes.
func wtShare(r units.Ratio, cache units.Size) string {
	percent := float64(r) * 100
	if whole := math.Round(percent); math.Abs(percent-whole) < 1e-9 {
		return strconv.FormatInt(int64(whole), 10)
	}
	return strconv.FormatInt(int64(math.Round(float64(r)*float64(cache))), 10)
}

// gib formats a cache size for mongod, which rounds it down to whole MiB.
func gib(s units.Size) string {
	return strconv.FormatFloat(float64(s/units.MiB)/1024, 'f', -1, 64)
}

// whichServer prints the server's host, port and dbPath, and the current values of the parameters.
const whichServer = `var i = db.adminCommand({getCmdLineOpts: 1}).parsed;
print(db.serverStatus().host, (i.storage || {}).dbPath);
printjson(db.adminCommand({getParameter: 1, wiredTigerEngineRuntimeConfig: 1, syncdelay: 1,
  journalCommitInterval: 1}));
`

// runtimeScript is a mongosh script with the changes that are possible while mongod runs. It prints
// mongod's answers.
func runtimeScript(l *emit.Transition, live []string, changed []parameter) string {
	var b strings.Builder
	if len(live) > 0 {
		fmt.Fprintf(&b, "printjson(db.adminCommand({setParameter: 1, wiredTigerEngineRuntimeConfig: %q}));\n",
			strings.Join(live, ","))
	}

	for _, p := range changed {
		fmt.Fprintf(&b, "printjson(db.adminCommand({setParameter: 1, %s: %s}));\n", p.name, p.value)
	}

	if b.Len() == 0 {
		return ""
	}

	return l.Head("//", "Run-time settings of mongod, for mongosh. They last until its next restart.") +
		"\n" + whichServer + b.String()
}
