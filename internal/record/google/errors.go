package google

import (
	"errors"
	"net/http"

	"plimsoll/internal/record/cloud"
)

// explain makes one sentence of an error that a permission's request met.
func (s *service) explain(err error, permission, id string) error {
	var refused *cloud.StatusError
	if !errors.As(err, &refused) {
		return err
	}

	said := func(kind error, format string, args ...any) error {
		return cloud.Refuse(kind, "Google Cloud: "+format, args...)
	}
	switch {
	case refused.Throttled():
		return said(nil, "requests that need %s are throttled, also after several attempts: try again later",
			permission)
	case refused.Status == http.StatusUnauthorized:
		return said(
			nil, "it does not accept the credentials, or they have expired: gcloud auth application-default login makes new ones")
	case refused.Status == http.StatusForbidden && refused.Code == "SERVICE_DISABLED":
		return said(nil, "%s: %s", id, refused.Message)
	case refused.Status == http.StatusForbidden:
		return said(
			cloud.ErrDenied, "the permission %s is missing for these credentials on %s: docs/clouds.md has a role that suffices",
			permission, id)
	case refused.Status == http.StatusNotFound:
		return said(cloud.ErrNotFound, "there is no resource %s: check the project, the zone and the name", id)
	}

	return said(nil, "%s: %v", id, refused)
}
