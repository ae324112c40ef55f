package main

import (
	"fmt"
	"strings"
	"sync"
)

// Scored is a case with a tool's answer and its grade.
type Scored struct {
	Case
	Answer Answer
	Grade  string
	Why    string // if it is not right
}

func score(c Case, a Answer) Scored {
	g, why := grade(c.Truth, a)
	return Scored{Case: c, Answer: a, Grade: g, Why: why}
}

// workers is the number of concurrent diagnoses; each takes a fraction of a second.
const workers = 2

// scoreAll runs the program on all cases.
func scoreAll(cases []Case, program string) ([]Scored, error) {
	out := make([]Scored, len(cases))
	errs := make([]error, len(cases))

	// Each worker writes only to the places of the cases that it takes, so no lock is needed.
	next := make(chan int)
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for i := range next {
				var a Answer
				if a, errs[i] = diagnose(program, cases[i]); errs[i] == nil {
					out[i] = score(cases[i], a)
				}
			}
		})
	}

	for i := range cases {
		next <- i
	}
	close(next)
	wait.Wait()

	// The first error in the order of the cases, so that it does not depend on the workers.
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// A count is how many answers had each grade.
type count struct{ right, partly, wrong int }

func (c *count) add(grade string) {
	switch grade {
	case right:
		c.right++
	case partly:
		c.partly++
	default:
		c.wrong++
	}
}

func (c count) row(name string) string {
	all := c.right + c.partly + c.wrong
	share := "–"
	if all > 0 {
		share = fmt.Sprintf("%.0f %%", 100*float64(c.right)/float64(all))
	}
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %s |\n", name, all, c.right, c.partly, c.wrong, share)
}

// totals are the tables of both halves, by kind of case.
func totals(scored []Scored, brief bool) string {
	var b strings.Builder
	for _, half := range []struct {
		title  string
		unread bool
	}{
		{"The unread half", true}, {"The half that rules are tuned on", false},
	} {
		var all count
		by := map[string]*count{}
		critical := 0

		// The halves are never summed: figures of the tuned half are too good.
		for _, s := range scored {
			if s.Unread() != half.unread {
				continue
			}
			if by[s.Truth.Kind] == nil {
				by[s.Truth.Kind] = &count{}
			}
			by[s.Truth.Kind].add(s.Grade)
			all.add(s.Grade)
			if alarm(s) {
				critical++
			}
		}

		fmt.Fprintf(&b, "### %s: %d cases\n\n", half.title, all.right+all.partly+all.wrong)
		b.WriteString("| kind | cases | right | partly | wrong | share right |\n|---|---|---|---|---|---|\n")
		b.WriteString(all.row("**all**"))
		for _, k := range kinds {
			if by[k] != nil && !brief {
				b.WriteString(by[k].row(k))
			}
		}
		fmt.Fprintf(&b, "\nHealthy cases with a critical finding: %d.\n\n", critical)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// alarm reports whether a healthy case has a critical claim that does not hold.
func alarm(s Scored) bool {
	return s.Truth.Healthy && s.Grade == wrong && strings.HasPrefix(s.Why, "critical")
}

// listing is the table of cases. For the unread half, it shows only the truth unless unread is set.
func listing(scored []Scored, unread bool) string {
	var b strings.Builder
	b.WriteString("| case | product, storage, input | what the source concludes | verdict | grade |\n|---|---|---|---|---|\n")

	for _, s := range scored {
		verdict, g := "unread", "unread"
		if !s.Unread() || unread {
			verdict, g = clip(s.Answer.Verdict), s.Grade
			if s.Why != "" {
				g += ": " + s.Why
			}
		}
		fmt.Fprintf(&b, "| [%s](%s) | %s, %s, %s | %s | %s | %s |\n", s.Name, s.Truth.Source, s.Truth.Product,
			s.Truth.Storage, s.Truth.Form, oneLine(s.Truth.Conclusion), verdict, g)
	}
	return b.String()
}

// verdictRunes is how much of a verdict the table shows.
const verdictRunes = 160

func clip(s string) string {
	r := []rune(oneLine(s))
	if len(r) <= verdictRunes {
		return string(r)
	}
	return string(r[:verdictRunes]) + "…"
}

// oneLine makes a text fit a cell of a table.
func oneLine(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", "\\|")
}
