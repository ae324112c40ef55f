package advise

import (
	"strings"
	"testing"

	"plimsoll/internal/advise/rollout"
)

// The error for an invalid address names the member and shows a valid address.
func TestAddressOfAMember(t *testing.T) {
	for _, at := range []string{"etcd://127.0.0.1:2379", "unix:///run/etcd.sock", "http://", "https:127.0.0.1:2379"} {
		err := Procedure().Healthy(t.Context(), &rollout.Member{Name: "m1", Address: at})
		if err == nil || !strings.HasPrefix(err.Error(), "m1: ") || !strings.HasSuffix(err.Error(), `is not an address such as http://127.0.0.1:2379, or https:// with TLS`) {
			t.Errorf("%s: %v", at, err)
		}
	}
}
