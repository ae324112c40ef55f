package amazon

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/credentials/ssocreds"
	"github.com/aws/smithy-go"

	"plimsoll/internal/record/cloud"
	"plimsoll/internal/record/httpclient"
)

// who matches the principal in the message of a denied request.
var who = regexp.MustCompile(`User: (arn:[^ ]+) is not authorized`)

// explain turns the error of an IAM action ("ec2:DescribeVolumes") in a region into one sentence:
// what went wrong, and what to do.
func explain(err error, action, region string) error {
	var api smithy.APIError
	// No answer from an API: a network, DNS or credential-provider failure.
	if !errors.As(err, &api) {
		return explainNetwork(err, action, region)
	}

	refuse := func(kind error, format string, args ...any) error {
		return cloud.Refuse(kind, "AWS: "+format, args...)
	}
	switch code := api.ErrorCode(); {
	case throttled(err):
		return refuse(
			nil, "%s is throttled in %s even after %d attempts: other clients use up the account's request rate; try again later",
			action, region, attemptsMax)
	case strings.HasPrefix(code, "ExpiredToken") || code == "RequestExpired":
		return refuse(nil, "the credentials have expired: get new ones, for example by aws sso login")
	case code == "UnauthorizedOperation" || strings.HasPrefix(code, "AccessDenied"):
		// Only the message names the principal; without it, the sentence still says what is
		// missing.
		principal := "these credentials"
		if m := who.FindStringSubmatch(api.ErrorMessage()); m != nil {
			principal = m[1]
		}
		return refuse(
			cloud.ErrDenied, "permission %s is missing for %s: docs/clouds.md has a sufficient policy",
			action, principal)
	case code == "AuthFailure" || code == "InvalidClientTokenId" || code == "UnrecognizedClientException" ||
		code == "SignatureDoesNotMatch" || code == "InvalidAccessKeyId":
		return refuse(
			nil, "credentials not accepted in %s (%s): check the profile, and that this region is enabled for the account",
			region, code)
	case code == "OptInRequired":
		return refuse(nil, "the account has not enabled the region %s", region)
	// Services have different codes, such as InvalidVolume.NotFound and DBInstanceNotFound.
	case strings.Contains(code, "NotFound"):
		return refuse(
			cloud.ErrNotFound, "%s: not found in %s for this account: check the name, ?region= and ?profile=",
			code, region)
	default:
		return refuse(nil, "%s in %s: %s: %s", action, region, code, api.ErrorMessage())
	}
}

func explainNetwork(err error, action, region string) error {
	var dns *net.DNSError
	var at *url.Error

	var large *httpclient.TooLargeError
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &large):
		return fmt.Errorf("AWS: %s in %s: %w", action, region, large)
	case timedOut(err):
		return fmt.Errorf("AWS: %s in %s: no answer%s in time: check the network, proxies and firewalls",
			action, region, hostOf(err))
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Errorf("AWS: host %s not found: check the region %s and the connection to the internet",
			dns.Name, region)
	case errors.As(err, &at):
		return fmt.Errorf("AWS: %s in %s: no answer: %w", action, region, at.Err)
	case undecoded(err):
		return fmt.Errorf("AWS: %s in %s: the answer is damaged, or not from AWS: check proxies and AWS_ENDPOINT_URL",
			action, region)
	}

	return fmt.Errorf("AWS: %s in %s: %w", action, region, err)
}

// undecoded reports whether an answer could not be decoded. Such errors are worded by the decoder and quote
// the answer.
func undecoded(err error) bool {
	var sdk *smithy.DeserializationError
	var number *strconv.NumError
	var syntax *xml.SyntaxError
	var value xml.UnmarshalError
	return errors.As(err, &sdk) || errors.As(err, &number) || errors.As(err, &syntax) || errors.As(err, &value)
}

// hostOf returns " from HOST" for the server of a failed request, or "" if it is unknown.
func hostOf(err error) string {
	var at *url.Error
	if errors.As(err, &at) {
		if u, err := url.Parse(at.URL); err == nil && u.Host != "" {
			return " from " + u.Host
		}
	}
	return ""
}

// explainLogin explains the error of missing or invalid credentials.
func explainLogin(err error) error {
	var token *ssocreds.InvalidTokenError
	switch text := err.Error(); {
	case errors.As(err, &token) || strings.Contains(text, "token has expired") ||
		strings.Contains(text, "ExpiredToken"):
		return cloud.Refuse(nil, "AWS: the credentials have expired: get new ones, for example by aws sso login")
	case strings.Contains(text, "IMDS") || errors.Is(err, context.DeadlineExceeded):
		return cloud.Refuse(
			nil, "AWS: no credentials found: create them with aws configure or aws sso login, select a profile with AWS_PROFILE or ?profile=, or give the EC2 instance a role")
	}
	return fmt.Errorf("AWS: cannot obtain credentials: %w", err)
}
