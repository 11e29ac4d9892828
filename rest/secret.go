package rest

import (
	"context"
	"net/http"

	"github.com/flightwire/flightwire/graph"
)

// revealSecret answers GET /v1/subscriptions/{id}/secret.
func (a *api) revealSecret(ctx context.Context, r *http.Request) (answer, error) {
	return signingSecret(http.StatusOK)(a.mutation.RevealSecret(ctx, r.PathValue("id")))
}

// rotateSecret answers POST /v1/subscriptions/{id}/secret/rotate.
func (a *api) rotateSecret(ctx context.Context, r *http.Request) (answer, error) {
	return signingSecret(http.StatusCreated)(a.mutation.RotateSecret(ctx, r.PathValue("id")))
}

// signingSecret answers with a whole secret under a status.
func signingSecret(status int) func(*graph.SigningSecret, error) (answer, error) {
	return func(s *graph.SigningSecret, err error) (answer, error) {
		if err != nil {
			return answer{}, err
		}
		return answer{status: status, body: encode(s)}, nil
	}
}
