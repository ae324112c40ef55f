package emit

import (
	"fmt"
	"strings"
)

// diffCellsMax bounds the table of a diff: beyond it a file is told as taken away and written anew.
const diffCellsMax = 4_000_000

// contextLines is how many lines are shown around a change.
const contextLines = 3

// An edit is a line of a diff: ' ' in both, '-' in the old, '+' in the new.
type edit struct {
	op   byte
	line string
}

// unified is the difference of two texts as diff -u and git tell it; "" if there is none. A file that is not there is /dev/null.
func unified(name, before, after string, was, is bool) string {
	if before == after && was == is {
		return ""
	}
	from, to := "a/"+name, "b/"+name
	if !was {
		from = "/dev/null"
	}
	if !is {
		to = "/dev/null"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", from, to)
	edits := compareLines(lines(before), lines(after))
	for from := 0; from < len(edits); {
		first := from
		for first < len(edits) && edits[first].op == ' ' {
			first++
		}
		if first == len(edits) {
			break
		}
		last, to := first, first+1 // the last change of the hunk, and where its context ends
		for ; to < len(edits) && to-last <= 2*contextLines; to++ {
			if edits[to].op != ' ' {
				last = to
			}
		}
		start, end := max(first-contextLines, from), min(last+1+contextLines, len(edits))
		hunk(&b, edits, start, end)
		from = end
	}
	return b.String()
}

// hunk writes the edits of a range, with the lines of both files that they are.
func hunk(b *strings.Builder, edits []edit, start, end int) {
	var oldAt, newAt, oldN, newN int
	for i, e := range edits[:end] {
		o, n := e.op != '+', e.op != '-'
		switch {
		case i < start:
			oldAt, newAt = oldAt+one(o), newAt+one(n)
		default:
			oldN, newN = oldN+one(o), newN+one(n)
		}
	}
	place := func(at, n int) string {
		if n > 0 {
			at++
		}
		return fmt.Sprintf("%d,%d", at, n)
	}
	fmt.Fprintf(b, "@@ -%s +%s @@\n", place(oldAt, oldN), place(newAt, newN))
	for _, e := range edits[start:end] {
		b.WriteByte(e.op)
		b.WriteString(e.line)
		if !strings.HasSuffix(e.line, "\n") {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// lines are a text's, each with its line feed.
func lines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		out = append(out, line)
	}
	return out
}

// compareLines is the shortest way from one list to another: what both begin and end with, and between them their longest
// common subsequence.
func compareLines(a, b []string) []edit {
	var head, tail []edit
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		head = append(head, edit{' ', a[0]})
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail = append(tail, edit{' ', a[len(a)-1]})
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	out := append(head, middle(a, b)...)
	for i := len(tail) - 1; i >= 0; i-- {
		out = append(out, tail[i])
	}
	return out
}

func middle(a, b []string) []edit {
	var out []edit
	if (len(a)+1)*(len(b)+1) <= diffCellsMax {
		// longest[i][j] is how much a[i:] and b[j:] have in common.
		width := len(b) + 1
		longest := make([]int32, (len(a)+1)*width)
		for i := len(a) - 1; i >= 0; i-- {
			for j := len(b) - 1; j >= 0; j-- {
				if a[i] == b[j] {
					longest[i*width+j] = longest[(i+1)*width+j+1] + 1
				} else {
					longest[i*width+j] = max(longest[(i+1)*width+j], longest[i*width+j+1])
				}
			}
		}
		i, j := 0, 0
		for i < len(a) && j < len(b) {
			switch {
			case a[i] == b[j]:
				out = append(out, edit{' ', a[i]})
				i, j = i+1, j+1
			case longest[(i+1)*width+j] >= longest[i*width+j+1]:
				out = append(out, edit{'-', a[i]})
				i++
			default:
				out = append(out, edit{'+', b[j]})
				j++
			}
		}
		a, b = a[i:], b[j:]
	}
	for _, line := range a {
		out = append(out, edit{'-', line})
	}
	for _, line := range b {
		out = append(out, edit{'+', line})
	}
	return out
}
