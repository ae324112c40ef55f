package httpclient

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// tokenBytesMax bounds a token file. Kubernetes' tokens have a kilobyte or two.
const tokenBytesMax = 64 << 10

// Credentials are an Authorization header, or the file that it is read from. The zero Credentials
// are empty.
type Credentials struct {
	// What names them in an error about rejected credentials: "user and password".
	What string

	header   string
	file     string // with a bearer token; read again for each request, because Kubernetes rotates tokens
	fileName string // the variable that names the file
}

// Basic returns credentials of a user and a password, none if there is no user.
func Basic(user, password string) Credentials {
	if user == "" {
		return Credentials{}
	}
	return basic(user, password)
}

func basic(user, password string) Credentials {
	req := http.Request{Header: http.Header{}}
	req.SetBasicAuth(user, password)
	return Credentials{header: req.Header.Get("Authorization"), What: "user and password"}
}

// OfURL returns the credentials in a URL, with a password from elsewhere if the URL has only a
// user.
func OfURL(u *url.URL, elsewhere string) Credentials {
	if u.User == nil {
		return Credentials{}
	}
	password, has := u.User.Password()
	if !has {
		password = elsewhere
	}
	return basic(u.User.Username(), password)
}

// Bearer returns credentials of a token, none if it is empty.
func Bearer(token string) Credentials {
	if token == "" {
		return Credentials{}
	}
	return Credentials{header: "Bearer " + token, What: "bearer token"}
}

// TokenFile returns credentials from a file with a bearer token, which the variable env names; none if
// path is empty.
func TokenFile(path, env string) Credentials {
	if path == "" {
		return Credentials{}
	}
	return Credentials{file: path, fileName: env, What: "bearer token in " + path}
}

// Authorization returns the header, or "" if there is none.
func (c Credentials) Authorization() (string, error) {
	if c.file == "" {
		return c.header, nil
	}

	f, err := os.Open(c.file)
	if err != nil {
		return "", fmt.Errorf("cannot read the bearer token of %s: %w", c.fileName, err)
	}

	defer f.Close()

	text, err := io.ReadAll(io.LimitReader(f, tokenBytesMax+1))
	if err != nil {
		return "", fmt.Errorf("cannot read the bearer token of %s: %w", c.fileName, err)
	}

	// Editors add a final line feed.
	token := strings.TrimSpace(string(text))
	if token == "" || len(text) > tokenBytesMax || strings.ContainsAny(token, " \r\n\t") {
		return "",
			fmt.Errorf("the bearer token of %s: %s is empty or has several lines: want one line with the token",
				c.fileName, c.file)
	}

	return "Bearer " + token, nil
}
