package amazon

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"

	"plimsoll/internal/record/cloud"
	"plimsoll/internal/record/httpclient"
)

// metadataWithin bounds each request to the instance metadata service. Outside EC2, packets to its
// address may be dropped silently.
const metadataWithin = time.Second

// metadataBytesMax limits a response of the service: an identity document has about 500 bytes.
const metadataBytesMax = 64 << 10

// metadata queries the instance metadata service, version 2, for the identity of this machine. Without such a
// service it fails within two seconds, and immediately with AWS_EC2_METADATA_DISABLED=true.
func metadata(ctx context.Context, cfg aws.Config) (*imds.InstanceIdentityDocument, error) {
	client := imds.NewFromConfig(cfg, func(o *imds.Options) {
		o.EnableFallback = aws.FalseTernary
		o.Retryer = aws.NopRetryer{}
		client := httpclient.New(httpclient.Options{Base: httpclient.Direct(nil),
			Most: httpclient.Bounds{Bytes: metadataBytesMax}})
		client.Timeout = metadataWithin
		o.HTTPClient = client
	})
	out, err := client.GetInstanceIdentityDocument(ctx, nil)
	if err != nil {
		return nil, err
	}
	return &out.InstanceIdentityDocument, nil
}

// DescribeHost finds out which EC2 instance this machine is, and what the EBS volumes attached to
// it are. It should be called only if there are EBS volumes. Missing information becomes a note.
func (c Cloud) DescribeHost(ctx context.Context, volumes []string) (facts map[string]string, notes []string) {
	described := &cloud.Description{}
	// Outside AWS nothing answers at the metadata address, so the request needs its own deadline.
	ctx, cancel := context.WithTimeout(ctx, loginWithin)
	defer cancel()

	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		described.Note("AWS: cannot read the configuration: %v", err)
		return described.Facts, described.Notes
	}

	this, err := metadata(ctx, cfg)
	if err != nil {
		// IMDSv2 answers with an IP hop limit of 1 by default, which ends at a container's bridge.
		described.Note("the instance metadata service does not answer (containers need a hop limit of 2), so the limits of the volumes are unknown: give --volume and --instance")
		return described.Facts, described.Notes
	}

	described.Fact("instance_id", this.InstanceID)
	described.Fact("instance_type", this.InstanceType)
	described.Fact("region", this.Region)

	// The metadata service gives the region, which the environment of a node often lacks.
	if cfg, err = login(ctx, this.Region, ""); err != nil {
		described.Note("%v; without them, the limits of the volumes are unknown: give --volume", err)
		return described.Facts, described.Notes
	}

	l := &lookup{query: newQuery(cfg, c, &cloud.Bill{}), d: described, knows: c.Knows}
	if err = l.volumes(ctx, volumes); err == nil {
		err = l.machine(ctx, this.InstanceType)
	}

	// A volume that does not exist is not an error of the request: it is reported separately.
	if err == nil {
		err = described.Absent
	}

	if err != nil {
		described.Note("%v; the limits of the volumes are unknown: give --volume", err)
	}

	return described.Facts, described.Notes
}
