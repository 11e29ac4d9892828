package graph

import (
	"testing"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/jobs"
)

// benchResolver is the use cases without their loops: nothing changes.
func benchResolver(b *testing.B, d *db.DB) *Resolver {
	source := new(script)
	source.say(leg("100", "JFK", "LHR"))
	client := jobs.NewClient(dbtest.EmbeddedRedis(b))
	intake := jobs.NewIntake(jobs.IntakeConfig{DB: d, Client: client, Source: source})
	return New(ResolverConfig{DB: d, Intake: intake, Client: client, Process: "bench"})
}
