package diagnostics

import (
	"cmp"
	"slices"
	"strings"
)

// Distance is how many letters to put in, take out or replace to make b of a (Levenshtein 1966): how far a misspelt
// word is from one that may have been meant. It looks at bytes, which names here consist of, and takes time and
// memory by the lengths' product and sum: what a person wrote is to be cut off before.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// wordMax bounds a word that is compared: nothing here has a longer name.
const wordMax = 100

// Nearest is the name that a misspelt word may be meant to be, "" if none is like it. Case, hyphens
// and underscores do not count.
func Nearest(word string, among []string) string {
	if near := Near(word, among, 1); len(near) > 0 {
		return near[0]
	}
	return ""
}

// Near are up to n names that a misspelt word may be meant to be, the most alike first; of those
// alike in the same measure, in their order. One that begins with the word, or has it as its last
// part after a dot, is one letter away.
func Near(word string, among []string, n int) []string {
	if len(word) > wordMax {
		return nil
	}
	type candidate struct {
		name  string
		edits int
	}
	var near []candidate
	plain := strings.NewReplacer("_", "", "-", "")
	word = plain.Replace(strings.ToLower(word))
	for _, name := range among {
		p := plain.Replace(strings.ToLower(name))
		edits := Distance(word, p)
		if len(word) > 1 && (strings.HasPrefix(p, word) || strings.HasSuffix(p, "."+word)) {
			edits = min(edits, 1)
		}
		if edits <= len(word)/3+1 {
			near = append(near, candidate{name, edits})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return cmp.Compare(a.edits, b.edits) })
	var names []string
	for _, c := range near[:min(n, len(near))] {
		names = append(names, c.name)
	}
	return names
}
