package amazon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/credentials/ssocreds"
	"github.com/aws/smithy-go"

	"plimsoll/internal/record/cloud"
	"plimsoll/internal/record/httpclient"
)

// who matches the principal in the message of a denial.
var who = regexp.MustCompile(`User: (arn:[^ ]+) is not authorized`)

// explain makes one sentence of an error of an action of IAM ("ec2:DescribeVolumes") in a region:
// what it is, and what to do.
func explain(err error, action, region string) error {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return explainNetwork(err, action, region)
	}

	said := func(kind error, format string, args ...any) error {
		return cloud.Refuse(kind, "AWS: "+format, args...)
	}
	switch code := api.ErrorCode(); {
	case throttled(err):
		return said(
			nil, "%s is throttled in %s, also after %d attempts: others use up the account's rate; try again later",
			action, region, attemptsMax)
	case strings.HasPrefix(code, "ExpiredToken") || code == "RequestExpired":
		return said(nil, "the credentials have expired: get new ones, for example by aws sso login")
	case code == "UnauthorizedOperation" || strings.HasPrefix(code, "AccessDenied"):
		principal := "these credentials"
		if m := who.FindStringSubmatch(api.ErrorMessage()); m != nil {
			principal = m[1]
		}
		return said(
			cloud.ErrDenied, "the permission %s is missing for %s: docs/clouds.md has a policy that suffices",
			action, principal)
	case code == "AuthFailure" || code == "InvalidClientTokenId" || code == "UnrecognizedClientException" ||
		code == "SignatureDoesNotMatch" || code == "InvalidAccessKeyId":
		return said(
			nil, "it does not accept the credentials in %s (%s): check the profile, and that the account uses this region",
			region, code)
	case code == "OptInRequired":
		return said(nil, "the account has not enabled the region %s", region)
	case strings.Contains(code, "NotFound"):
		return said(
			cloud.ErrNotFound, "%s: there is no such thing in %s for this account: check the name, ?region= and ?profile=",
			code, region)
	default:
		return said(nil, "%s in %s: %s: %s", action, region, code, api.ErrorMessage())
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
		return fmt.Errorf("AWS: %s in %s gets no answer%s in time: check the network, proxies and firewalls",
			action, region, hostOf(err))
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Errorf("AWS: there is no host %s: is %s the region's name, and is there a way to the internet?",
			dns.Name, region)
	case errors.As(err, &at):
		return fmt.Errorf("AWS: %s in %s gets no answer: %w", action, region, at.Err)
	}

	return fmt.Errorf("AWS: %s in %s: %w", action, region, err)
}

// hostOf names the server of a request that failed: " from HOST"; "" if it is not known.
func hostOf(err error) string {
	var at *url.Error
	if errors.As(err, &at) {
		if u, err := url.Parse(at.URL); err == nil && u.Host != "" {
			return " from " + u.Host
		}
	}
	return ""
}

// explainLogin does the same for credentials that cannot be had.
func explainLogin(err error) error {
	var token *ssocreds.InvalidTokenError
	switch text := err.Error(); {
	case errors.As(err, &token) || strings.Contains(text, "token has expired") ||
		strings.Contains(text, "ExpiredToken"):
		return cloud.Refuse(nil, "AWS: the credentials have expired: get new ones, for example by aws sso login")
	case strings.Contains(text, "IMDS") || errors.Is(err, context.DeadlineExceeded):
		return cloud.Refuse(
			nil, "AWS: there are no credentials: aws configure or aws sso login makes them, AWS_PROFILE or ?profile= chooses one, and on EC2 an instance's role has them")
	}
	return fmt.Errorf("AWS: the credentials cannot be had: %w", err)
}
