package yamltree

import (
	"fmt"

	"github.com/goccy/go-yaml/token"
)

// An openKey is a mapping that a line may continue: the column of its keys, and its last key.
type openKey struct {
	column, line int
	valued       bool // the last key has a value in its line
}

// misindented returns the first key whose indentation continues no mapping, and what was wanted; nil if
// there is none. Keys in flow brackets have no indentation.
func misindented(tokens token.Tokens) (key *token.Token, why string) {
	var open []openKey
	flow, line := 0, 0
	for i, t := range tokens {
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow--
		case token.DocumentHeaderType:
			open = nil
		}
		if t.Type != token.MappingValueType || flow > 0 || i == 0 {
			continue
		}

		// A value continues in lines that are indented more, so the key is at the end of its text.
		tok := tokens[i-1]
		if n := len(open); n > 0 && tok.Position.Line == line && t.Position.Line > line {
			return t, fmt.Sprintf("this line is indented more than line %d, which has its value already: want %d", line,
				open[n-1].column-1)
		}
		if tok.Position.Line == line {
			continue
		}
		line = tok.Position.Line

		// Mappings indented more than this key have ended.
		column, left := tok.Position.Column, (*openKey)(nil)
		for len(open) > 0 && open[len(open)-1].column > column {
			left = &openKey{column: open[len(open)-1].column, line: open[len(open)-1].line}
			open = open[:len(open)-1]
		}

		valued := i+1 < len(tokens) && tokens[i+1].Position.Line == line && tokens[i+1].Type != token.CommentType
		if n := len(open); n > 0 && open[n-1].column == column {
			open[n-1] = openKey{column, line, valued}
			continue
		}

		switch n := len(open); {
		case left != nil && n > 0:
			return tok, fmt.Sprintf("indented by %d: want %d, as line %d, or %d, as line %d", column-1, left.column-1,
				left.line, open[n-1].column-1, open[n-1].line)
		case left != nil:
			return tok, fmt.Sprintf("indented by %d: want %d, as line %d", column-1, left.column-1, left.line)
		case n > 0 && open[n-1].valued:
			return tok, fmt.Sprintf("indented by %d below line %d, which has its value already: want %d", column-1,
				open[n-1].line, open[n-1].column-1)
		}
		open = append(open, openKey{column, line, valued})
	}

	return nil, ""
}
