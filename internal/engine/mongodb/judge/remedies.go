package judge

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/base/shellword"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	onSecondaries = "the member that lags is another one: diagnose its own capture"
	runtimeConfig = "parameter.wiredTigerEngineRuntimeConfig"
	// evictionDefaults are what mongod opens WiredTiger with.
	evictionDefaults = "eviction_dirty_target=5,eviction_dirty_trigger=20,eviction=(threads_min=4,threads_max=4)"
)

// client runs statements in MongoDB's shell. The legacy shell came with the server up to 5.0, mongosh
// with 5.0 and later.
func client(at rules.ClientAt, statements []string) []string {
	shell := "mongosh"
	if major, err := strconv.Atoi(strings.Split(at.Version, ".")[0]); err == nil && major < 5 {
		shell = "mongo"
	}
	return []string{shell + " --quiet --eval " + shellword.Quote(strings.Join(statements, "; "))}
}

const (
	withCredentials = "If the server asks for credentials, add your connection string before --quiet."
	atlas           = "the service refuses the command: its support sets it"
)

// runtime is a change of WiredTiger's configuration while mongod runs. It is not a startup parameter
// (wiredtiger_global_options.idl, set_at: runtime), so the file says it as configString.
func runtime(config string) []rules.Recipe {
	set := func(text string) []rules.Command {
		return rules.Ask(`db.adminCommand({setParameter: 1, wiredTigerEngineRuntimeConfig: "` + text + `"})`)
	}
	return []rules.Recipe{
		{Places: []rules.Place{rules.RDS, rules.Managed}, None: atlas},
		{Look: rules.Ask(`db.adminCommand({getParameter: 1, wiredTigerEngineRuntimeConfig: 1})`),
			Do:    set(config),
			Check: rules.Ask(`c = db.serverStatus().wiredTiger.cache`, `c["tracked dirty bytes in the cache"] / c["maximum bytes configured"]`),
			Undo:  set(`{{.undo}}`),
			Kept:  "a restart forgets it; in mongod.conf it is storage.wiredTiger.engineConfig.configString: " + config,
			Notes: []string{"On each member. MongoDB asks to change this only with its support's advice.", withCredentials}},
	}
}

func evictionUndo(c *rules.Case, _ *rules.Finding) rules.Values {
	undo := evictionDefaults
	if was := c.Facts[runtimeConfig]; was != "" && plainConfig(was) {
		undo += "," + was
	}
	return rules.Values{"undo": rules.Called(undo)}
}

// plainConfig reports whether a configuration can stand between quotes.
func plainConfig(s string) bool { return !strings.ContainsAny(s, "\"'`$\\\n") }

// setAlready reports whether the recording says that a configuration is set.
func setAlready(config string) func(*rules.Case, rules.Values) bool {
	return func(c *rules.Case, _ rules.Values) bool { return !strings.Contains(c.Facts[runtimeConfig], config) }
}

var evictEarlier = evictionRemedy("eviction-earlier", "Let background eviction begin earlier, with more threads", "2", "10")

// smallerCheckpoints leaves less for the checkpoint; nothing bounds the rate at which it writes.
var smallerCheckpoints = evictionRemedy("checkpoint-smaller", "Leave less for the checkpoint: lower the dirty target", "1", "5")

func evictionRemedy(name, title, target, trigger string) *rules.Remedy {
	config := "eviction_dirty_target=" + target + ",eviction_dirty_trigger=" + trigger
	return &rules.Remedy{Name: name, Title: title,
		Recipes: runtime(config + ",eviction=(threads_min=4,threads_max=8)"),
		Cost:    "CPU, felt on 4 cores and not on 16; pages that change again are written more than once",
		Wait:    3 * time.Minute, Until: "two checkpoints have passed",
		Raises: []string{"iops", "throughput", "utilisation"}, Settings: []string{runtimeConfig},
		Size: evictionUndo, Needed: setAlready(config), Example: rules.Values{"undo": evictionDefaults}}
}

// cacheWithin sets the cache to half of what the limit leaves beside a GiB, as mongod itself does by
// the memory that it sees at its start.
var cacheWithin = &rules.Remedy{Name: "cache-within", Title: "Set the cache to half of the memory limit",
	Recipes: []rules.Recipe{
		{Places: []rules.Place{rules.RDS, rules.Managed}, None: atlas},
		{Look: rules.Ask(`db.serverStatus().wiredTiger.cache["maximum bytes configured"]`),
			Do:    rules.Ask(`db.adminCommand({setParameter: 1, wiredTigerEngineRuntimeConfig: "cache_size={{.mib}}M"})`),
			Check: rules.Ask(`c = db.serverStatus().wiredTiger.cache`, `[c["maximum bytes configured"], c["bytes currently in the cache"]]`),
			Undo:  rules.Ask(`db.adminCommand({setParameter: 1, wiredTigerEngineRuntimeConfig: "cache_size={{.was}}M"})`),
			Kept:  "a restart forgets it; in mongod.conf it is storage.wiredTiger.engineConfig.cacheSizeGB: {{.gib}}",
			Notes: []string{"The cache shrinks by eviction: operations may wait for it meanwhile. Do it when the load is low.", withCredentials}},
	},
	Cost: "more reads from the disk if the working set no longer fits",
	Wait: 10 * time.Minute, Until: "the cache has shrunk to it",
	Settings: []string{runtimeConfig, "cache_bytes"},
	Size:     sizeCache,
	Needed:   func(_ *rules.Case, v rules.Values) bool { return v["mib"] != "" },
	Example:  rules.Values{"mib": "3584", "gib": "3.5", "was": "8192"},
}

const (
	mib        = 1 << 20
	cacheApart = 1024 // MiB that are not the cache's
	cacheLeast = 256
)

func sizeCache(c *rules.Case, _ *rules.Finding) rules.Values {
	limit, _ := strconv.ParseFloat(c.Facts["memory_limit_bytes"], 64)
	if own := timeline.Max(c.One(rules.ContainerMemoryLimit)); own > 0 && (limit == 0 || own < limit) {
		limit = own
	}
	if limit == 0 {
		limit, _ = strconv.ParseFloat(c.Facts["memory_bytes"], 64)
	}
	was := timeline.Max(c.One(CacheMax))
	wanted := (limit/mib - cacheApart) / 2
	if !(wanted >= cacheLeast) || !(was > wanted*mib) {
		return rules.Values{"mib": "", "gib": "", "was": ""}
	}
	return rules.Values{"mib": rules.Value(fmt.Sprintf("%.0f", wanted)), "gib": rules.Value(fmt.Sprintf("%.2f", wanted/1024)), "was": rules.Value(fmt.Sprintf("%.0f", was/mib))}
}

const (
	journal = `{{q (or .dbpath "/var/lib/mongodb")}}/journal`
	unit    = `{{q (or .unit "mongod")}}`
)

// journalOnVolume moves the journal: the path is fixed, so the new volume is mounted there. Every step
// runs only if the one before did. The journal of a server that is down is copied, never moved away
// first; what is left as journal.before is out of date as soon as the server has started.
var journalOnVolume = &rules.Remedy{Name: "journal-apart", Title: "Give the journal a volume of its own",
	Relieves: []rules.Resource{rules.OwnVolume},
	Recipes: []rules.Recipe{
		{Places: []rules.Place{rules.Host},
			Look: rules.OnShell(`lsblk -f {{ask .device "DEVICE" "the new, empty volume, /dev/..."}}; df -h ` + journal),
			Do: rules.OnShell(
				`sudo mkfs.xfs {{ask .device "DEVICE" "the new, empty volume, /dev/..."}} && sudo mkdir -p /mnt/journal && sudo mount "$DEVICE" /mnt/journal`,
				`sudo systemctl stop `+unit+` && sudo cp -a `+journal+`/. /mnt/journal/ && sudo umount /mnt/journal`+
					` && sudo mv `+journal+` `+journal+`.before && sudo mkdir `+journal+` && sudo mount "$DEVICE" `+journal+
					` && sudo chown -R --reference=`+journal+`.before `+journal+` && sudo systemctl start `+unit),
			Keep:  rules.OnShell(`echo "UUID=$(sudo blkid -s UUID -o value "$DEVICE") ` + `{{or .dbpath "/var/lib/mongodb"}}/journal` + ` xfs noatime 0 0" | sudo tee -a /etc/fstab`),
			Check: rules.OnShell(`systemctl is-active ` + unit + `; findmnt ` + journal),
			Undo: rules.OnShell(`sudo systemctl stop ` + unit + ` && sudo cp -a ` + journal + ` ` + journal + `.back && sudo umount ` + journal + ` && sudo rmdir ` + journal +
				` && sudo mv ` + journal + `.back ` + journal + ` && sudo sed -i '\|/journal xfs|d' /etc/fstab && sudo systemctl start ` + unit),
			Restart: "mongod, for as long as the copy takes; a secondary first, the primary last, after rs.stepDown()",
			Notes: []string{"mkfs.xfs refuses a device that holds a file system. Attach the volume first; plimsoll emit writes that.",
				"journal.before is out of date once mongod has started: delete it, never put it back."}},
		{Places: []rules.Place{rules.Kubernetes}, None: "a StatefulSet's claims cannot be added to in place: plimsoll emit writes the manifests and the steps"},
		{Places: []rules.Place{rules.Docker}, None: "the container has to be made anew, with a volume mounted at journal in its dbPath that holds a copy of the journal"},
		{Places: []rules.Place{rules.RDS, rules.Managed}, None: atlas},
	},
	Cost:  "a snapshot of a single volume is no backup any more; the checkpoint takes as long as before",
	Money: "one more small volume: a gp3 of 10 GiB is USD 0.80 a month (us-east-1)",
	Wait:  10 * time.Minute, Until: "some checkpoints have passed",
	Raises: []string{"checkpoint"},
	Size: func(c *rules.Case, _ *rules.Finding) rules.Values {
		path := c.Facts["dbpath"]
		if !strings.HasPrefix(path, "/") || !plainConfig(path) || strings.ContainsAny(path, " |&") {
			path = ""
		}
		return rules.Values{"dbpath": rules.Called(path), "device": ""}
	},
}

// remedies are MongoDB's ways.
var remedies = map[*rules.Remedy]*rules.Remedy{
	rules.LogApart: journalOnVolume, rules.PaceWrites: smallerCheckpoints, rules.CacheWithin: cacheWithin,
}
