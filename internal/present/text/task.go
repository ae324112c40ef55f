package text

import (
	"strconv"
	"strings"

	"plimsoll/internal/base/shellword"
	"plimsoll/internal/present/document"
)

const stepColumn = 10

// tasks writes tasks with their steps. Long commands are folded with backslashes, so that they can
// be copied to a shell.
func (p *page) tasks(all []document.Task) {
	indent := strings.Repeat(" ", findingIndent)
	for i, a := range all {
		// Tasks without steps are a list of titles, without blank lines between them.
		if i > 0 && (len(a.Steps) > 0 || len(all[i-1].Steps) > 0) {
			p.blank()
		}

		title := a.Title
		if a.About != "" {
			title += " (" + a.About + ")"
		}

		p.para(p.pad(strconv.Itoa(a.Number), findingIndent), indent, title, bold)
		for _, s := range a.Steps {
			label := s.Label
			for _, c := range s.Commands {
				pad := strings.Repeat(" ", max(1, stepColumn-findingIndent-columns(label)))
				for _, l := range shellword.Fold(p.clean(c), p.width-stepColumn, "  ") {
					p.line(indent, p.paint(label, dim), pad, l)
					label = ""
					pad = strings.Repeat(" ", stepColumn-findingIndent)
				}
			}

			if s.Text != "" {
				p.labelled(findingIndent, stepColumn, label, s.Text, plain)
			}
		}
	}
}
