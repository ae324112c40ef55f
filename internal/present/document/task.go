package document

// A Task is an action to take now: shell commands, in order.
type Task struct {
	ID     string // "do1"
	Number int
	Title  string
	About  string // its effort and cost in a few words: "no restart; free"
	Brief  string // About for a short form; "" if that is short enough
	Steps  []Step
}

// A Step is a part of a task: commands, or a sentence.
type Step struct {
	Label    string // "run", "check", "undo"
	Commands []string
	Text     string
	// Minor means that a short form may leave it out, unlike a command or its price.
	Minor bool
}
