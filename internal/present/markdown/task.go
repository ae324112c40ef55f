package markdown

import (
	"fmt"

	"plimsoll/internal/present/document"
)

// tasks writes tasks with their steps. Each step's commands are in a code block.
func (p *page) tasks(all []document.Task) {
	for _, a := range all {
		head := fmt.Sprintf("### %d. %s", a.Number, inline(a.Title))
		p.para(head)
		if a.About != "" {
			p.para(inline(document.Sentence(a.About)))
		}

		for _, s := range a.Steps {
			text := "**" + inline(s.Label) + "**"
			if s.Text != "" {
				text += ": " + inline(s.Text)
			}
			p.para(text)
			if len(s.Commands) > 0 {
				p.fence("sh", s.Commands)
			}
		}
	}
}
