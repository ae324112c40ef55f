package shellword

import (
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A shell reads a folded command as the original one, and no line is longer than necessary.
func TestFold(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh here")
	}

	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("ab '\"$(){}\\`;&")), 1, 12, -1), 1, 8).Draw(t, "words")
		command := "printf '<%s>'"
		for _, w := range words {
			command += " " + Quote(w)
		}
		lines := Fold(command, 24, "  ")
		out, err := exec.CommandContext(t.Context(), sh, "-c", strings.Join(lines, "\n")).CombinedOutput()
		if want := "<" + strings.Join(words, "><") + ">"; err != nil || string(out) != want {
			t.Fatalf("%q is read as %q, want %q (%v)", lines, out, want, err)
		}
	})
}

func TestFoldKeepsSubstitutions(t *testing.T) {
	for command, want := range map[string]string{
		`A=$(b c d e f) && g h`:             `A=$(b c d e f) \|  && g h`,
		`x "${A:?b c d e f}" g`:             `x \|  "${A:?b c d e f}" \|  g`,
		`ssh h "a statement of many words"`: `ssh h "a statement of many words"`,
		`short one`:                         `short one`,
		`aws ec2 modify-volume --iops 60`:   `aws ec2 \|  modify-volume \|  --iops 60`,
	} {
		if got := strings.Join(Fold(command, 18, "  "), "|"); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}
