package act_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/judge/act"
	"plimsoll/internal/judge/rules"
)

// mongosh is a stand-in for the client: it evaluates its input with a server whose settings are files.
// Like WiredTiger, it merges run-time settings into the settings in effect.
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

// mongodWay returns one of MongoDB's ways of a remedy.
func mongodWay(t *testing.T, remedy string, place rules.Place, values rules.Values) act.Way {
	t.Helper()
	for _, m := range pack.Remedies() {
		if m.Name != remedy {
			continue
		}
		for _, w := range act.Describe(pack, "mongodb", m, values).Ways {
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

// WiredTiger's settings come back exactly, whether they were set at run time, in mongod.conf or not
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
			b.restores(func() string { return b.run([]string{"mongosh --state"}) })
		})
	}
}

// The journal moves to its volume through a link, with fstab written first, and comes back. In
// fstab only the line for this mount point is removed: other databases' journals stay.
func TestJournalRestored(t *testing.T) {
	machine := t.TempDir()
	path := func(name string) string { return filepath.Join(machine, name) }

	const others = "UUID=1 / ext4 defaults 0 1\nUUID=2 /var/lib/other/journal xfs noatime 0 2\nUUID=3 /srv/mongodb-journal-2 xfs noatime 0 2"
	for name, text := range map[string]string{"data/journal/WiredTigerLog.1": "first", "fstab": others + "\n"} {
		if err := os.MkdirAll(filepath.Dir(path(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	nothing := "#!/bin/sh\nexit 0\n"
	way := mongodWay(t, "journal-apart", rules.Host, rules.Values{"dbpath": rules.Value(path("data")), "unit": "mongod", "device": "/dev/none"})
	b := benchOf(t, way, map[string]string{
		"mkfs.xfs": nothing, "umount": "#!/bin/sh\nrm -rf \"$1\"/*\n", "mountpoint": nothing, "systemctl": nothing, "findmnt": nothing, "lsblk": nothing,
		// Mounting needs the line in fstab.
		"mount": "#!/bin/sh\ngrep -q \" $1 \" " + path("fstab") + "\n", "blkid": "#!/bin/sh\necho 9\n",
	}, "/srv/mongodb-journal", path("srv"), "/etc/fstab", path("fstab"), "grep -E '^ *dbPath:' /etc/mongod.conf", "true")

	b.run(way.Do)
	if to, err := os.Readlink(path("data/journal")); err != nil || to != path("srv/journal") || read(t, path("srv/journal/WiredTigerLog.1")) != "first" {
		t.Fatalf("the journal is at %q, %v", to, err)
	}

	if got := read(t, path("fstab")); !strings.HasPrefix(got, others) || !strings.HasSuffix(got, "UUID=9 "+path("srv")+" xfs noatime 0 2") {
		t.Errorf("fstab is\n%s", got)
	}

	if err := os.WriteFile(path("data/journal/WiredTigerLog.1"), []byte("newer"), 0o600); err != nil {
		t.Fatal(err)
	}

	b.run(way.Undo)
	if info, err := os.Lstat(path("data/journal")); err != nil || !info.IsDir() || read(t, path("data/journal/WiredTigerLog.1")) != "newer" {
		t.Errorf("the journal did not come back: %v, %v", info, err)
	}

	if got := read(t, path("fstab")); got != others {
		t.Errorf("fstab is\n%s", got)
	}
}

// Values that the sources do not show become variables that stop the command, never guesses.
func TestJournalGuessesNothing(t *testing.T) {
	way := mongodWay(t, "journal-apart", rules.Host, nil)
	for _, variable := range []string{"DBPATH", "UNIT", "DEVICE"} {
		if !strings.Contains(strings.Join(way.Do, "\n"), "${"+variable+":?") {
			t.Errorf("no variable %s in %s", variable, way.Do)
		}
	}
	if text := strings.Join(way.Do, "\n"); strings.Contains(text, "/var/lib/mongo") {
		t.Errorf("the folder is guessed: %s", text)
	}
}
