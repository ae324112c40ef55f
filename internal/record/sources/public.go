package sources

import "strings"

// Public is an argument as it may be shown: of an address, without user, password and parameters.
func Public(arg string) string {
	scheme, rest, ok := strings.Cut(arg, "://")
	if !ok {
		return arg
	}
	authority, path := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	if strings.ContainsRune(path, '@') { // what ended the host may have been one of a password's characters
		return scheme + "://..."
	}
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	return scheme + "://" + authority[strings.LastIndexByte(authority, '@')+1:] + path
}
