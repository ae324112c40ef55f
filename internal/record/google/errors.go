package google

import (
	"errors"
	"net/http"

	"plimsoll/internal/record/cloud"
)

// explain turns the error of a request that needs a permission into one sentence.
func (s *service) explain(err error, permission, id string) error {
	var refused *cloud.StatusError
	if !errors.As(err, &refused) {
		return err
	}

	refuse := func(kind error, format string, args ...any) error {
		return cloud.Refuse(kind, "Google Cloud: "+format, args...)
	}
	switch {
	case refused.Throttled():
		return refuse(nil, "requests that need %s are throttled even after several attempts: try again later",
			permission)
	case refused.Status == http.StatusUnauthorized:
		return refuse(
			nil, "credentials not accepted or expired: get new ones with gcloud auth application-default login")
	case refused.Status == http.StatusForbidden && refused.Code == "SERVICE_DISABLED":
		return refuse(nil, "%s: %s", id, refused.Message)
	case refused.Status == http.StatusForbidden:
		return refuse(
			cloud.ErrDenied, "permission %s is missing for these credentials on %s: docs/clouds.md has a sufficient role",
			permission, id)
	case refused.Status == http.StatusNotFound:
		return refuse(cloud.ErrNotFound, "resource %s not found: check the project, the zone and the name", id)
	}

	return refuse(nil, "%s: %v", id, refused)
}
