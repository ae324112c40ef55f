package catalog

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/base/units"
)

const (
	typesJSON = `{
  "InstanceTypes": [
    {"InstanceType": "m6i.xlarge", "VCpuInfo": {"DefaultVCpus": 4}, "MemoryInfo": {"SizeInMiB": 16384}, "EbsInfo": {"MaximumEbsAttachments": 28,
      "EbsOptimizedInfo": {"BaselineIops": 7000, "MaximumIops": 40000, "BaselineThroughputInMBps": 156.25, "MaximumThroughputInMBps": 1250.0}}},
    {"InstanceType": "m9z.large", "VCpuInfo": {"DefaultVCpus": 2}, "MemoryInfo": {"SizeInMiB": 8192},
      "InstanceStorageInfo": {"Disks": [{"Count": 1, "SizeInGB": 300, "Type": "ssd"}]}}
  ]
}`
	// As aws pricing get-products prints them: JSON within strings.
	pricesJSON = `{"FormatVersion": "aws_v1", "PriceList": [
"{\"product\":{\"productFamily\":\"Storage\",\"attributes\":{\"volumeApiName\":\"gp3\",\"regionCode\":\"eu-west-1\",\"usagetype\":\"EU-EBS:VolumeUsage.gp3\"}},\"terms\":{\"OnDemand\":{\"a\":{\"priceDimensions\":{\"b\":{\"unit\":\"GB-Mo\",\"pricePerUnit\":{\"USD\":\"0.088\"}}}}}}}",
{"product":{"attributes":{"volumeApiName":"gp3","regionCode":"eu-west-1","usagetype":"EU-EBS:VolumeP-IOPS.gp3"}},"terms":{"OnDemand":{"a":{"priceDimensions":{"b":{"unit":"IOPS-Mo","pricePerUnit":{"USD":"0.0055"}}}}}}},
{"product":{"attributes":{"volumeApiName":"gp3","regionCode":"eu-west-1","usagetype":"EU-EBS:VolumeP-Throughput.gp3"}},"terms":{"OnDemand":{"a":{"priceDimensions":{"b":{"unit":"GiBps-mo","pricePerUnit":{"USD":"45.056"}}}}}}},
{"product":{"attributes":{"volumeApiName":"io2","regionCode":"eu-west-1","usagetype":"EU-EBS:VolumeP-IOPS.io2.tier2"}},"terms":{"OnDemand":{"a":{"priceDimensions":{"b":{"unit":"IOPS-Mo","pricePerUnit":{"USD":"0.05"}}}}}}},
{"product":{"attributes":{"volumeApiName":"io2","regionCode":"eu-west-1","usagetype":"EU-EBS:VolumeP-IOPS.io2"}},"terms":{"OnDemand":{"a":{"priceDimensions":{"b":{"unit":"IOPS-Mo","pricePerUnit":{"USD":"0.07"}}}}}}},
{"product":{"attributes":{"instanceType":"m6i.xlarge","regionCode":"eu-west-1","operatingSystem":"Linux","tenancy":"Shared","preInstalledSw":"NA","capacitystatus":"Used"}},"terms":{"OnDemand":{"a":{"priceDimensions":{"b":{"unit":"Hrs","pricePerUnit":{"USD":"0.214"}}}}}}},
{"product":{"attributes":{"instanceType":"m6i.xlarge","regionCode":"eu-west-1","operatingSystem":"Windows"}},"terms":{"OnDemand":{"a":{"priceDimensions":{"b":{"unit":"Hrs","pricePerUnit":{"USD":"0.4"}}}}}}},
{"product":{"attributes":{"group":"Snapshot"}},"terms":{}}
]}`
	pricesCSV = "Region,Instance Type,vCPUs,USD per hour\nus-east-1,m6i.xlarge,4,0.2\nus-east-1,m9z.large,2,$0.3\n"
)

func read(t *testing.T, name, text string) *Import {
	t.Helper()
	in, err := ReadImport(name, []byte(text), "2026-11-21")
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// Imports are kept, read back, and take precedence over the embedded catalogue.
func TestImport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "catalog.json")
	s, err := OpenStore(path)
	if err != nil {
		t.Fatal(err)
	}

	var all []Change
	for _, f := range []struct{ name, text string }{{"a/types.json", typesJSON}, {"prices.json", pricesJSON}, {"prices.csv", pricesCSV}, {"again.csv", pricesCSV}} {
		changes, err := s.Add(read(t, f.name, f.text))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, changes...)
	}

	if err := s.Write(path); err != nil {
		t.Fatal(err)
	}

	s, err = OpenStore(path)
	if err != nil {
		t.Fatal(err)
	}

	c := s.Catalog()
	m6i, err := c.Instance("m6i.xlarge")
	if err != nil {
		t.Fatal(err)
	}

	if m6i.Baseline.IOPS != 7000 || m6i.Source.String() != "imported from types.json, 2026-11-21" {
		t.Errorf("m6i.xlarge is %+v", m6i)
	}

	for region, want := range map[string]units.USD{"": .2, "eu-west-1": .214} {
		if p, ok := m6i.Hourly(region); !ok || p.Hourly != want {
			t.Errorf("m6i.xlarge costs %v in %q, want %v", p, region, want)
		}
	}

	if m9z, err := c.Instance("m9z.large"); err != nil || m9z.Disk.Size != 300*units.GB || m9z.HasEBS {
		t.Errorf("m9z.large is %+v, %v", m9z, err)
	}

	o := order(t, "{type: gp3, size: 100GiB, iops: 4000, throughput: 225MiB/s}")
	if b, err := c.Monthly(o, "eu-west-1"); err != nil || !near(b.Total, 8.8+5.5+4.4) || b.Source.Text != "imported from prices.json" {
		t.Errorf("gp3 in eu-west-1: %+v, %v", b, err)
	}

	// The list had only io2's IOPS, so its capacity has no price. That does not make the price 0.
	var no *NoPriceError
	if b, err := c.Monthly(order(t, "{type: io2, size: 100GiB, iops: 40000}"), "eu-west-1"); !errors.As(err, &no) {
		t.Errorf("io2 in eu-west-1: %+v, %v", b, err)
	}

	kinds := map[string]int{}
	for _, c := range all {
		kinds[c.Kind]++
	}

	// Added: m9z.large, its price, m6i.xlarge's in eu-west-1, gp3's and io2's prices there.
	// Changed: m6i.xlarge and its price.
	if kinds["added"] != 5 || kinds["changed"] != 2 || kinds["same"] != 2 {
		t.Errorf("%v: %+v", kinds, all)
	}

	// The list is used only if requested.
	if m, err := Embedded().Instance("m6i.xlarge"); err != nil || m.Baseline.IOPS != 6000 {
		t.Errorf("embedded: %+v, %v", m, err)
	}

	if m, err := c.Instance("m6i.xlarge"); err != nil || m.Baseline.IOPS != 7000 {
		t.Errorf("with imports: %+v, %v", m, err)
	}
}

// Each invalid file gives one error with its position.
func TestImportRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"empty":        {" \n", "empty"},
		"prose":        {"It was a dark and stormy night;\n", "header"},
		"other JSON":   {`{"Reservations": []}`, "line 1, byte 0: JSON without a list"},
		"refused":      {`{"error": {"code": 403, "message": "The request is missing a valid API key.", "status": "PERMISSION_DENIED"}}`, `the provider's error instead of prices: "The request is missing a valid API key."`},
		"cut":          {typesJSON[:400], "line 5, byte 400: the JSON is incomplete"},
		"cut early":    {typesJSON[:30], "was the file cut off?"},
		"broken":       {"{\n\"InstanceTypes\": [ }", "line 2, byte"},
		"no list":      {`{"InstanceTypes": 5}`, "not a list"},
		"wrong kind":   {strings.Replace(typesJSON, "8192", `"much"`, 1), "line 5, byte 317: InstanceTypes[1]: MemoryInfo.SizeInMiB is a string"},
		"no memory":    {strings.Replace(typesJSON, "8192", "0", 1), `"m9z.large": a memory of 0 MiB`},
		"huge":         {strings.Replace(typesJSON, "8192", "9000000000000000000", 1), "a memory of 9000000000000000000 MiB"},
		"IOPS":         {strings.Replace(typesJSON, "7000", "-1", 1), "EBS limits of -1 IOPS"},
		"maximum":      {strings.Replace(typesJSON, "40000", "10", 1), "at least the baseline"},
		"name":         {strings.Replace(typesJSON, "m9z.large", "m9z\\u001b[31m", 1), "not a valid name of an instance type"},
		"no name":      {strings.Replace(typesJSON, "m9z.large", "", 1), "name of 0 characters"},
		"twice":        {strings.Replace(typesJSON, "m9z.large", "m6i.xlarge", 1), "m6i.xlarge is there twice"},
		"more":         {typesJSON + "{}", "something follows"},
		"nothing":      {`{"InstanceTypes": []}`, "contains nothing"},
		"price":        {strings.Replace(pricesJSON, "0.214", "lots", 1), `PriceList[5]: m6i.xlarge in eu-west-1: "lots" is not a price`},
		"JSON in JSON": {`["{\"product\": "]`, "PriceList[0]: in its text"},
		"CSV price":    {"instance_type,usd_per_hour\na.b,1\na.c,\n", `line 3: "" is not a price`},
		"CSV fields":   {"instance_type,usd_per_hour\na.b,1,5\n", "line 2"},
		"CSV negative": {"instance_type,usd_per_hour\na.b,-1\n", "line 2: price of -1"},
		"CSV columns":  {"a,b\n1,2\n", "header needs instance_type and usd_per_hour"},
		"CSV twice":    {"instance_type,usd_per_hour\na.b,1\na.b,1\na.b,2\n", "line 4: a.b in us-east-1 costs 2 USD per hour, but 1 in an earlier line"},
		"endless line": {strings.Repeat("a", listBytesMax+1), "neither JSON nor a list of prices of at most 33.6 MB"},
		"binary":       {"\xff\xfe\x00", "not UTF-8"},
	} {
		_, err := ReadImport("in.json", []byte(c.text), "")
		var at *ImportError
		if err == nil || !errors.As(err, &at) || !strings.HasPrefix(err.Error(), "in.json: ") || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want one line with %q", name, err, c.says)
		}
	}
}

func TestStoreRefuses(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{"{", "in the middle"}, {`{"version": 2}`, "version 2"},
		{`{"version": 1, "instances": [{"name": "x", "vcpu": 1, "memory": "1B"}]}`, "instances[0]"},
		{`{"version": 1, "instance_prices": [{"instance": "x", "price": {"region": "r", "hourly": "20000USD"}}]}`, "instance_prices[0]"},
		{`{"version": 1, "volume_prices": [{"type": "gp9"}]}`, "volume_prices[0]"},
		{`{"version": 1, "volume_prices": [{"type": "io2", "prices": {"region": "r", "iops": [{"over": "5"}, {"over": "5"}]}}]}`, "not in ascending order"},
	} {
		path := filepath.Join(t.TempDir(), "catalog.json")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenStore(path); err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q", c.text, err, c.says)
		}
	}

	// A folder that is not writable is left unchanged.
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "catalog.json"), 0o755); err != nil {
		t.Fatal(err)
	}

	if err := (&Store{Version: 1}).Write(filepath.Join(dir, "catalog.json")); err == nil {
		t.Error("a folder was replaced by a file")
	}

	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v, %v left behind", left, err)
	}
}

// The units are as AWS prints them: each product family has its own spelling.
func TestReadImportUnits(t *testing.T) {
	list := func(rows ...string) string {
		return `{"FormatVersion":"aws_v1","PriceList":[` + strings.Join(rows, ",") + `]}`
	}
	row := func(family, name, usage, unit, usd string) string {
		return fmt.Sprintf(`{"product":{"productFamily":%q,"sku":"S","attributes":{"servicecode":"AmazonEC2","location":"Asia Pacific (Tokyo)","regionCode":"ap-northeast-1","volumeApiName":%q,"usagetype":"APN1-EBS:%s"}},`+
			`"serviceCode":"AmazonEC2","terms":{"OnDemand":{"S.JRTCKXETXF":{"priceDimensions":{"S.JRTCKXETXF.6YS6EN2CT7":{"unit":%q,"endRange":"Inf","beginRange":"0","pricePerUnit":{"USD":%q},"appliesTo":[]}},"termAttributes":{}}}},"version":"1"}`,
			family, name, usage, unit, usd)
	}

	s := Store{Version: storeVersion}
	if _, err := s.Add(read(t, "prices.json", list(
		row("Storage", "gp3", "VolumeUsage.gp3", "GB-Mo", "0.0960000000"),
		row("System Operation", "gp3", "VolumeP-IOPS.gp3", "IOPS-Mo", "0.0060000000"),
		row("Provisioned Throughput", "gp3", "VolumeP-Throughput.gp3", "GiBps-mo", "49.1520000000"),
		row("Storage", "io2", "VolumeUsage.io2", "GB-month", "0.1420000000"),
		row("System Operation", "io2", "VolumeP-IOPS.io2", "IOPS-Mo", "0.0740000000"),
		row("System Operation", "io2", "VolumeP-IOPS.io2.tier2", "IOPS-Mo", "0.0518000000"),
		row("System Operation", "io2", "VolumeP-IOPS.io2.tier3", "IOPS-Mo", "0.0362600000"),
		row("Storage", "io1", "VolumeUsage.piops", "GB-Mo", "0.1420000000"),
		row("System Operation", "io1", "VolumeP-IOPS.piops", "IOPS-Mo", "0.0740000000"),
		row("System Operation", "io1", "VolumeIOUsage", "IOs", "0.0000000800"),
	))); err != nil {
		t.Fatal(err)
	}

	c := s.Catalog()
	for _, w := range []struct {
		order string
		usd   units.USD
	}{
		{"{type: gp3, size: 100GiB, iops: 4000, throughput: 225MiB/s}", 9.6 + 6 + 4.8},
		{"{type: io2, size: 100GiB, iops: 40000}", 14.2 + 32_000*.074 + 8000*.0518},
		{"{type: io1, size: 100GiB, iops: 1000}", 14.2 + 74},
	} {
		if b, err := c.Monthly(order(t, w.order), "ap-northeast-1"); err != nil || !near(b.Total, w.usd) {
			t.Errorf("%s: %v, %v, want %v", w.order, b.Total, err, w.usd)
		}
	}
}

// Any import gives either an error or a store that can be read back.
const (
	azureJSON = `{"BillingCurrency": "USD", "Items": [
{"currencyCode": "USD", "tierMinimumUnits": 0.0, "retailPrice": 0.000123, "armRegionName": "westeurope", "meterName": "Premium LRS Provisioned Capacity", "productName": "Azure Premium SSD v2", "unitOfMeasure": "1 GiB/Hour", "type": "Consumption"},
{"currencyCode": "USD", "tierMinimumUnits": 0.0, "retailPrice": 0.0, "armRegionName": "westeurope", "meterName": "Premium LRS Provisioned IOPS", "productName": "Azure Premium SSD v2", "unitOfMeasure": "1/Hour", "type": "Consumption"},
{"currencyCode": "USD", "tierMinimumUnits": 3000.0, "retailPrice": 0.000007, "armRegionName": "westeurope", "meterName": "Premium LRS Provisioned IOPS", "productName": "Azure Premium SSD v2", "unitOfMeasure": "1/Hour", "type": "Consumption"},
{"currencyCode": "USD", "tierMinimumUnits": 125.0, "retailPrice": 0.00006, "armRegionName": "westeurope", "meterName": "Premium LRS Provisioned Throughput (MBps)", "productName": "Azure Premium SSD v2", "unitOfMeasure": "1/Hour", "type": "Consumption"},
{"currencyCode": "USD", "tierMinimumUnits": 0.0, "retailPrice": 21.68, "armRegionName": "westeurope", "meterName": "P10 LRS Disk", "productName": "Premium SSD Managed Disks", "unitOfMeasure": "1/Month", "type": "Consumption"},
{"currencyCode": "USD", "tierMinimumUnits": 0.0, "retailPrice": 41.82, "armRegionName": "westeurope", "meterName": "P15 LRS Disk", "productName": "Premium SSD Managed Disks", "unitOfMeasure": "1/Month", "type": "Consumption"},
{"currencyCode": "USD", "tierMinimumUnits": 0.0, "retailPrice": 99, "armRegionName": "westeurope", "meterName": "P15 ZRS Disk", "productName": "Premium SSD Managed Disks", "unitOfMeasure": "1/Month", "type": "Consumption"},
{"currencyCode": "USD", "tierMinimumUnits": 0.0, "retailPrice": 0.096, "armRegionName": "westeurope", "meterName": "D2s v3", "productName": "Virtual Machines DSv3 Series", "unitOfMeasure": "1 Hour", "type": "Consumption"}
], "NextPageLink": "https://prices.azure.com:443/api/retail/prices?$skip=100", "Count": 8}`
	googleJSON = `{"skus": [
{"description": "Hyperdisk Balanced Capacity in Frankfurt", "category": {"usageType": "OnDemand"}, "serviceRegions": ["europe-west3"], "pricingInfo": [{"pricingExpression": {"usageUnit": "GiBy.mo", "tieredRates": [{"startUsageAmount": 0, "unitPrice": {"currencyCode": "USD", "units": "0", "nanos": 96000000}}]}}]},
{"description": "Hyperdisk Balanced IOPS in Frankfurt", "category": {"usageType": "OnDemand"}, "serviceRegions": ["europe-west3"], "pricingInfo": [{"pricingExpression": {"usageUnit": "mo", "tieredRates": [{"unitPrice": {"currencyCode": "USD", "units": "0", "nanos": 6000000}}]}}]},
{"description": "Hyperdisk Balanced Throughput in Frankfurt", "category": {"usageType": "OnDemand"}, "serviceRegions": ["europe-west3"], "pricingInfo": [{"pricingExpression": {"usageUnit": "MiBy.s.mo", "tieredRates": [{"unitPrice": {"currencyCode": "USD", "units": "0", "nanos": 48000000}}]}}]},
{"description": "Hyperdisk Balanced Capacity High Availability in Frankfurt", "category": {"usageType": "OnDemand"}, "serviceRegions": ["europe-west3"], "pricingInfo": []},
{"description": "SSD backed PD Capacity in Frankfurt", "category": {"usageType": "OnDemand"}, "serviceRegions": ["europe-west3"], "pricingInfo": [{"pricingExpression": {"usageUnit": "GiBy.mo", "tieredRates": [{"unitPrice": {"currencyCode": "USD", "units": "0", "nanos": 204000000}}]}}]},
{"description": "N2 Instance Core running in Frankfurt", "serviceRegions": ["europe-west3"], "pricingInfo": []}
], "nextPageToken": ""}`
)

// The other clouds' price lists become monthly prices: of capacity, of what exceeds the included
// amount, and of Premium SSD by size.
func TestReadImportClouds(t *testing.T) {
	s := Store{Version: storeVersion}
	for name, text := range map[string]string{"azure.json": azureJSON, "google.json": googleJSON} {
		in, err := ReadImport(name, []byte(text), "2026-11-21")
		if err != nil {
			t.Fatal(err)
		}
		if in.More != (name == "azure.json") || in.Skipped == 0 {
			t.Errorf("%s: more %v, passed over %d", name, in.More, in.Skipped)
		}
		if _, err := s.Add(in); err != nil {
			t.Fatal(err)
		}
	}

	c := s.Catalog()
	for _, w := range []struct {
		order  Order
		region string
		usd    float64
	}{
		{Order{Type: "premium-v2", Size: 100 * units.GiB}, "westeurope", 100 * 0.000123 * 730},
		{Order{Type: "premium-v2", Size: 100 * units.GiB, IOPS: 5000, Throughput: 225 * units.MBps}, "westeurope", 730 * (100*0.000123 + 2000*0.000007 + 100*0.00006)},
		{Order{Type: "premium-ssd", Size: 128 * units.GiB}, "westeurope", 21.68},
		{Order{Type: "premium-ssd", Size: 129 * units.GiB, Stripe: 2}, "westeurope", 2 * 41.82},
		{Order{Type: "hyperdisk-balanced", Size: 100 * units.GiB, IOPS: 4000, Throughput: 240 * units.MiBps}, "europe-west3", 9.6 + 6 + 4.8},
		{Order{Type: "pd-ssd", Size: 100 * units.GiB}, "europe-west3", 20.4},
	} {
		b, err := c.Monthly(&w.order, w.region)
		if err != nil || math.Abs(float64(b.Total)-w.usd) > 1e-6*w.usd {
			t.Errorf("%s: %v %v, want %v", w.order.String(), b.Total, err, w.usd)
		}
	}

	if _, err := c.Monthly(&Order{Type: "premium-ssd", Size: 2000 * units.GiB}, "westeurope"); err == nil {
		t.Error("a size without a price has one")
	}

	for name, c := range map[string]struct{ text, want string }{
		"euros":    {strings.Replace(azureJSON, `"currencyCode": "USD"`, `"currencyCode": "EUR"`, 1), `Items[0]: Premium LRS Provisioned Capacity in westeurope: price in "EUR", but the catalogue's prices are in USD`},
		"yen":      {strings.Replace(googleJSON, `"currencyCode": "USD"`, `"currencyCode": "JPY"`, 1), `skus[0]: Hyperdisk Balanced Capacity in Frankfurt: price in "JPY"`},
		"yuan":     {strings.Replace(pricesJSON, `"USD":"0.0055"`, `"CNY":"0.04"`, 1), `PriceList[1]: gp3 in eu-west-1: price in "CNY"`},
		"torn":     {azureJSON[:400], "the JSON is incomplete: was the file cut off?"},
		"negative": {strings.Replace(azureJSON, "0.000123", "-1", 1), "-1 is not a price"},
		"a day's":  {strings.Replace(googleJSON, "GiBy.mo", "GiBy.d", 1), `price per "GiBy.d"`},
	} {
		if _, err := ReadImport(name, []byte(c.text), "2026-11-21"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// As the APIs print them, with all their fields: a meter has rows of several dates and of regions that
// are not its primary one, and a SKU has a timeline. The price that is charged today counts.
func TestReadImportTimelines(t *testing.T) {
	item := func(product, meter, unit string, over, usd float64, begins, rest string) string {
		return fmt.Sprintf(`{"currencyCode":"USD","tierMinimumUnits":%g,"retailPrice":%g,"unitPrice":%g,"armRegionName":"northeurope","location":"EU North","effectiveStartDate":"%sT00:00:00Z",`+
			`"meterId":"m","meterName":%q,"productId":"p","skuId":"s","productName":%q,"skuName":"Ultra LRS","serviceName":"Storage","serviceId":"x","serviceFamily":"Storage","unitOfMeasure":%q,"type":"Consumption","armSkuName":""%s}`,
			over, usd, usd, begins, meter, product, unit, rest)
	}

	const primary, other = `,"isPrimaryMeterRegion":true`, `,"isPrimaryMeterRegion":false`
	azure := `{"BillingCurrency":"USD","CustomerEntityId":"Default","CustomerEntityType":"Retail","Items":[` + strings.Join([]string{
		item("Ultra Disks", "Ultra LRS Provisioned Capacity", "1 GiB/Hour", 0, 0.0002, "2021-05-01", primary),
		item("Ultra Disks", "Ultra LRS Provisioned Capacity", "1 GiB/Hour", 0, 0.0003, "2020-01-01", primary),
		item("Ultra Disks", "Ultra LRS Provisioned Capacity", "1 GiB/Hour", 0, 0.0004, "2027-01-01", primary),
		item("Ultra Disks", "Ultra LRS Provisioned Capacity", "1 GiB/Hour", 0, 0.0005, "2025-05-01", other),
		item("Ultra Disks", "Ultra LRS Provisioned IOPS", "1/Hour", 0, 0.00007, "2021-05-01", other),
		item("Ultra Disks", "Ultra LRS Provisioned Throughput (MBps)", "1/Hour", 0, 0.0005, "2021-05-01", primary),
		item("Ultra Disks", "Ultra LRS Reservation per vCPU Provisioned", "1/Hour", 0, 0.006, "2021-05-01", primary),
		item("Premium SSD Managed Disks", "P30 LRS Disk Mount", "1/Month", 0, 6.9, "2021-05-01", primary),
		item("Premium SSD Managed Disks", "P30 LRS Disk", "1/Month", 0, 148.68, "2021-05-01", primary),
	}, ",") + `],"NextPageLink":null,"Count":9}`

	sku := func(description, unit string, prices ...string) string {
		var at []string
		for _, p := range prices {
			begins, nanos, _ := strings.Cut(p, " ")
			at = append(at, fmt.Sprintf(`{"summary":"","pricingExpression":{"usageUnit":%q,"usageUnitDescription":"d","baseUnit":"By.s","baseUnitDescription":"byte second","baseUnitConversionFactor":2.8759101014016e+15,"displayQuantity":1,`+
				`"tieredRates":[{"startUsageAmount":0,"unitPrice":{"currencyCode":"USD","units":"0","nanos":%s}}]},"currencyConversionRate":1,"effectiveTime":"%sT10:18:44.165Z"}`, unit, nanos, begins))
		}
		return fmt.Sprintf(`{"name":"services/6F81-5844-456A/skus/A","skuId":"A","description":%q,"category":{"serviceDisplayName":"Compute Engine","resourceFamily":"Storage","resourceGroup":"SSD","usageType":"OnDemand"},`+
			`"serviceRegions":["us-east4"],"pricingInfo":[%s],"serviceProviderName":"Google","geoTaxonomy":{"type":"REGIONAL","regions":["us-east4"]}}`, description, strings.Join(at, ","))
	}

	google := `{"skus":[` + strings.Join([]string{
		sku("Balanced PD Capacity in Virginia", "GiBy.mo", "2020-10-05 100000000", "2024-01-01 110000000", "2027-01-01 120000000"),
		sku("Regional Balanced PD Capacity in Virginia", "GiBy.mo", "2020-10-05 220000000"),
		sku("Hyperdisk Throughput Capacity in Virginia", "GiBy.mo", "2023-05-01 5500000"),
		sku("Hyperdisk Throughput Throughput Capacity in Virginia", "mo", "2023-05-01 275000000"),
		sku("Commitment v1: Local SSD In Virginia", "GiBy.mo", "2020-10-05 1"),
	}, ",") + `],"nextPageToken":""}`

	s := Store{Version: storeVersion}
	for name, text := range map[string]string{"azure.json": azure, "google.json": google} {
		in := read(t, name, text)
		if in.More {
			t.Errorf("%s is a page of several", name)
		}
		if _, err := s.Add(in); err != nil {
			t.Fatal(err)
		}
	}

	c := s.Catalog()
	for _, w := range []struct {
		order, region string
		usd           units.USD
	}{
		{"{type: ultra, size: 100GiB, iops: 5000, throughput: 200MB/s}", "northeurope", 730 * (100*0.0002 + 5000*0.00007 + 200*0.0005)},
		{"{type: premium-ssd, size: 1TiB}", "northeurope", 148.68},
		{"{type: pd-balanced, size: 100GiB}", "us-east4", 11},
		{"{type: hyperdisk-throughput, size: 2TiB, throughput: 100MiB/s}", "us-east4", 2048*0.0055 + 100*0.275},
	} {
		if b, err := c.Monthly(order(t, w.order), w.region); err != nil || !near(b.Total, w.usd) {
			t.Errorf("%s: %v, %v, want %v", w.order, b.Total, err, w.usd)
		}
	}
}

func FuzzReadImport(f *testing.F) {
	for _, s := range []string{typesJSON, pricesJSON, pricesCSV, azureJSON, googleJSON, typesJSON[:300], `["{}", {}]`, "type,price\nx,1e400\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		in, err := ReadImport("f", text, "2026-11-21")
		if err != nil {
			return
		}

		s := Store{Version: storeVersion}
		if _, err := s.Add(in); err != nil {
			return
		}

		path := filepath.Join(t.TempDir(), "c.json")
		if err := s.Write(path); err != nil {
			t.Fatal(err)
		}

		if _, err := OpenStore(path); err != nil {
			t.Fatalf("what was imported does not read back: %v", err)
		}
	})
}
