package act

import (
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"plimsoll/internal/base/shellword"
	"plimsoll/internal/judge/rules"
)

// A printer expands the templates of a remedy with values.
type printer struct {
	w      *where
	values rules.Values
}

var functions = template.FuncMap{
	"q": func(v any) string { return shellword.Quote(textOf(v)) },
	// ask prints a value as one shell word, or a variable that must be set first.
	"ask": func(v any, name, what string) string {
		if text := textOf(v); text != "" {
			return shellword.Quote(text)
		}
		// The shell would interpret quotes in the prompt, too.
		return `"${` + name + `:?` + strings.NewReplacer(`"`, "", "'", "", "`", "", "$", "", "}", "", "\\",
			"").Replace(what) + `}"`
	},
}

func textOf(v any) string {
	switch x := v.(type) {
	case rules.Value:
		return string(x)
	case string:
		return x
	}
	return ""
}

func (p printer) text(text string) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	t, err := template.New("remedy").Funcs(functions).Option("missingkey=zero").Parse(text)
	if err != nil {
		panic(err) // a test parses every text
	}
	var b strings.Builder
	if err := t.Execute(&b, p.values); err != nil {
		panic(err) // a test prints every text
	}
	return b.String()
}

// lines returns the commands of a step for a shell. Consecutive statements become one call of the client,
// or several with a separator between them. A command that is empty after expansion is left out. The prompt
// for a variable is printed once.
func (p printer) lines(all []rules.Command, separator string) []string {
	out := []string{}
	var statements []string
	needs := ""
	flush := func() {
		calls := []string{}
		if len(statements) > 0 {
			calls = p.ask(statements)
		}
		if needs != "" && len(calls) > 0 {
			// It shows the state, or that there is none.
			out = append(out, "cat "+p.stateFile(needs)+" && "+strings.Join(calls, " && "))
		} else if len(calls) > 0 && separator != "" {
			out = append(out, strings.Join(calls, separator))
		} else {
			out = append(out, calls...)
		}
		statements, needs = nil, ""
	}

	for _, c := range all {
		text := p.text(c.Text)
		if text == "" {
			continue
		}

		if c.State != "" && !c.Needs {
			flush()
			out = append(out, p.state(c, text))
			continue
		}

		if c.By == rules.ByClient {
			needs = c.State
			statements = append(statements, text)
			continue
		}

		flush()
		if c.By == rules.AtServer {
			text = p.atServer() + text
		}
		out = append(out, text)
	}

	flush()
	return promptedOnce(out)
}

// promptedOnce leaves the first prompt for each variable. Each use still stops its line without a value.
func promptedOnce(lines []string) []string {
	prompted := map[string]bool{}
	for i, line := range lines {
		lines[i] = variable.ReplaceAllStringFunc(line, func(use string) string {
			name := variable.FindStringSubmatch(use)[1]
			short := `"${` + name + `:?}"`
			if prompted[name] || use == short {
				return short
			}
			prompted[name] = true
			return use
		})
	}
	return lines
}

// variable matches a value that the user sets in the shell.
var variable = regexp.MustCompile(`"\$\{([A-Z_]+):\?[^"]*\}"`)

// stateFile is the file that saves a state: one for each server.
func (p printer) stateFile(state string) string {
	file := `~/plimsoll-` + state

	switch p.w.place {
	case rules.Kubernetes:
		file += p.text(`-{{ask .pod "POD" "the pod of the database"}}`)
	case rules.Docker:
		file += p.text(`-{{ask .name "CONTAINER" "the name of the container"}}`)
	default:
		// Each of several servers on one host gets its own file.
		if port, err := strconv.ParseUint(p.w.facts["server.port"], 10, 16); err == nil && port > 0 {
			file += "-" + strconv.FormatUint(port, 10)
		} else if calls := p.ask([]string{""}); len(calls) > 0 {
			if v := variable.FindStringSubmatch(calls[0]); v != nil { // the port that the client prompts for
				file += `-"${` + v[1] + `:?}"`
			}
		}
	}

	return file + ".before"
}

// state is a command that saves a state in a file, unless an earlier look did, or that restores it.
func (p printer) state(c rules.Command, text string) string {
	file := p.stateFile(c.State)

	call := strings.Join(p.ask([]string{text}), "; ")
	if c.Restores && c.Text == rules.Saved {
		// Each line of the file is a statement, to be run in a separate call.
		each := strings.ReplaceAll(call, shellword.Quote(rules.Saved), `"$s"`)
		return `test -s ` + file + ` && (while IFS= read -r s; do ` + each + ` </dev/null || exit 1; done <` +
			file + `) && rm ` + file
	}

	if c.Restores {
		// The client's statement is in single quotes, which must be closed around the file's content.
		return `test -s ` + file + ` && ` + strings.ReplaceAll(call, rules.Saved, `'"$(cat `+file+`)"'`) +
			` && rm ` + file
	}

	// The file appears only once it is complete: a client that fails or a full disk must not leave a part
	// of the state, which the next look would mistake for the whole state.
	return `F=` + file + `; test -s "$F" || { ` + call + ` > "$F.out" && grep ` + shellword.Quote("^"+c.Lines) +
		` "$F.out" > "$F.new" && mv "$F.new" "$F" && rm "$F.out"; }; cat "$F"`
}

// ask returns the calls of the engine's client, run inside the database's container if there is
// one.
func (p printer) ask(statements []string) []string {
	calls := statements
	if p.w.client != nil {
		calls = p.w.client(rules.ClientAt{Place: p.w.place, Version: p.w.version, Facts: p.w.facts}, statements)
	}

	// The client runs where the database runs.
	prefix := p.inContainer()
	out := make([]string, len(calls))
	for i, call := range calls {
		out[i] = prefix + call
	}

	return out
}

// inContainer is what runs a command in the database's container; "" if it has none.
func (p printer) inContainer() string {
	switch p.w.place {
	case rules.Kubernetes:
		return p.text(`kubectl exec{{with .namespace}} -n {{q .}}{{end}} {{ask .pod "POD" "the pod of the database"}}{{with .container}} -c {{q .}}{{end}} -- `)
	case rules.Docker:
		return p.text(`docker exec {{ask .name "CONTAINER" "the name of the container"}} `)
	}
	return ""
}

// atServer is what runs a command where the server runs.
func (p printer) atServer() string {
	if in := p.inContainer(); in != "" {
		return in
	}
	return "sudo "
}
