package inputerror

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/agext/levenshtein"
)

// Distance returns how many letters must be inserted, deleted or replaced to turn a into b. It measures how
// far a misspelt word is from a candidate. Time is proportional to the product of the lengths, so the
// caller must limit the length of user input.
func Distance(a, b string) int { return levenshtein.Distance(a, b, nil) }

// wordMax bounds the length of a word to compare. No name here is longer.
const wordMax = 100

// Nearest returns the name that a misspelt word most likely means, or "" if none is similar. It
// ignores case, hyphens and underscores.
func Nearest(word string, among []string) string {
	if near := Near(word, among, 1); len(near) > 0 {
		return near[0]
	}
	return ""
}

// Near returns the names that a misspelt word may mean, the most similar first and at most as many as
// asked for; ties keep their order. A name that starts with the word, or ends with it after a dot, counts
// as one letter away. A name that the word abbreviates ("k8s", "i18n") counts as an exact match.
func Near(word string, among []string, most int) []string {
	if len(word) > wordMax {
		return nil
	}

	type candidate struct {
		name  string
		edits int
	}

	var near []candidate
	plain := strings.NewReplacer("_", "", "-", "")

	// Spelling variants such as readOnly, read_only and read-only are the same word.
	word = plain.Replace(strings.ToLower(word))
	for _, name := range among {
		p := plain.Replace(strings.ToLower(name))
		edits := Distance(word, p)
		if len(word) > 1 && (strings.HasPrefix(p, word) || strings.HasSuffix(p, "."+word)) {
			edits = min(edits, 1)
		}

		if abbreviates(word, p) {
			edits = 0
		}

		// One edit per three letters, plus one: enough for a typo or two, not for an unrelated
		// word.
		if edits <= len(word)/3+1 {
			near = append(near, candidate{name, edits})
		}
	}

	// Stable, so that equally similar names keep the order in which the caller lists them.
	slices.SortStableFunc(near, func(a, b candidate) int { return cmp.Compare(a.edits, b.edits) })
	var names []string
	for _, c := range near[:min(most, len(near))] {
		names = append(names, c.name)
	}

	return names
}

// abbreviates reports whether a word is a numeronym of a name: the first letter, the number of
// letters left out, the last letter.
func abbreviates(word, name string) bool {
	if len(word) < 3 || len(name) < 4 || word[0] != name[0] || word[len(word)-1] != name[len(name)-1] {
		return false
	}
	return word[1:len(word)-1] == strconv.Itoa(len(name)-2)
}
