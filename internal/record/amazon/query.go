package amazon

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"plimsoll/internal/record/cloud"
	"plimsoll/internal/record/httpclient"
)

const (
	// attemptsMax bounds the attempts of a request while AWS throttles or does not answer.
	attemptsMax = 6
	// answerWithin bounds the time for an answer; answerBytesMax the size of an answer of the EC2
	// or RDS API. 128 volumes take 200 KB.
	answerWithin   = 20 * time.Second
	answerBytesMax = 4 << 20
	// pageBytesMax bounds a page of CloudWatch. Its 100,800 values take at most 4 MB.
	pageBytesMax = 8 << 20
)

// A retryer is the SDK's retryer that also counts throttled requests.
type retryer struct {
	*retry.Standard
	bill *cloud.Bill
}

func newRetryer(backoff retry.BackoffDelayer, bill *cloud.Bill) retryer {
	return retryer{bill: bill, Standard: retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = attemptsMax
		if backoff != nil {
			o.Backoff = backoff
		}
	})}
}

// IsErrorRetryable implements [aws.Retryer]. Timeouts are not retried: the next attempt would take
// just as long.
func (r retryer) IsErrorRetryable(err error) bool {
	return !timedOut(err) && r.Standard.IsErrorRetryable(err)
}

func timedOut(err error) bool {
	var n net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &n) && n.Timeout()
}

// RetryDelay implements [aws.Retryer].
func (r retryer) RetryDelay(attempt int, err error) (time.Duration, error) {
	if throttled(err) {
		r.bill.Throttle()
	}
	return r.Standard.RetryDelay(attempt, err)
}

// A query sends requests in the query protocol of EC2 and RDS: a signed form, answered with XML.
type query struct {
	cfg     aws.Config
	signer  *v4.Signer
	retryer retryer
	bill    *cloud.Bill
	within  time.Duration
}

// bounded returns a configuration whose answers are bounded in size and time. It wraps the SDK's
// own client, because that supports AWS_CA_BUNDLE.
func bounded(cfg aws.Config, within time.Duration) aws.Config {
	o := httpclient.Options{Most: httpclient.Bounds{Bytes: pageBytesMax}}
	if own, ok := cfg.HTTPClient.(*awshttp.BuildableClient); ok {
		o.Base = own.GetTransport()
	}
	c := httpclient.New(o)
	c.Timeout = within
	cfg.HTTPClient = c
	return cfg
}

func newQuery(cfg aws.Config, c Cloud, bill *cloud.Bill) *query {
	within := cmp.Or(c.Within, answerWithin)
	cfg = bounded(cfg, within)
	return &query{cfg: cfg, signer: v4.NewSigner(), retryer: newRetryer(c.Backoff, bill), bill: bill,
		within: within}
}

// apiVersions are the API versions that this package was written for.
var apiVersions = map[string]string{"ec2": "2016-11-15", "rds": "2014-10-31"}

// endpoint returns the address of a service, found like AWS's own tools do.
func (q *query) endpoint(service string) string {
	if at := os.Getenv("AWS_ENDPOINT_URL_" + strings.ToUpper(service)); at != "" {
		return at
	}
	if q.cfg.BaseEndpoint != nil {
		return *q.cfg.BaseEndpoint
	}
	domain := "amazonaws.com"
	if strings.HasPrefix(q.cfg.Region, "cn-") {
		domain += ".cn"
	}
	return "https://" + service + "." + q.cfg.Region + "." + domain
}

// call requests an action of a service and decodes the answer. Its errors come from [explain].
func (q *query) call(ctx context.Context, service, action string, parameters url.Values, into any) error {
	parameters.Set("Action", action)
	parameters.Set("Version", apiVersions[service])
	body := []byte(parameters.Encode())

	var err error
	for attempt := 1; ; attempt++ {
		if err = q.once(ctx, service, body, into); err == nil || attempt == attemptsMax ||
			!q.retryer.IsErrorRetryable(err) {
			break
		}

		// The retryer also counts throttled requests.
		delay, delayErr := q.retryer.RetryDelay(attempt, err)
		if delayErr != nil {
			break
		}

		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return ctx.Err()
		}
	}

	if err != nil {
		return explain(err, service+":"+action, q.cfg.Region)
	}

	return nil
}

func (q *query) once(ctx context.Context, service string, body []byte, into any) error {
	ctx, cancel := context.WithTimeout(ctx, q.within)
	defer cancel()
	credentials, err := q.cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return err
	}

	limited := httpclient.WithBounds(ctx, httpclient.Bounds{Bytes: answerBytesMax})
	r, err := http.NewRequestWithContext(limited, http.MethodPost, q.endpoint(service)+"/",
		bytes.NewReader(body))
	if err != nil {
		return err
	}

	r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")

	// The signature covers the hash of the body, so the body must not change after this.
	sum := sha256.Sum256(body)
	if err := q.signer.SignHTTP(ctx, credentials, r, hex.EncodeToString(sum[:]), service, q.cfg.Region,
		time.Now()); err != nil {
		return err
	}

	answer, err := q.cfg.HTTPClient.Do(r)
	if err != nil {
		return &smithyhttp.RequestSendError{Err: err}
	}

	defer answer.Body.Close()
	q.bill.Call(0)
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}

	if answer.StatusCode != http.StatusOK {
		return refusal(answer.StatusCode, text)
	}

	return xml.Unmarshal(text, into)
}

// refusal returns the error in an answer. EC2 returns a list of errors, RDS a single one.
func refusal(status int, text []byte) error {
	var found struct {
		List  []refused `xml:"Errors>Error"`
		Error refused   `xml:"Error"`
	}
	if err := xml.Unmarshal(text, &found); err == nil {
		if len(found.List) > 0 {
			found.Error = found.List[0]
		}
		if found.Error.Code != "" {
			return &smithy.GenericAPIError{Code: found.Error.Code, Message: found.Error.Message}
		}
	}
	return &smithy.GenericAPIError{Code: fmt.Sprintf("HTTP %d", status), Message: http.StatusText(status)}
}

type refused struct{ Code, Message string }

// throttled reports whether AWS refused a request because of its rate limits.
func throttled(err error) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}
	_, ok := retry.DefaultThrottleErrorCodes[api.ErrorCode()]
	return ok
}
