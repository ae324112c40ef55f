package address

import (
	"net/url"
	"strings"
	"testing"
)

// Secrets among words and parameters are hidden wherever the argument is repeated.
func TestKeywords(t *testing.T) {
	for _, arg := range []string{
		"host=db user=me password=s3cret-0 dbname=shop", "host=db password='s3cret-0'", `password = 's3cret\'0' host=db`, "sslpassword=s3cret-0",
		"http://h/metrics;token=s3cret-0", "jdbc:postgresql://h/db?user=me&password=s3cret-0", "Server=h;Pwd=s3cret-0;Database=x", "https://h/x?api_key=s3cret-0",
		"https://h/x?X-Amz-Signature=s3cret-0&a=b", "https://h/x?access_token=s3cret%2D0", `token="s3cret-0"`,
	} {
		s := OfArguments([]string{arg})
		for _, said := range []string{"there is no file " + arg, "cannot parse `" + strings.ReplaceAll(arg, "s3cret-0", "...") + "`", "it says s3cret-0"} {
			if shown := s.Hide(said); strings.Contains(shown, "s3cret") && !strings.Contains(arg, `\'`) || strings.Contains(shown, `s3cret\'`) {
				t.Errorf("%s: %s", arg, shown)
			}
		}
	}
	for _, arg := range []string{"token.log", "host=db pass=", "--passes=3", "a=b"} {
		if s := OfArguments([]string{arg}); s.Hide(arg) != arg {
			t.Errorf("%s is shown as %s", arg, s.Hide(arg))
		}
	}
}

func TestBare(t *testing.T) {
	u, err := url.Parse("https://me:s3cret@h:1/write?tenant=s3cret&k=s3cret#s3cret")
	if err != nil {
		t.Fatal(err)
	}
	if shown := Bare(u); shown != "https://h:1/write" {
		t.Error(shown)
	}
}
