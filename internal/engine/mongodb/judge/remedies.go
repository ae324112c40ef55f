package judge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/base/shellword"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	onSecondaries = "another member lags: diagnose that member's capture"
	runtimeConfig = "parameter.wiredTigerEngineRuntimeConfig"
)

// client runs statements in MongoDB's shell, on the port of the diagnosed server, because a host
// may run several servers and the default port may belong to another. The legacy shell shipped with
// the server up to 5.0; mongosh works with 5.0 and later.
func client(at rules.ClientAt, statements []string) []string {
	shell := "mongosh"
	if major, err := strconv.Atoi(strings.Split(at.Version, ".")[0]); err == nil && major < 5 {
		shell = "mongo"
	}
	port := shellword.Quote(at.Facts["server.port"])
	if n, err := strconv.ParseUint(at.Facts["server.port"], 10, 16); err != nil || n == 0 {
		port = `"${PORT:?net.port of mongod}"`
	}
	return []string{shell + " --port " + port + " --quiet --eval " +
		shellword.Quote(strings.Join(statements, "; "))}
}

const (
	withCredentials = "If the server asks for credentials, replace --port and its number with your connection string."
	atlas           = "the service refuses the command; ask its support to set it"
)

// identity is the statement that shows which server answers: its host and port, and its dbPath.
const identity = `i = db.adminCommand({getCmdLineOpts: 1}).parsed, print(db.serverStatus().host, (i.storage || {}).dbPath)`

// runtime changes WiredTiger's configuration while mongod runs. There is no startup parameter for
// it (wiredtiger_global_options.idl, set_at: runtime), so mongod.conf sets it in configString.
//
// The former state is what WiredTiger currently uses: the value set at run time, otherwise
// configString, otherwise mongod's default. The parameter alone shows only the first of these.
func runtime(config, target string, byDefault string) []rules.Recipe {
	set := func(text string) string {
		return `db.adminCommand({setParameter: 1, wiredTigerEngineRuntimeConfig: "` + text + `"})`
	}

	return []rules.Recipe{
		{Places: rules.Services, None: atlas},
		{Look: slices.Concat(rules.Ask(identity), rules.Save(stateOf(target), target,
			`p = db.adminCommand({getParameter: "*"})`,
			`s = db.adminCommand({getCmdLineOpts: 1}).parsed.storage || {}`,
			`c = (((s.wiredTiger || {}).engineConfig || {}).configString || "") + "," + (p.wiredTigerEngineRuntimeConfig || "")`,
			`f = function(k, d) { m = c.match(new RegExp("(^|[,(])" + k + "=[^,()]+", "g")); return m ? m.pop().replace(/^[,(]/, "") : k + "=" + d }`,
			`print(f("`+target+`", `+byDefault+
				`) + ",eviction=(" + f("threads_min", 4) + "," + f("threads_max", 4) + ")")`)),
			Do: rules.AskSaved(stateOf(target), set(config)),
			Check: rules.Ask(`c = db.serverStatus().wiredTiger.cache`,
				`m = c["maximum bytes configured"]`, `[c["bytes currently in the cache"] / m, c["tracked dirty bytes in the cache"] / m, (c["bytes allocated for updates"] || 0) / m]`),
			Undo: rules.Restore(stateOf(target), set(rules.Saved)),
			Kept: "a restart resets it; in mongod.conf it is storage.wiredTiger.engineConfig.configString: " +
				config,
			Notes: []string{"Run it on each member. MongoDB asks you to change this only on its support's advice.",
				withCredentials}},
	}
}

// stateOf names the file that keeps a target's former value: "mongodb-eviction-dirty-target".
func stateOf(target string) string { return "mongodb-" + strings.ReplaceAll(target, "_", "-") }

// setAlready returns a condition that holds unless the recording shows the configuration already
// set.
func setAlready(config string) func(*rules.Case, rules.Values) bool {
	return func(c *rules.Case, _ rules.Values) bool {
		return !strings.Contains(c.Facts[runtimeConfig], config) &&
			!strings.Contains(c.Facts["engine_config"], config)
	}
}

// Only the targets change: above a target, eviction's own threads work. Above a trigger, operations
// have to help (dist/api_data.py), and a lower dirty trigger halves the updates trigger with it
// (conn_cache.c). With updates at 8 % of the cache, eviction_dirty_trigger=10 would make all
// operations evict all the time.
var (
	evictEarlier = evictionRemedy("eviction-earlier", "Let background eviction begin earlier, with more threads",
		"eviction_dirty_target", "2",
		`p.wiredTigerEvictionDirtyTargetGB > 0 ? Math.round(1024 * p.wiredTigerEvictionDirtyTargetGB) + "MB" : 5`)
	// smallerCheckpoints leaves less for the checkpoint. No setting limits the rate at which it
	// writes.
	smallerCheckpoints = evictionRemedy("checkpoint-smaller",
		"Leave less for the checkpoint: lower the dirty target", "eviction_dirty_target", "1",
		`p.wiredTigerEvictionDirtyTargetGB > 0 ? Math.round(1024 * p.wiredTigerEvictionDirtyTargetGB) + "MB" : 5`)
	// evictFuller keeps a full cache further from its trigger.
	evictFuller = evictionRemedy(
		"eviction-fill", "Let background eviction keep more of the cache free, with more threads",
		"eviction_target", "70", "80")
)

// evictionRemedy sets one target of eviction, in percent, and more threads. byDefault is the target
// that applies without a setting, as an expression in the client's language.
func evictionRemedy(name, title, target, percent, byDefault string) *rules.Remedy {
	config := target + "=" + percent
	return &rules.Remedy{Name: name, Title: title,
		Recipes: runtime(config+",eviction=(threads_min=4,threads_max=8)", target, byDefault),
		Cost:    "CPU, noticeable on 4 cores but not on 16; pages that change again are written more than once",
		Wait:    3 * time.Minute, Until: "two checkpoints have passed",
		Raises: []string{"iops", "throughput", "utilisation"}, Settings: []string{runtimeConfig},
		Needed: setAlready(config)}
}

// cacheWithin sets the cache to half of the limit less one GiB, as mongod itself does from the
// memory it sees at startup.
var cacheWithin = &rules.Remedy{Name: "cache-within", Title: "Set the cache to half of the memory limit",
	Recipes: []rules.Recipe{
		{Places: rules.Services, None: atlas},
		{Look: slices.Concat(rules.Ask(identity), rules.Save("cache-within", "cache_size",
			`print("cache_size=" + Math.round(db.serverStatus().wiredTiger.cache["maximum bytes configured"] / 1048576) + "M")`)),
			Do: rules.AskSaved("cache-within", `db.adminCommand({setParameter: 1, wiredTigerEngineRuntimeConfig: "cache_size={{.mib}}M"})`),
			Check: rules.Ask(
				`c = db.serverStatus().wiredTiger.cache`, `[c["maximum bytes configured"], c["bytes currently in the cache"]]`),
			Undo: rules.Restore("cache-within", `db.adminCommand({setParameter: 1, wiredTigerEngineRuntimeConfig: "`+
				rules.Saved+`"})`),
			Kept:  "a restart resets it; in mongod.conf it is storage.wiredTiger.engineConfig.cacheSizeGB: {{.gib}}",
			Cost:  "the cache shrinks by eviction, and operations may wait for that: do it when the load is low",
			Notes: []string{withCredentials}},
	},
	Cost: "more reads from the disk if the working set no longer fits",
	Wait: 10 * time.Minute, Until: "the cache has shrunk to the new size",
	Settings: []string{runtimeConfig, "cache_bytes"},
	Size:     sizeCache,
	Needed:   func(_ *rules.Case, v rules.Values) bool { return v["mib"] != "" },
	Example:  rules.Values{"mib": "3584", "gib": "3.5"},
}

const (
	mib        = 1 << 20
	cacheApart = 1024 // MiB reserved for everything but the cache
	cacheLeast = 256
)

func sizeCache(c *rules.Case, _ *rules.Finding) rules.Values {
	limit, _ := strconv.ParseFloat(c.Facts["memory_limit_bytes"], 64)

	// The container's limit applies if it is below the host's.
	if own := timeline.Max(c.One(rules.ContainerMemoryLimit)); own > 0 && (limit == 0 || own < limit) {
		limit = own
	}

	if limit == 0 {
		limit, _ = strconv.ParseFloat(c.Facts["memory_bytes"], 64)
	}

	was := timeline.Max(c.One(CacheMax))
	wanted := (limit/mib - cacheApart) / 2

	// A cache this small would make things worse, and one that fits needs no change.
	if !(wanted >= cacheLeast) || !(was > wanted*mib) {
		return rules.Values{"mib": "", "gib": ""}
	}

	return rules.Values{"mib": rules.Value(fmt.Sprintf("%.0f", wanted)),
		"gib": rules.Value(fmt.Sprintf("%.2f", wanted/1024))}
}

// journalOnVolume moves the journal with the scripts of `plimsoll emit`, to a folder on its own volume,
// with a link from journal in dbPath. If the volume is missing after a reboot, the link dangles and
// mongod does not start. With an empty folder it would start without recovery: WiredTiger treats a
// journal without files as a new one (txn_recover.c), and journaled writes are lost.
var journalOnVolume = &rules.Remedy{Name: "journal-apart", Title: "Give the journal its own volume",
	Relieves: []rules.Resource{rules.OwnVolume},
	Recipes: []rules.Recipe{
		rules.MoveLog("wiredtiger", "", rules.Ask(identity),
			`{{ask .dbpath "DBPATH" "the dbPath, which the first command showed"}}`,
			`{{ask .unit "UNIT" "the systemd unit of mongod"}}`,
			"mongod, for as long as the copy takes; a secondary first, the primary last, after rs.stepDown()",
			"With SELinux or AppArmor enforcing, first allow mongod access to the folder of the volume (semanage fcontext -a -e DBPATH FOLDER; restorecon).",
			withCredentials),
		{Places: []rules.Place{rules.Kubernetes},
			None: "a StatefulSet's volume claims cannot be extended in place: plimsoll emit SCENARIO --set 'volumes.journal={type: gp3, size: 10GiB}' --target kubernetes --statefulset FILE writes the manifests and the steps, and plimsoll rollout --on does them"},
		{Places: []rules.Place{rules.Docker},
			None: "the container has to be recreated with a volume mounted at journal in its dbPath that holds a copy of the journal"},
		{Places: rules.Services, None: atlas},
	},
	Cost:  "the checkpoint takes as long as before",
	Money: "one more small volume{{if not .elsewhere}}, for example 10 GiB of gp3: USD 0.80 a month (us-east-1){{end}}",
	Wait:  10 * time.Minute, Until: "a few checkpoints have passed",
	Raises: []string{"checkpoint"},
	Size: func(c *rules.Case, _ *rules.Finding) rules.Values {
		return rules.Values{"dbpath": rules.Folder(c.Facts["dbpath"])}
	},
}

// remedies maps the generic remedies to MongoDB's implementations.
var remedies = map[*rules.Remedy]*rules.Remedy{
	rules.LogApart: journalOnVolume, rules.PaceWrites: smallerCheckpoints, rules.CacheWithin: cacheWithin,
}
