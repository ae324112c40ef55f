package act_test

import (
	"flag"
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
)

var update = flag.Bool("update", false, "rewrite the commands in the rules' pages")

const (
	pagesRoot  = "../../.."
	fixesBegin = "<!-- commands: make generate -->\n"
	fixesEnd   = "<!-- end of commands -->\n"
)

// The commands on a rule's page are those of its remedies, between two markers. Each remedy has one
// page that shows it in full; others link to it.
func TestPagesHaveTheCommands(t *testing.T) {
	home := homes()
	for _, r := range pack.Rules() {
		path := filepath.Join(pagesRoot, r.Docs())
		text, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}

		want := fixesOf(&r, home)
		before, rest, begins := strings.Cut(string(text), fixesBegin)

		is, after, ends := strings.Cut(rest, fixesEnd)
		switch {
		case !begins && want == "":
		case !begins || !ends || strings.Contains(before, fixesEnd):
			t.Errorf("%s has commands: it needs the markers %q and %q under ## Fix", r.Docs(), fixesBegin, fixesEnd)
		case want == "":
			t.Errorf("%s has no commands: it needs no markers", r.Docs())
		case *update:
			if err := os.WriteFile(path, []byte(before+fixesBegin+want+fixesEnd+after), 0o644); err != nil {
				t.Error(err)
			}
		case is != want:
			t.Errorf("%s: the commands differ from those of the remedies; run make generate", r.Docs())
		}

		if begins && !strings.HasPrefix(before[strings.LastIndex(before, "\n## ")+1:], "## Fix\n") {
			t.Errorf("%s: the markers are not under ## Fix", r.Docs())
		}
	}
}

var codeBlock = regexp.MustCompile("(?s)\n *```[a-z]*\n(.*?)```")

// Hand-written parts of a page repeat no remedy: each command is written once, next to its rule.
func TestPagesRepeatNoCommand(t *testing.T) {
	changes := map[string]string{}
	for _, m := range pack.Remedies() {
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

	for _, r := range pack.Rules() {
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

// whatItDoes returns the characteristic part of a command: its program with the words up to the
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

// homes returns the page that shows each remedy in full: that of a rule of the same scope,
// otherwise that of the first rule with the remedy.
func homes() map[string]string {
	out, best := map[string]string{}, map[string]int{}
	for _, r := range pack.Rules() {
		for _, x := range act.Fixes(pack, &r) {
			for i := range x.Remedies {
				d := &x.Remedies[i]
				scope := 2
				if r.Engine == "" {
					scope = 3
				}
				if r.Engine == "" && d.Database != "" {
					scope = 1
				}
				if scope > best[d.Remedy] {
					out[d.Remedy], best[d.Remedy] = r.Docs(), scope
				}
			}
		}
	}

	return out
}

// none reports whether a remedy has no command anywhere.
func none(d *act.Description) bool {
	return !slices.ContainsFunc(d.Ways, func(w act.Way) bool { return w.None == "" })
}

// fixesOf is the text between the markers of a page; "" if its rule has no remedy.
func fixesOf(r *rules.Rule, home map[string]string) string {
	var full, links strings.Builder
	seen := map[string]bool{}
	for _, x := range act.Fixes(pack, r) {
		for i := range x.Remedies {
			d := &x.Remedies[i]
			if seen[d.Remedy] || none(d) && d.Database != r.Engine && home[d.Remedy] == r.Docs() {
				continue // already on this page, or another engine's remedy without commands
			}
			seen[d.Remedy] = true
			if home[d.Remedy] == r.Docs() {
				full.WriteString(inFull(d, r))
				continue
			}
			page := filepath.Base(home[d.Remedy])
			links.WriteString("- " + d.Title + ": [" + strings.TrimSuffix(page, ".md") + "](" + page + ").\n")
		}
	}

	out := full.String()
	if links.Len() > 0 {
		out += "\nWith commands on other pages:\n\n" + links.String()
	}

	if out != "" {
		out += "\n"
	}

	return out
}

var cloudNames = map[string]string{"aws": "AWS", "azure": "Azure", "gcp": "Google Cloud", "none": "no known cloud"}

var placeNames = map[string]string{"host": "a host", "docker": "Docker", "kubernetes": "Kubernetes", "rds": "Amazon RDS", "managed": "another provider's service"}

// inFull describes a remedy with everything that users must know before they apply it.
func inFull(d *act.Description, r *rules.Rule) string {
	var b strings.Builder
	b.WriteString("\n### " + d.Title + "\n\n")
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
		d.Ways = slices.DeleteFunc(d.Ways, func(o act.Way) bool {
			same := reflect.DeepEqual(o.Steps, w.Steps) && reflect.DeepEqual(o.Clouds, w.Clouds) && o.From == w.From && o.Before == w.Before
			if same {
				places = append(places, placeNames[o.Place])
			}
			return same
		})

		where := versions(w) + "On " + listed(places)
		if len(w.Clouds) > 0 {
			var names []string
			for _, c := range w.Clouds {
				names = append(names, cloudNames[c])
			}
			where += " in " + listed(names)
		}

		where = strings.NewReplacer("On Docker", "In Docker", "On Kubernetes", "In Kubernetes", "On another", "At another").Replace(where)
		if w.None != "" {
			if len(places) == len(rules.Places) {
				where = "There is no command"
			} else {
				where += " there is no command"
			}
			b.WriteString("\n" + wrap(where+": "+w.None+".", "") + "\n")
			continue
		}

		if w.Restart != "" {
			where += ", restarting " + w.Restart
		}

		b.WriteString("\n" + wrap(where+":", "") + "\n\n```sh\n")

		// Every step in every place: Look saves what Undo needs.
		steps(&b, "look first", w.Look)
		steps(&b, "do", w.Do)
		steps(&b, "check", w.Check)
		steps(&b, "keep it, once it has helped", w.Keep)
		steps(&b, "undo", w.Undo)
		b.WriteString("```\n")

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
				b.WriteString("\n")
			}
			b.WriteString("- " + wrap(n, "  ") + "\n")
		}
		seen[n] = true
	}

	return b.String()
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

// wrap breaks prose at 100 columns; lines after the first are indented.
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
