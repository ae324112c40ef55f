package document

// A Task is one thing to do now: commands for a shell, in the order in which they are run.
type Task struct {
	ID     string // "do1"
	Number int
	Title  string
	About  string // what it takes, in a few words: "no restart; free"
	Steps  []Step
}

// A Step is a part of a task: commands, or a sentence.
type Step struct {
	Label    string // "run", "check", "undo"
	Commands []string
	Text     string
}
