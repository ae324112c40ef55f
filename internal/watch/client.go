package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"plimsoll/internal/record/httpclient"
	"plimsoll/internal/record/recording"
)

// clientWithin bounds the duration of a request to a watch, clientBytesMax the size of its answer.
const (
	clientWithin   = 10 * time.Second
	clientBytesMax = 64 << 10
)

// A Client sends requests to a running watch.
type Client struct {
	// URL is the address of the watch's page.
	URL *url.URL
	// User and Password are sent if User is not empty.
	User, Password string
	// Insecure accepts any certificate.
	Insecure bool
}

// A RefusedError means that a watch refused a request.
type RefusedError struct {
	Status int
	Text   string
}

func (e *RefusedError) Error() string { return e.Text }

// Mark marks a moment in the watch.
func (c *Client) Mark(ctx context.Context, mark recording.Mark) (recording.Mark, error) {
	text, err := json.Marshal(markRequest{Text: mark.Text, At: mark.At})
	if err != nil {
		return mark, fmt.Errorf("mark: %w", err)
	}

	ctx, cancel := context.WithTimeout(ctx, clientWithin)
	defer cancel()
	to := *c.URL

	// Credentials are sent in a header only, never as part of the URL.
	to.User, to.RawQuery, to.Fragment = nil, "", ""
	to.Path, to.RawPath = strings.TrimSuffix(to.Path, "/")+markPath, ""

	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(text))
	if err != nil {
		return mark, fmt.Errorf("mark: %w", err)
	}

	req.Header.Set("Content-Type", jsonType)
	if c.User != "" {
		req.SetBasicAuth(c.User, c.Password)
	}

	client := httpclient.New(httpclient.Options{Base: httpclient.Base(c.Insecure)})
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return mark, fmt.Errorf("%s://%s: %w", to.Scheme, to.Host, httpclient.Cause(err))
	}

	defer resp.Body.Close()
	reply, err := io.ReadAll(io.LimitReader(resp.Body, clientBytesMax))
	if err != nil {
		return mark, fmt.Errorf("%s://%s: %w", to.Scheme, to.Host, err)
	}

	if resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusMethodNotAllowed {
		return mark, &RefusedError{resp.StatusCode,
			fmt.Sprintf("%s://%s is not a plimsoll watch, or one without support for marks", to.Scheme, to.Host)}
	}
	if resp.StatusCode != http.StatusCreated {
		return mark, &RefusedError{resp.StatusCode,
			fmt.Sprintf("%s://%s: %s: %s", to.Scheme, to.Host, resp.Status, firstLine(reply))}
	}

	var set recording.Mark
	if err := json.Unmarshal(reply, &set); err != nil {
		return mark, &RefusedError{resp.StatusCode,
			fmt.Sprintf("%s://%s does not answer like a plimsoll watch", to.Scheme, to.Host)}
	}

	return recording.NewMark(set.At, set.Text)
}

// firstLine returns the first line of an answer in displayable form.
func firstLine(reply []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(reply), []byte("\n"))
	const most = 300
	m := recording.OneLine(string(line[:min(len(line), most)]))
	if m == "" {
		return "no reason given"
	}
	return m
}
