package ruletest_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/testkit"
)

// named are the causes that experts of each engine name, most frequent first. A table in
// docs/rules/coverage.md has a row for each, with a rule or the reason why there is none.
var named = map[string][]string{
	"MongoDB": {"journal's fdatasync", "checkpoint bursts", "cache full", "pinned snapshot", "apply lag", "member down, PSA", "write concern", "read tickets", "write conflicts",
		"index build, TTL, initial sync, migration", "forced eviction", "stepdown, RSTL, prepared transactions", "schema and checkpoint locks", "transparent huge pages", "backup cursor"},
	"etcd": {"slow fdatasync of the WAL", "slow commits of the backend", "one member slower", "elections by the network", "slow applies", "defragmentation", "NOSPACE", "compaction pauses", "snapshots sent"},
	"PostgreSQL": {"checkpoints", "locks, idle in transaction", "slow WAL flush", "synchronous standby", "autovacuum and anti-wraparound", "inactive slot, failing archiver", "temporary files",
		"full-page images", "wal_buffers full", "commit_delay", "TRUNCATE, DROP"},
	"disks, hosts and clouds": {"cap", "instance's or machine's limit", "burst credits", "Azure's and Google's counted limits", "EBS's own check", "CPU credits", "RDS dedicated log volume"},
}

// products are the engines' names in the section headings, and the keys of their rules.
var products = map[string]string{"MongoDB": "mongodb", "etcd": "etcd", "PostgreSQL": "postgres", "disks, hosts and clouds": ""}

var ruleIDs = regexp.MustCompile("`([a-z]+/[a-z-]+)`")

// A covered is a row of a coverage table, by the names of its columns.
type covered map[string]string

// rules are the rules that find the cause.
func (row covered) rules(t *testing.T) (out []rules.Rule) {
	t.Helper()
	for _, m := range ruleIDs.FindAllStringSubmatch(row["rule"], -1) {
		r, err := testkit.Pack().Rule(m[1])
		if err != nil {
			t.Errorf("%s: %v", row["cause"], err)
			continue
		}
		out = append(out, r)
	}
	return out
}

// Each cause that experts name is in the coverage tables, each rule of a cause appears there, and a
// cause is listed as missing only with a reason.
func TestCoverageIsComplete(t *testing.T) {
	tables := coverageTables(t)
	for section, causes := range named {
		t.Run(section, func(t *testing.T) {
			mentioned := map[string]bool{}
			for _, row := range tables[section] {
				row.check(t)
				for _, m := range ruleIDs.FindAllStringSubmatch(strings.Join(slices.Collect(maps.Values(row)), " "), -1) {
					if _, err := testkit.Pack().Rule(m[1]); err != nil {
						t.Errorf("%s: %v", row["cause"], err)
					}
					mentioned[m[1]] = true
				}
			}

			for _, cause := range causes {
				if !slices.ContainsFunc(tables[section], func(row covered) bool { return strings.Contains(row["cause"], cause) }) {
					t.Errorf("no row is about %q", cause)
				}
			}

			for _, r := range testkit.Pack().Rules() {
				if r.Engine == products[section] && r.Kind != rules.Symptom && !mentioned[r.ID] {
					t.Errorf("docs/rules/coverage.md: no row under %q names %s", section, r.ID)
				}
			}
		})
	}
}

// check compares a row with the rules that it names.
func (row covered) check(t *testing.T) {
	t.Helper()
	all := row.rules(t)
	lacks := strings.HasPrefix(row["rule"], "missing") || strings.HasPrefix(row["rule"], "not measurable")
	if lacks || row["rule"] == "" {
		// The reason is in the rule's column or in the last one.
		reason := strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(row["rule"], "missing"), "not measurable"), ": ") + row["what is missing, and why"]
		if len(reason) < 20 {
			t.Errorf("%s: no rule and no reason", row["cause"])
		}
		return
	}

	for _, source := range []string{"exporter", "live"} {
		if row[source] == "" {
			t.Errorf("%s: nothing is said of %s", row["cause"], source)
		}
	}

	// What only this program measures cannot be found with an exporter, and vice versa.
	found := !strings.HasPrefix(row["exporter"], "missing") && !strings.HasPrefix(row["exporter"], "not measurable")
	exported := slices.ContainsFunc(all, func(r rules.Rule) bool { return exportersHave(t, r) })
	if found != exported && len(all) > 0 { // "the same" and `disk/*` refer to other rows
		t.Errorf("%s: by the table an exporter has it: %v, by the rules' signals: %v", row["cause"], found, exported)
	}
}

// exportersHave reports whether exporters have a name for everything that a rule requires.
func exportersHave(t *testing.T, r rules.Rule) bool {
	t.Helper()
	exported := func(s *rules.Signal) bool {
		of := testkit.Pack().Metrics(s)
		// A signal that selects names by a pattern needs an exporter with many metrics of a kind.
		return len(of) == 0 || slices.ContainsFunc(of, func(m string) bool { return !strings.HasPrefix(m, "plimsoll_") })
	}

	needs := r.Needs
	if needs == nil {
		for _, name := range regexp.MustCompile(`plimsoll:[a-z0-9_]+:[a-z]+`).FindAllString(r.When, -1) {
			s := testkit.Pack().Signal(name)
			if s == nil {
				t.Fatalf("%s reads %s, which is not a signal", r.ID, name)
			}
			needs = append(needs, s)
		}
	}

	all := !slices.ContainsFunc(needs, func(s *rules.Signal) bool { return !exported(s) })
	return all && (len(r.AnyOf) == 0 || slices.ContainsFunc(r.AnyOf, exported))
}

// coverageTables returns the rows of docs/rules/coverage.md by section: "## Coverage: PostgreSQL".
func coverageTables(t *testing.T) map[string][]covered {
	t.Helper()
	text, err := os.ReadFile("../../../docs/rules/coverage.md")
	if err != nil {
		t.Fatal(err)
	}

	out := map[string][]covered{}
	section := ""

	var columns []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section, columns = "", nil
			if of, ok := strings.CutPrefix(title, "Coverage: "); ok {
				section = of
			}
		}

		if section == "" || !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") {
			continue
		}

		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}

		if columns == nil {
			columns = cells
			continue
		}

		row := covered{}
		for i, c := range cells[:min(len(cells), len(columns))] {
			row[columns[i]] = c
		}

		out[section] = append(out[section], row)
	}

	return out
}
