// Package amazon reads metrics and properties of volumes from AWS: the CloudWatch metrics of an EBS
// volume, of an EC2 instance with all its volumes, or of the storage of an RDS instance, and from
// the EC2 and RDS APIs their type, size, IOPS, throughput, instance limits, and whether a volume is
// being modified.
//
//	aws://vol-0123456789abcdef0?region=eu-central-1
//	aws://vol-0123456789abcdef0,vol-0123456789abcdef1
//	aws://i-0123456789abcdef0?profile=prod
//	aws://rds/orders
//
// Credentials, region and endpoints come from the same places that AWS's own tools use: environment,
// profiles, SSO, roles. The package only reads.
//
// Series have the names of prometheus/cloudwatch_exporter, so that rules read both. GetMetricData
// is billed per metric requested, so only metrics that a caller wants are requested. The EC2
// service has 700 operations and its client takes minutes to compile, but only four are needed. So
// those use the query protocol of EC2 and RDS, signed and retried by parts of the SDK ([query]).
package amazon

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"

	"plimsoll/internal/record/cloud"
	"plimsoll/internal/record/source"
)

// Cloud opens addresses of AWS. The zero Cloud is ready.
type Cloud struct {
	// Knows reports whether the limits of an instance type are known, so that they need not be
	// requested from AWS; nil means that none are known.
	Knows func(instanceType string) bool
	// Backoff replaces the waits between attempts, in tests.
	Backoff retry.BackoffDelayer
	// Within is how long to wait for an answer of the EC2 and RDS APIs; 0 means 20 seconds.
	Within time.Duration
}

// Scheme returns the scheme of the addresses.
func (Cloud) Scheme() string { return "aws" }

// Begins returns the prefixes of the addresses.
func (Cloud) Begins() []string { return []string{"aws://vol-", "aws://i-", "aws://rds/"} }

// A kind is the kind of thing that an address names.
type kind int

const (
	volume kind = iota
	instance
	database
)

// A target is a parsed address.
type target struct {
	kind            kind
	id              string
	region, profile string
}

var (
	volumeID   = regexp.MustCompile(`^vol-[0-9a-f]{8,17}(,vol-[0-9a-f]{8,17})*$`)
	instanceID = regexp.MustCompile(`^i-[0-9a-f]{8,17}$`)
	databaseID = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,62}$`)
	regionName = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-\d$`)
)

const forms = "give aws://vol-0123456789abcdef0, aws://i-0123456789abcdef0 or aws://rds/NAME, with ?region= and ?profile= if the environment does not set them"

func parse(arg string) (target, error) {
	u, err := url.Parse(arg)
	if err != nil || u.User != nil || u.Fragment != "" {
		return target{}, errors.New("the AWS address is not valid: " + forms)
	}

	var t target
	switch path := u.Path; {
	case volumeID.MatchString(u.Host) && path == "":
		t.kind, t.id = volume, u.Host
	case instanceID.MatchString(u.Host) && path == "":
		t.kind, t.id = instance, u.Host
	case u.Host == "rds" && len(path) > 1 && databaseID.MatchString(path[1:]):
		t.kind, t.id = database, path[1:]
	default:
		return target{}, fmt.Errorf("aws://%s%s is neither a volume, nor an instance, nor a database: %s", u.Host,
			path, forms)
	}

	// Unknown parameters are refused, because a typing error would otherwise be ignored silently.
	for name, values := range u.Query() {
		switch {
		case name == "region" && regionName.MatchString(values[0]):
			t.region = values[0]
		case name == "profile" && values[0] != "":
			t.profile = values[0]
		case name == "region":
			return target{}, errors.New("?region= is not an AWS region: want for example eu-central-1")
		default:
			return target{}, fmt.Errorf("unknown parameter ?%s=: want region or profile", name)
		}
	}

	return t, nil
}

// name returns the address for display.
func (t target) name() string {
	if t.kind == database {
		return "aws://rds/" + t.id
	}
	return "aws://" + t.id
}

// Open prepares an address. It sends no requests.
func (c Cloud) Open(_ context.Context, arg string) (source.Source, error) {
	t, err := parse(arg)
	if err != nil {
		return nil, err
	}
	bill := &cloud.Bill{Unit: "metrics requested", USD: usdPerMetric}
	return cloud.NewSource("cloudwatch", t.name(), &service{cloud: c, target: t, bill: bill}, bill), nil
}

// service implements [cloud.Service].
type service struct {
	cloud  Cloud
	target target
	bill   *cloud.Bill

	cfg aws.Config
	has inventory
}

// loginWithin bounds the time to obtain credentials: there may be a chain of roles, or a metadata
// service that does not answer.
const loginWithin = 15 * time.Second

// login loads the configuration of AWS's tools, and checks that there are credentials and a region.
func login(ctx context.Context, region, profile string) (aws.Config, error) {
	ctx, cancel := context.WithTimeout(ctx, loginWithin)
	defer cancel()
	options := []func(*config.LoadOptions) error{config.WithHTTPClient(
		awshttp.NewBuildableClient().WithTimeout(answerWithin)), config.WithLogger(logging.Nop{})}

	if profile != "" {
		options = append(options, config.WithSharedConfigProfile(profile))
	}

	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if missing := (config.SharedConfigProfileNotExistError{}); errors.As(err, &missing) {
		return cfg, fmt.Errorf("AWS: there is no profile %q: aws configure list-profiles lists them",
			missing.Profile)
	}

	if err != nil {
		return cfg, fmt.Errorf("AWS: cannot read the configuration: %w", err)
	}

	if region != "" {
		cfg.Region = region
	}

	// Nothing configured a region. On an EC2 instance, its own is the best guess.
	if cfg.Region == "" {
		if at, err := metadata(ctx, cfg); err == nil {
			cfg.Region = at.Region
		}
	}

	if cfg.Region == "" {
		return cfg,
			errors.New("AWS: no region is set: give ?region=eu-central-1 in the address, set AWS_REGION, or use a profile with a region")
	}

	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		return cfg, explainLogin(err)
	}

	return cfg, nil
}

// Describe implements [cloud.Service].
func (s *service) Describe(ctx context.Context, d *cloud.Description) (err error) {
	if s.cfg, err = login(ctx, s.target.region, s.target.profile); err != nil {
		return err
	}

	d.Fact("region", s.cfg.Region)
	l := &lookup{query: newQuery(s.cfg, s.cloud, s.bill), d: d, knows: s.cloud.Knows}
	switch s.target.kind {
	case database:
		err = l.database(ctx, s.target.id)
		s.has = inventory{databases: []string{s.target.id}}
	case instance:
		err = l.instance(ctx, s.target.id, true)
		s.has = l.has
		s.has.instances = []string{s.target.id}
	default:
		// The limits of the instances bind as well as those of the volumes, so each is described
		// once.
		ids := strings.Split(s.target.id, ",")
		err = l.volumes(ctx, ids)
		for _, id := range l.attachedTo {
			if err == nil {
				err = l.instance(ctx, id, false)
			}
		}
		s.has = inventory{volumes: ids, instances: l.attachedTo}
	}

	return err
}

// Period implements [cloud.Service]. CloudWatch keeps one-minute points for 15 days, five-minute
// points for 63 days and one-hour points for 455 days (CloudWatch API Reference, GetMetricData).
func (*service) Period(age time.Duration) time.Duration {
	const day = 24 * time.Hour
	switch {
	case age < 15*day:
		return time.Minute
	case age < 63*day:
		return 5 * time.Minute
	}
	return time.Hour
}
