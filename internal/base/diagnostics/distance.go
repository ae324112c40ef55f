package diagnostics

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Distance returns how many letters must be inserted, deleted or replaced to turn a into b
// (Levenshtein 1966). It measures how far a misspelt word is from one that may have been meant. It
// compares bytes, because the names here are ASCII. It takes time proportional to the product of
// the lengths and memory proportional to their sum, so the caller must limit what a person wrote.
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

// wordMax bounds the length of a compared word: no name here is longer.
const wordMax = 100

// Nearest returns the name that a misspelt word may stand for, or "" if none is similar. It ignores
// case, hyphens and underscores.
func Nearest(word string, among []string) string {
	if near := Near(word, among, 1); len(near) > 0 {
		return near[0]
	}
	return ""
}

// Near returns up to n names that a misspelt word may stand for, the most similar first; equally
// similar ones keep their order. A name that begins with the word, or has it as its last part after
// a dot, counts as one letter away; one that the word abbreviates ("k8s", "i18n") is the most
// similar.
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
		if abbreviates(word, p) {
			edits = 0
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

// abbreviates reports whether a word is a name's first letter, the number of those left out, and the
// last letter.
func abbreviates(word, name string) bool {
	if len(word) < 3 || len(name) < 4 || word[0] != name[0] || word[len(word)-1] != name[len(name)-1] {
		return false
	}
	return word[1:len(word)-1] == strconv.Itoa(len(name)-2)
}
