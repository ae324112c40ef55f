package act_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/judge/act"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/testkit"
)

// mongosh is a stand-in for the client: it evaluates its input against a server whose settings are
// files. Like WiredTiger, it merges run-time settings into the settings in effect.
const mongosh = `#!/usr/bin/env node
const fs = require("fs"), at = process.env.SERVER + "/", file = n => fs.existsSync(at + n) ? fs.readFileSync(at + n, "utf8") : "";
const parse = t => { const o = {}; for (const m of t.matchAll(/([a-z_]+)=(\([^)]*\)|[^,]+)/g)) o[m[1]] = m[2][0] == "(" ? parse(m[2].slice(1, -1)) : m[2]; return o };
const merge = (a, b) => { for (const k in b) a[k] = typeof b[k] == "object" ? merge(a[k] || {}, b[k]) : b[k]; return a };
const now = () => merge(merge(parse("cache_size=8192M,eviction_target=80,eviction_dirty_target=5,eviction_dirty_trigger=20,eviction=(threads_min=4,threads_max=4)"), parse(file("configString"))), parse(file("now")));
const print = console.log;
const db = {
  adminCommand: c => {
    if (c.getCmdLineOpts) return {parsed: {storage: {wiredTiger: {engineConfig: {configString: file("configString")}}}}};
    if (c.getParameter) return {wiredTigerEngineRuntimeConfig: file("runtime"), wiredTigerEvictionDirtyTargetGB: 0};
    if (!c.wiredTigerEngineRuntimeConfig) throw new Error("nothing to set");
    fs.writeFileSync(at + "runtime", c.wiredTigerEngineRuntimeConfig);
    fs.writeFileSync(at + "now", [file("now"), c.wiredTigerEngineRuntimeConfig].filter(x => x).join(","));
    return {ok: 1};
  },
  serverStatus: () => ({wiredTiger: {cache: {"maximum bytes configured": parseInt(now().cache_size) * 1048576}}}),
};
if (!process.argv.includes("--state") && process.argv[process.argv.indexOf("--port") + 1] != "27117") throw new Error("another server");
if (process.argv.includes("--state")) console.log(JSON.stringify(now())); else eval(process.argv[process.argv.indexOf("--eval") + 1]);
`

// mongodWay returns one of a remedy's ways for MongoDB.
func mongodWay(t *testing.T, remedy string, place rules.Place, values rules.Values) act.Way {
	t.Helper()
	for _, m := range testkit.Pack().Remedies() {
		if m.Name != remedy {
			continue
		}
		for _, w := range act.Describe(testkit.Pack(), "mongodb", m, values).Ways {
			if w.Place == string(place) {
				return w
			}
		}
	}
	t.Fatalf("no remedy %s in %s", remedy, place)
	return act.Way{}
}

// benchOf makes a bench for a given way.
func benchOf(t *testing.T, way act.Way, programs map[string]string, replaced ...string) *bench {
	t.Helper()
	bin := t.TempDir()
	programs["sudo"] = "#!/bin/sh\nexec \"$@\"\n"
	for name, text := range programs {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b := &bench{t: t, way: way, home: t.TempDir(), replaced: strings.NewReplacer(replaced...)}
	b.env = append(os.Environ(), "HOME="+b.home, "PATH="+bin+":"+os.Getenv("PATH"))
	return b
}

// WiredTiger's settings are restored exactly, whether they were set at run time, in mongod.conf or not
// at all, and however often the state is saved. Triggers are never changed.
func TestEvictionRestored(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not installed: the stand-in for mongosh needs it")
	}

	several := map[string]string{"configString": "eviction_dirty_target=3", "runtime": "eviction_dirty_target=6,cache_size=4G", "now": "eviction_dirty_target=6,cache_size=4096M"}
	for name, c := range map[string]struct {
		remedy string
		files  map[string]string
	}{
		"defaults":        {"eviction-earlier", nil},
		"in mongod.conf":  {"eviction-earlier", map[string]string{"configString": "eviction_dirty_target=3,eviction=(threads_max=10),eviction_dirty_trigger=15"}},
		"at run time":     {"checkpoint-smaller", map[string]string{"runtime": "eviction_target=75,eviction_dirty_target=4", "now": "eviction_target=75,eviction_dirty_target=4"}},
		"in several ways": {"eviction-earlier", several},
		"fill":            {"eviction-fill", several},
		"cache":           {"cache-within", several},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := t.TempDir()
			for f, text := range c.files {
				if err := os.WriteFile(filepath.Join(server, f), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}

			way := mongodWay(t, c.remedy, rules.Host, nil)
			if strings.Contains(strings.Join(way.Do, ""), "trigger") {
				t.Errorf("a trigger is changed: %s", way.Do)
			}

			b := benchOf(t, way, map[string]string{"mongosh": mongosh})
			b.env = append(b.env, "SERVER="+server, "PORT=27117")
			b.brief = name != "in several ways"
			b.restores(func() string { return b.run([]string{"mongosh --state"}) })
		})
	}
}

// A log is moved by the scripts of `plimsoll emit`, never by lines to paste. Values that the sources do
// not show become variables that stop the command, never guesses.
func TestLogsMoveByScripts(t *testing.T) {
	for _, c := range []struct {
		way       act.Way
		variables []string
	}{
		{mongodWay(t, "journal-apart", rules.Host, nil), []string{"DBPATH", "UNIT", "DEVICE"}},
		{wayOf(t, "postgres", "wal-apart", rules.Host), []string{"PGDATA", "UNIT", "DEVICE"}},
		{wayOf(t, "etcd", "etcd-wal-apart", rules.Host), []string{"DATA", "UNIT", "DEVICE"}},
	} {
		text := strings.Join(slices.Concat(c.way.Look, c.way.Do), "\n")
		for _, variable := range c.variables {
			if !strings.Contains(text, "${"+variable+":?") {
				t.Errorf("no variable %s in %s", variable, text)
			}
		}
		for _, want := range []string{"plimsoll emit --move-log ", "/volume.sh ", "/log.sh apply"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in %s", want, text)
			}
		}
	}
}
