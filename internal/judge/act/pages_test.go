package act_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/act"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/testkit"
)

var update = flag.Bool("update", false, "rewrite the commands in the rules' pages")

const (
	pagesRoot  = "../../.."
	fixesBegin = "<!-- commands: make generate -->\n"
	fixesEnd   = "<!-- end of commands -->\n"
)

// fixesFolder has a page of commands for each remedy, all of it generated.
const fixesFolder = "docs/rules/fixes"

// Each remedy has a page with its commands for every place, and a rule's page lists its remedies with
// links. All of this is generated from the remedies, on a rule's page between two markers.
func TestPagesHaveTheCommands(t *testing.T) {
	users := map[string][]string{} // rules by remedy
	pages := map[string]string{}

	for _, r := range testkit.Pack().Rules() {
		path := filepath.Join(pagesRoot, r.Docs())
		text, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}

		remedies := fixesOf(&r)
		want := listOfFixes(remedies)

		for i := range remedies {
			users[remedies[i].Remedy] = append(users[remedies[i].Remedy], r.ID)
			pages[remedies[i].Remedy] = "" // written below, once all of its rules are known
		}

		before, rest, begins := strings.Cut(string(text), fixesBegin)

		is, after, ends := strings.Cut(rest, fixesEnd)
		switch {
		case !begins && want == "":
		case !begins || !ends || strings.Contains(before, fixesEnd):
			t.Errorf("%s has commands: it needs the markers %q and %q under ## Fix", r.Docs(), fixesBegin, fixesEnd)
		case want == "" && *update:
			page := strings.TrimRight(before, "\n") + "\n\n" + strings.TrimLeft(after, "\n")
			if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
				t.Error(err)
			}
		case want == "":
			t.Errorf("%s: no fix has a command: remove the lines %q and %q", r.Docs(), fixesBegin, fixesEnd)
		case *update:
			if err := os.WriteFile(path, []byte(before+fixesBegin+want+fixesEnd+after), 0o644); err != nil {
				t.Error(err)
			}
		case is != want:
			t.Errorf("%s: the list of fixes differs from the rule's remedies; run make generate", r.Docs())
		}

		if begins && !strings.HasPrefix(before[strings.LastIndex(before, "\n## ")+1:], "## Fix\n") {
			t.Errorf("%s: the markers are not under ## Fix", r.Docs())
		}
	}

	for _, r := range testkit.Pack().Rules() {
		for _, d := range fixesOf(&r) {
			if pages[d.Remedy] == "" {
				pages[d.Remedy] = fixPage(&d, users[d.Remedy])
			}
		}
	}
	pages["README"] = tableOfFixes()
	compareFixPages(t, pages)
}

// tableOfFixes is the page that says how the steps of each fix were tested in each place.
func tableOfFixes() string {
	var b strings.Builder
	b.WriteString("<!-- make generate writes this page -->\n\n# How each fix was tested\n\n" +
		wrap("Each fix has a page with its commands. `plimsoll rules show -v RULE` prints the same. "+
			"A way without commands is not listed: its page says why there are none.", "") +
		"\n\n| fix | place | tested |\n|---|---|---|\n")

	counts := map[string]int{}
	seen := map[string]bool{}
	for _, r := range testkit.Pack().Rules() {
		for _, d := range fixesOf(&r) {
			if seen[d.Remedy] {
				continue
			}
			seen[d.Remedy] = true
			for _, w := range d.Ways {
				place := strings.TrimPrefix(placeNames[w.Place], "a ")
				for _, c := range w.Clouds {
					place += ", " + cloudNames[c]
				}
				row := "| [" + d.Title + "](" + d.Remedy + ".md) | " + place + " | " + w.Tested + " |\n"
				if w.Tested == "" || seen[row] {
					continue
				}
				seen[row] = true
				counts[w.Tested]++
				b.WriteString(row)
			}
		}
	}

	b.WriteString("\n## In figures\n\n| tested | ways |\n|---|---|\n")
	for _, how := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "| %s | %d |\n", how, counts[how])
	}
	return b.String()
}

// compareFixPages compares the folder with the pages that it should have, or updates it.
func compareFixPages(t *testing.T, want map[string]string) {
	t.Helper()
	folder := filepath.Join(pagesRoot, fixesFolder)

	if *update {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	for remedy, text := range want {
		path := filepath.Join(folder, remedy+".md")
		if *update {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Error(err)
			}
			continue
		}
		if is, err := os.ReadFile(path); err != nil {
			t.Error(err)
		} else if string(is) != text {
			t.Errorf("%s/%s.md differs from its remedy; run make generate", fixesFolder, remedy)
		}
	}

	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}

	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".md")
		if _, ok := want[name]; ok {
			continue
		}
		if !*update {
			t.Errorf("%s/%s belongs to no remedy; run make generate", fixesFolder, e.Name())
		} else if err := os.Remove(filepath.Join(folder, e.Name())); err != nil {
			t.Error(err)
		}
	}
}

var codeBlock = regexp.MustCompile("(?s)\n *```[a-z]*\n(.*?)```")

// The hand-written parts of a page repeat no remedy: each command appears once, next to its rule.
func TestPagesRepeatNoCommand(t *testing.T) {
	changes := map[string]string{}
	for _, m := range testkit.Pack().Remedies() {
		for i := range m.Recipes {
			for _, c := range m.Recipes[i].Do {
				if w := whatItDoes(c.Text); w != "" {
					changes[w] = m.Name
				}
			}
		}
	}

	if len(changes) < 8 {
		t.Errorf("only %v is searched for", changes)
	}

	for _, r := range testkit.Pack().Rules() {
		text, err := os.ReadFile(filepath.Join(pagesRoot, r.Docs()))
		if err != nil {
			t.Error(err)
			continue
		}

		page := string(text)
		if before, rest, ok := strings.Cut(page, fixesBegin); ok {
			_, after, _ := strings.Cut(rest, fixesEnd)
			page = before + after
		}

		for _, block := range codeBlock.FindAllStringSubmatch(page, -1) {
			for w, name := range changes {
				if strings.Contains(strings.ToLower(block[1]), strings.ToLower(w)) {
					t.Errorf("%s contains %q outside the markers: that is remedy %s", r.Docs(), w, name)
				}
			}
		}
	}
}

// whatItDoes returns the characteristic part of a command: either its program with the words up to the
// first option value or template, or the setting that it changes.
func whatItDoes(command string) string {
	for _, setting := range []string{"wiredTigerEngineRuntimeConfig", "vm.dirty_background_bytes=", "set shared_buffers", "CPUQuota=", "MemoryMax="} {
		if strings.Contains(strings.ToLower(command), strings.ToLower(setting)) {
			return setting
		}
	}

	words := strings.Fields(strings.TrimPrefix(command, "sudo "))
	if upper := strings.ToUpper(command); strings.HasPrefix(upper, "ALTER SYSTEM SET ") && len(words) > 3 {
		return strings.Join(words[:4], " ")
	}

	var kept []string
	for _, w := range words {
		if strings.ContainsAny(w, `{"$'|=`) || strings.HasPrefix(w, "-") || len(kept) == 3 {
			break
		}
		kept = append(kept, w)
	}

	if len(kept) < 2 || kept[0] == "echo" || kept[0] == "SELECT" || kept[0] == "SHOW" {
		return ""
	}

	return strings.Join(kept, " ")
}

// fixesOf returns the remedies of a rule's fixes, each once. It skips another engine's remedy that has
// no command in any place.
func fixesOf(r *rules.Rule) []act.Description {
	var out []act.Description
	seen := map[string]bool{}

	for _, x := range act.Fixes(testkit.Pack(), r) {
		for _, d := range x.Remedies {
			noCommand := !slices.ContainsFunc(d.Ways, func(w act.Way) bool { return w.None == "" })
			if seen[d.Remedy] || noCommand && d.Database != r.Engine {
				continue
			}
			seen[d.Remedy] = true
			out = append(out, d)
		}
	}

	return out
}

// listOfFixes is the text between the markers of a rule's page; "" if it has no remedy.
func listOfFixes(remedies []act.Description) string {
	if len(remedies) == 0 {
		return ""
	}

	var b strings.Builder
	for i := range remedies {
		d := &remedies[i]
		b.WriteString("- [" + d.Title + "](fixes/" + d.Remedy + ".md)\n")
	}

	return b.String()
}

var cloudNames = map[string]string{"aws": "AWS", "azure": "Azure", "gcp": "Google Cloud", "none": "no known cloud"}

var placeNames = map[string]string{"host": "a host", "docker": "Docker", "kubernetes": "Kubernetes", "rds": "Amazon RDS", "aurora": "Amazon Aurora", "azure": "Azure Database for PostgreSQL", "cloudsql": "Cloud SQL", "managed": "another provider's service"}

// fixPage describes a remedy with everything that users must know before they apply it. users are the
// rules that recommend it.
func fixPage(d *act.Description, users []string) string {
	var b strings.Builder
	b.WriteString("<!-- make generate writes this page -->\n\n# " + d.Title + "\n\n")

	var links []string
	for _, id := range users {
		links = append(links, "["+id+"](../"+strings.ReplaceAll(id, "/", "-")+".md)")
	}
	b.WriteString(wrap("A fix for "+strings.Join(links, ", ")+".", "") + "\n\n")

	var say []string
	add := func(before, text string) {
		if text != "" {
			say = append(say, before+strings.TrimSuffix(text, ".")+".")
		}
	}

	add("It costs: ", d.Cost)
	add("Paid for: ", d.Money)
	say = append(say, "It can be judged after "+units.Seconds(d.WaitS)+", when "+d.Until+": `plimsoll prove BEFORE AFTER --fix "+d.Remedy+"`.")
	b.WriteString(wrap(strings.Join(say, " "), "") + "\n")

	var notes []string
	for len(d.Ways) > 0 {
		w := d.Ways[0]
		var places []string
		howTested := map[string][]string{}
		d.Ways = slices.DeleteFunc(d.Ways, func(o act.Way) bool {
			same := reflect.DeepEqual(o.Steps, w.Steps) && reflect.DeepEqual(o.Clouds, w.Clouds) && o.From == w.From && o.Before == w.Before
			if same {
				places = append(places, placeNames[o.Place])
				howTested[o.Tested] = append(howTested[o.Tested], placeNames[o.Place])
			}
			return same
		})

		where := versions(w) + "On " + listed(services(places))
		if len(w.Clouds) > 0 {
			var names []string
			for _, c := range w.Clouds {
				names = append(names, cloudNames[c])
			}
			where += " in " + listed(names)
		}

		where = strings.NewReplacer("On Docker", "In Docker", "On Kubernetes", "In Kubernetes", "On another", "At another",
			"On a provider", "At a provider").Replace(where)
		if w.None != "" {
			if len(places) == len(rules.Places) {
				where = "In any place"
			}
			b.WriteString("\n## " + where + "\n\n" + wrap("There is no command: "+w.None+".", "") + "\n")
			continue
		}

		b.WriteString("\n## " + where + "\n\n")
		say = nil
		add("It restarts ", w.Restart)
		add("It also costs: ", w.Cost)
		if len(say) > 0 {
			b.WriteString(wrap(strings.Join(say, " "), "") + "\n\n")
		}
		b.WriteString("```sh\n")

		// Every step in every place: Look saves what Undo needs.
		steps(&b, "look first", w.Look)
		steps(&b, "do", w.Do)
		steps(&b, "check", w.Check)
		steps(&b, "keep it, once it has helped", w.Keep)
		steps(&b, "undo", w.Undo)
		b.WriteString("```\n")
		for _, how := range slices.Sorted(maps.Keys(howTested)) {
			of := ""
			if len(howTested) > 1 {
				of = " for " + listed(howTested[how])
			}
			b.WriteString("\n" + wrap("Tested"+of+": "+how+".", "") + "\n")
		}

		if w.Kept != "" && w.Kept != "it lasts" {
			notes = append(notes, "To keep it: "+w.Kept+".")
		}

		if w.NoUndo != "" {
			notes = append(notes, "Nothing to undo: "+w.NoUndo+".")
		}

		notes = append(notes, w.Notes...)
	}

	seen := map[string]bool{}
	for _, n := range notes {
		if !seen[n] {
			if len(seen) == 0 {
				b.WriteString("\n## Notes\n\n")
			}
			b.WriteString("- " + wrap(n, "  ") + "\n")
		}
		seen[n] = true
	}

	return b.String()
}

// services replaces the names of all providers' services with one.
func services(places []string) []string {
	rest := slices.DeleteFunc(slices.Clone(places), func(name string) bool {
		return slices.ContainsFunc(rules.Services, func(s rules.Place) bool { return placeNames[string(s)] == name })
	})
	if len(places)-len(rest) < len(rules.Services) {
		return places
	}
	return append(rest, "a provider's service")
}

func versions(w act.Way) string {
	switch {
	case w.From != "" && w.Before != "":
		return "From " + w.From + " to before " + w.Before + ": "
	case w.From != "":
		return "From " + w.From + " on: "
	case w.Before != "":
		return "Before " + w.Before + ": "
	}
	return ""
}

func steps(b *strings.Builder, what string, lines []string) {
	if len(lines) > 0 {
		b.WriteString("# " + what + "\n" + strings.Join(lines, "\n") + "\n")
	}
}

func listed(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// wrap breaks prose at 100 columns and indents lines after the first.
func wrap(text, indent string) string {
	const columns = 98
	var b strings.Builder

	n := 0
	for i, w := range strings.Fields(text) {
		if i > 0 && n+1+len(w) > columns {
			b.WriteString("\n" + indent)
			n = len(indent)
		} else if i > 0 {
			b.WriteByte(' ')
			n++
		}
		b.WriteString(w)
		n += len(w)
	}

	return b.String()
}
