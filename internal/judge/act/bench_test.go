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

// A bench runs printed commands in a separate home folder, with stand-ins for programs that cannot run
// in a test, and with substitutes for some of the machine's folders.
type bench struct {
	t        *testing.T
	way      act.Way
	home     string
	env      []string
	replaced *strings.Replacer
	boot     func() // restarts what the steps change; nil if nothing can be restarted
	brief    bool   // without interruptions (another case covers them), unless CI_FULL is set
}

func newBench(t *testing.T, remedy string, place rules.Place, values rules.Values, programs map[string]string, replaced ...string) *bench {
	t.Helper()
	return newBenchIn(t, remedy, place, "", values, programs, replaced...)
}

func newBenchIn(t *testing.T, remedy string, place rules.Place, cloud rules.Cloud, values rules.Values, programs map[string]string, replaced ...string) *bench {
	t.Helper()
	bin := t.TempDir()
	programs["sudo"] = "#!/bin/sh\nexec \"$@\"\n"

	for name, text := range programs {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}

	b := &bench{t: t, home: t.TempDir(), replaced: strings.NewReplacer(replaced...)}
	b.env = append(os.Environ(), "HOME="+b.home, "PATH="+bin+":"+os.Getenv("PATH"))

	for _, m := range testkit.Pack().Remedies() {
		if m.Name != remedy {
			continue
		}
		for _, w := range act.Describe(testkit.Pack(), "", m, values).Ways {
			if w.Place == string(place) && (cloud == "" && len(w.Clouds) == 0 || slices.Contains(w.Clouds, string(cloud))) {
				b.way = w
				return b
			}
		}
	}

	t.Fatalf("no remedy %s in %s", remedy, place)
	return nil
}

// run runs lines in one shell, as if pasted.
func (b *bench) run(lines ...[]string) string {
	b.t.Helper()
	out, err := b.try(lines...)
	if err != nil {
		b.t.Fatalf("%v\n%s\nof\n%s", err, out, slices.Concat(lines...))
	}
	return out
}

// try is like run for lines that may fail.
func (b *bench) try(lines ...[]string) (string, error) {
	b.t.Helper()
	cmd := exec.CommandContext(b.t.Context(), "sh", "-c", b.replaced.Replace(strings.Join(slices.Concat(lines...), "\n")))
	cmd.Env = b.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// restores is like undoes, and also checks that neither a full disk nor a kill loses the previous
// state.
func (b *bench) restores(state func() string) {
	b.t.Helper()
	b.undoes(state)
	if !b.brief || os.Getenv("CI_FULL") != "" {
		b.full(state)
		b.interrupted(state)
	}
}

// undoes checks that Do changes the state, that Undo restores it, and that both can be repeated.
// Running Look again after the change must not lose the previous state.
func (b *bench) undoes(state func() string) {
	b.t.Helper()
	was := state()
	for _, looks := range []int{1, 2} {
		for range looks {
			b.run(b.way.Look)
		}

		b.run(b.way.Look, b.way.Do)
		done := state()
		if done == was {
			b.t.Fatalf("Do changes nothing: %s", was)
		}

		b.run(b.way.Look, b.way.Check)
		b.run(b.way.Keep)
		b.run(b.way.Undo)

		if got := state(); got != was {
			b.t.Fatalf("it was %q, then %q, and after undo %q", was, done, got)
		}

		if left, _ := os.ReadDir(b.home); len(left) > 0 {
			b.t.Fatalf("undo leaves %s behind, which the next change would mistake for the previous state", left[0].Name())
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}
