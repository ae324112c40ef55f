package diagnostics

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
