package kubeclient

import "regexp"

// rewrites turn the texts of client-go's decoders into texts about the file.
var rewrites = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`error loading config file "([^"]*)": `), "$1: "},
	{regexp.MustCompile(`json: cannot unmarshal (\w+) into Go struct field (?:\w+\.)?([\w.-]+) of type [^ ;,]+`), "$2 cannot be a $1"},
	{regexp.MustCompile(`json: cannot unmarshal (\w+) into Go value of type [^ ;,]+`), "it cannot be a $1"},
	{regexp.MustCompile(`no kind "([^"]*)" is registered for version "([^"]*)" in scheme "[^"]*"`), `it is a $1 of $2, not a Config of v1`},
	{regexp.MustCompile(`Object 'Kind' is missing in '.*'`), `it has no "kind: Config"`},
	{regexp.MustCompile(`(?:illegal base64 data at|error decoding .* base64).*`), "a certificate or a key is not in base64"},
	{regexp.MustCompile(`(?:error converting YAML to JSON: )?\b(?:yaml|json): `), ""},
}

// unusable returns why a kubeconfig cannot be used, after a colon.
func unusable(err error) string {
	text := err.Error()
	for _, r := range rewrites {
		text = r.from.ReplaceAllString(text, r.to)
	}
	return ": " + text
}
