package act_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"plimsoll/internal/judge/rules"
)

// awsGroups stands in for the API of a parameter group. Each line of the state is a parameter with its
// value, its source, its default, and whether it can be changed. As with the API, a call that names an
// unknown parameter changes nothing.
const awsGroups = `#!/bin/bash
fail() { echo "$*" >&2; exit 254; }
[[ $1 == rds ]] || fail "$*"
operation=$2; shift 2
case "$operation $*" in
"describe-db-$INSTANCES --query "*) printf 'own\tdb-1\n'; exit ;;
"describe-db-$INSTANCES "*Group*) echo own; exit ;;
"describe-db-$INSTANCES "*) echo db-1; exit ;;
esac
[[ $1 == "--db-${KIND}parameter-group-name" && $2 == own ]] || fail "another group: $*"
shift 2
row() { grep "^$1 " "$STATE"; }
case "$operation" in
"describe-db-${KIND}parameters")
	while read -r n v s d m; do
		[[ $m != yes || $* != *"'$n'"* ]] || printf '%s\t%s\t%s\tany\n' "$n" "$v" "$s" || exit 1
	done <"$STATE"
	exit ;;
"modify-db-${KIND}parameter-group" | "reset-db-${KIND}parameter-group") ;;
*) fail "$operation" ;;
esac
[[ $1 == --parameters ]] || fail "$*"
shift
for p; do
	n=${p#ParameterName=}
	[[ $(row "${n%%,*}") == *yes ]] || fail "${n%%,*} cannot be changed"
	[[ $p == *,ApplyMethod=immediate ]] || fail "$p"
done
for p; do
	n=${p#ParameterName=}; n=${n%%,*}
	v=${p#*ParameterValue=}; v=${v%%,*}
	while read -r name value source default m; do
		if [[ $name == "$n" && $operation == modify* ]]; then value=$v source=user; fi
		if [[ $name == "$n" && $operation == reset* ]]; then value=$default source=engine-default; fi
		echo "$name $value $source $default $m"
	done <"$STATE" >"$STATE.next" && mv "$STATE.next" "$STATE"
done
`

// azParameters stands in for the parameters of a flexible server, in the same way.
const azParameters = `#!/bin/bash
fail() { echo "$*" >&2; exit 1; }
command="$1 $2 $3 $4"
case "$command" in
"postgres flexible-server list "*) echo own; exit ;;
"postgres flexible-server show "*) echo srv; exit ;;
"postgres flexible-server parameter list") ;;
"postgres flexible-server parameter set") ;;
*) fail "$command" ;;
esac
shift 4
name= value=
while [[ $# -gt 0 ]]; do
	case "$1" in
	--resource-group) [[ $2 == own ]] || fail "$2" ;;
	--server-name) [[ $2 == srv ]] || fail "$2" ;;
	--query) query=$2 ;;
	--name) name=$2 ;;
	--value) value=$2 ;;
	--output) ;;
	*) fail "$1" ;;
	esac
	shift 2
done
if [[ $command == *list ]]; then
	while read -r n v s d m; do
		ro=True; [[ $m != yes ]] || ro=False
		[[ $query != *"'$n'"* ]] || printf '%s\t%s\t%s\t%s\n' "$n" "$v" "$s" "$ro" || exit 1
	done <"$STATE"
	exit
fi
[[ $(grep "^$name " "$STATE") == *yes ]] || fail "$name is read-only"
while read -r n v s d m; do
	if [[ $n == "$name" && -n $value ]]; then v=$value s=user-override; fi
	if [[ $n == "$name" && -z $value ]]; then v=$d s=system-default; fi
	echo "$n $v $s $d $m"
done <"$STATE" >"$STATE.next" && mv "$STATE.next" "$STATE"
`

// gcloudFlags stands in for gcloud: it prints an instance's flags, and patch replaces all of them. If
// there are none, it prints the row of an empty record.
const gcloudFlags = `#!/bin/bash
case "$1 $2 $3 $4" in
"sql instances describe db1") ;;
"sql instances patch db1")
	D=$(printf '\037')
	case "$5" in
	--clear-database-flags) : >"$STATE" ;;
	--database-flags)
		[[ $6 == "^$D^"?* ]] || exit 2
		f=${6#"^$D^"}
		tr "$D" '\n' <<<"$f" | sort >"$STATE.next" && mv "$STATE.next" "$STATE" ;;
	*) exit 2 ;;
	esac
	exit ;;
"sql flags list "*) echo "NAME REQUIRES_RESTART"; exit ;;
*) echo "unknown: $*" >&2; exit 2 ;;
esac
[[ $* == *databaseFlags* ]] || { echo POSTGRES_15; exit; }
if [[ -s $STATE ]]; then cat "$STATE"; else echo =; fi
`

// A managed server's parameters are restored, whether they were set before or not. Other parameters,
// and flags that other users set in the meantime, stay.
func TestParametersRestored(t *testing.T) {
	// Each service has one parameter that the user had set, one with the default, and one that someone
	// else set.
	parameters := func(set, other string, names ...string) string {
		var b strings.Builder
		for i, n := range names {
			source, value := other, "0"
			if i == 0 {
				source, value = set, "7"
			}
			b.WriteString(n + " " + value + " " + source + " 0 yes\n")
		}
		return b.String() + "work_mem 4096 " + set + " 4096 yes\n"
	}

	for remedy, names := range map[string][]string{
		"pace-checkpoint":     {"checkpoint_completion_target", "checkpoint_flush_after"},
		"more-wal":            {"max_wal_size"},
		"seldom-checkpoint":   {"max_wal_size", "checkpoint_timeout"},
		"background-writer":   {"bgwriter_delay", "bgwriter_lru_maxpages", "bgwriter_lru_multiplier"},
		"idle-in-transaction": {"idle_in_transaction_session_timeout"},
		"wal-compression":     {"wal_compression"},
		"commit-delay":        {"commit_delay"},
		"log-temp-files":      {"log_temp_files"},
		"slower-autovacuum":   {"autovacuum_vacuum_cost_limit"},
		"bound-slots":         {"max_slot_wal_keep_size"},
	} {
		for _, place := range []rules.Place{rules.RDS, rules.Aurora, rules.AzureDB, rules.CloudSQL} {
			t.Run(string(place)+"/"+remedy, func(t *testing.T) {
				t.Parallel()
				way := postgresWayOrNone(t, remedy, place)
				if way.None != "" {
					if place != rules.Aurora {
						t.Fatalf("no commands: %s", way.None)
					}
					return
				}

				was := parameters("user", "engine-default", names...)
				switch place {
				case rules.AzureDB:
					was = strings.ReplaceAll(parameters("user-override", "system-default", names...), "checkpoint_flush_after 0 system-default 0 yes", "checkpoint_flush_after 0 system-default 0 no")
				case rules.CloudSQL:
					was = "log_line_prefix=%m, \"x\"=~;| \n" + names[0] + "=7\n"
					if remedy == "commit-delay" {
						was = "" // an instance without flags
					}
				}

				state := filepath.Join(t.TempDir(), "state")
				if err := os.WriteFile(state, []byte(was), 0o600); err != nil {
					t.Fatal(err)
				}
				b := benchOf(t, way, map[string]string{"aws": awsGroups, "az": azParameters, "gcloud": gcloudFlags,
					"psql": "#!/bin/sh\n"})
				kind, instances := "", "instances"
				if place == rules.Aurora {
					kind, instances = "cluster-", "clusters"
				}
				b.env = append(b.env, "STATE="+state, "KIND="+kind, "INSTANCES="+instances, "GROUP=own", "DB=db-1", "CLUSTER=db-1",
					"SERVER=srv", "INSTANCE=db1", "PGHOST=h")
				b.brief = remedy != "pace-checkpoint" && remedy != "idle-in-transaction"
				b.restores(func() string {
					text, err := os.ReadFile(state)
					if err != nil {
						t.Fatal(err)
					}
					lines := strings.SplitAfter(string(text), "\n")
					slices.Sort(lines) // flags have no order
					return strings.Join(lines, "")
				})
			})
		}
	}
}

// A parameter that a service does not have, or that its users cannot change, is left alone, and so are
// the other parameters of the same fix.
func TestParametersRefused(t *testing.T) {
	for place, state := range map[rules.Place]string{
		rules.RDS:     "checkpoint_completion_target 0.5 user 0.9 yes\n",
		rules.AzureDB: "checkpoint_completion_target 0.5 user-override 0.9 no\n",
	} {
		file := filepath.Join(t.TempDir(), "state")
		if err := os.WriteFile(file, []byte(state), 0o600); err != nil {
			t.Fatal(err)
		}
		b := benchOf(t, postgresWayOrNone(t, "pace-checkpoint", place), map[string]string{"aws": awsGroups, "az": azParameters, "psql": "#!/bin/sh\n"})
		b.env = append(b.env, "STATE="+file, "KIND=", "INSTANCES=instances", "GROUP=own", "DB=db-1", "SERVER=srv", "PGHOST=h")
		for _, step := range [][]string{b.way.Look, b.way.Do, b.way.Undo} {
			if out, err := b.try(step); err == nil {
				t.Errorf("%s: %s does not fail:\n%s", place, step, out)
			}
		}
		if got := read(t, file); got != strings.TrimSpace(state) {
			t.Errorf("%s: it becomes %s", place, got)
		}
	}
}

// A sqlFlag is a flag of an instance in Cloud SQL's API.
type sqlFlag struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// cloudSQL is the part of Cloud SQL's API that the printed commands use, for one instance.
type cloudSQL struct {
	mu    sync.Mutex
	flags []sqlFlag
}

func (c *cloudSQL) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	done := map[string]any{"kind": "sql#operation", "name": "op", "status": "DONE", "operationType": "UPDATE", "targetProject": "p", "targetId": "db1"}
	var answer any
	switch {
	case strings.Contains(r.URL.Path, "/operations/"):
		answer = done
	case strings.HasSuffix(r.URL.Path, "/flags"):
		answer = map[string]any{"kind": "sql#flagsList", "items": []map[string]any{{"name": "max_wal_size", "type": "INTEGER", "requiresRestart": false, "appliesTo": []string{"POSTGRES_15"}}}}
	case r.Method == http.MethodPatch:
		var asked struct {
			Settings struct{ DatabaseFlags []sqlFlag }
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		c.flags, answer = asked.Settings.DatabaseFlags, done
	default:
		answer = map[string]any{"kind": "sql#instance", "name": "db1", "project": "p", "databaseVersion": "POSTGRES_15", "state": "RUNNABLE",
			"instanceType": "CLOUD_SQL_INSTANCE", "backendType": "SECOND_GEN", "region": "europe-west1",
			"settings": map[string]any{"tier": "db-custom-1-3840", "activationPolicy": "ALWAYS", "databaseFlags": c.flags, "dataDiskSizeGb": "10"}}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

func (c *cloudSQL) state() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for _, f := range c.flags {
		all = append(all, f.Name+"="+f.Value)
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// The real gcloud keeps all other flags of an instance, whatever their values contain, and those that
// other users set between look and undo.
func TestGcloudKeepsFlags(t *testing.T) {
	if _, err := exec.LookPath("gcloud"); err != nil {
		t.Skip("gcloud is not installed")
	}

	const remedy = "more-wal"
	others := []sqlFlag{{"log_line_prefix", "%m, \"x\"=~;| "}, {"cloudsql.logical_decoding", "on"}, {"empty", ""}}
	for name, had := range map[string][]sqlFlag{
		"none": {},
		"set":  append([]sqlFlag{{"max_wal_size", "2048"}}, others...),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "none" && os.Getenv("CI_FULL") == "" {
				t.Skip("gcloud takes seconds for each call: with CI_FULL=1")
			}
			api := &cloudSQL{flags: had}
			server := httptest.NewServer(api)
			defer server.Close()

			b := benchOf(t, postgresWayOrNone(t, remedy, rules.CloudSQL), map[string]string{"psql": "#!/bin/sh\n"})
			b.env = append(b.env, "INSTANCE=db1", "PGHOST=h", "CLOUDSDK_CORE_PROJECT=p", "CLOUDSDK_AUTH_DISABLE_CREDENTIALS=true",
				"CLOUDSDK_API_ENDPOINT_OVERRIDES_SQL="+server.URL+"/", "CLOUDSDK_CONFIG="+t.TempDir(), "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING=true",
				"CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK=true")
			was := api.state()
			if out := b.run(b.way.Look); !strings.Contains(out, "max_wal_size") {
				t.Fatalf("look does not show the flag: %s", out)
			}

			b.run(b.way.Do)
			done := api.state()
			for _, f := range append([]sqlFlag{{"max_wal_size", "8192"}}, had...) {
				if line := f.Name + "=" + f.Value; f.Value != "2048" && !strings.Contains(done, line) {
					t.Fatalf("do loses %q: %s", line, done)
				}
			}

			b.run(b.way.Look) // must not replace the saved state
			b.run(b.way.Check)
			api.mu.Lock()
			api.flags = append(slices.Clone(api.flags), sqlFlag{"zz_later", "1"})
			api.mu.Unlock()
			b.run(b.way.Undo)
			if got := api.state(); got != strings.TrimPrefix(was+"\nzz_later=1", "\n") {
				t.Errorf("it was %q, after undo it is %q", was, got)
			}
		})
	}
}
