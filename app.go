package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/explorer"
	"github.com/flightwire/flightwire/flight/webhook"
	"github.com/flightwire/flightwire/graph"
	"github.com/flightwire/flightwire/jobs"
	"github.com/flightwire/flightwire/rest"
)

// closers end what a process has opened, last opened first.
type closers []func() error

func (c *closers) add(f func() error) { *c = append(*c, f) }

func (c *closers) close() error {
	var all error
	for len(*c) > 0 {
		last := len(*c) - 1
		f := (*c)[last]
		*c = (*c)[:last]
		all = errors.Join(all, f())
	}
	return all
}

// run is one process of the service. It returns nil when ctx has ended and
// what was under way is finished, an error when it cannot start or go on.
func run(ctx context.Context, c Config) (err error) {
	c = c.withDefaults()
	var open closers
	defer func() { err = errors.Join(err, open.close()) }()

	tracer, flushTraces, err := openTracing(ctx)
	if err != nil {
		return err
	}
	open.add(flushTraces)
	front := newFront(tracer)
	server, err := listen(c.Addr, front) // health, readiness and metrics answer from here on
	if err != nil {
		return err
	}
	open.add(server.close)
	slog.Info("listening", "addr", server.addr())
	base := cmp.Or(c.BaseURL, server.base)

	if len(c.SecretKeys) == 0 {
		if c.SecretKeys, err = keptSecret(c.DataDir); err != nil {
			return err
		}
	}
	database, err := db.Open(ctx, db.Config{URL: c.DatabaseURL, Dir: c.DataDir, Keys: c.SecretKeys, BeforeCommit: beforeCommit(c.step)})
	if err != nil {
		return err
	}
	open.add(database.Close)
	client, err := openRedis(ctx, c.RedisURL)
	if err != nil {
		return err
	}
	open.add(client.Close)
	front.watch(database, client)
	if err := migrate(ctx, c, database); err != nil {
		if ctx.Err() != nil {
			return nil // told to stop before it had begun
		}
		return err
	}

	sources, clock, err := openWorld(ctx, c, base, database)
	if err != nil {
		return err
	}
	if c.upstreams != nil {
		sources = c.upstreams(sources)
	}
	every := pollEvery(c, clock)
	tasks := jobs.NewClient(client)
	var providers []jobs.Provider
	for _, source := range sources {
		budget := jobs.NewBudget(jobs.BudgetConfig{DB: database, Redis: client, Provider: source.Name(), Limits: c.Calls[source.Name()]})
		open.add(func() error { budget.Close(); return nil })
		providers = append(providers, jobs.Provider{Source: source, Budget: budget})
	}
	intake := jobs.NewIntake(jobs.IntakeConfig{
		DB: database, Client: tasks, Providers: providers, Clock: clock, PollEvery: every, Hold: c.Hold, OnlyProcess: c.RedisURL == "", Tracer: tracer, Step: c.step,
	})

	routes, greeted := http.NewServeMux(), func() {}
	if c.Role != roleWorker {
		guard := access.New(access.Config{DB: database, Redis: client, Plans: c.Plans, Grace: *c.QuotaGrace, Alone: c.RedisURL == ""})
		open.add(func() error { guard.Close(); return nil })
		keys := access.NewKeys(database, client)
		keys.Plans = c.Plans
		resolver := graph.New(graph.ResolverConfig{
			DB: database, Intake: intake, Client: tasks, Clock: clock, AllowPrivateWebhooks: *c.AllowPrivateWebhooks,
			LegacyPrefix: c.LegacyPrefix, CacheTTL: c.CacheTTL, Process: processID(), BaseURL: base, Plans: c.Plans, Live: guard, Keys: keys,
		})
		open.add(background(resolver.Run))
		page := explorer.New(graph.SDL(), graph.Introspection())
		routes.Handle(explorer.Root, page)
		routes.Handle("/graphql", c.CORS.Wrap(graph.NewHandler(resolver, graph.HandlerConfig{
			Auth: guard, Limit: guard, Context: server.streams.ctx, Hold: server.streams.hold, Explorer: page, Documents: c.Documents,
		})))
		routes.Handle("/", c.CORS.Wrap(rest.New(rest.Config{Resolver: resolver, Guard: guard, BaseURL: base, LegacyPrefix: c.LegacyPrefix})))
		if !c.Serve {
			demo, err := openDemo(ctx, c, database, client, guard)
			if err != nil {
				return err
			}
			open.add(demo.close)
			newInbox(demo.secret, server.streams.ctx.Done()).register(routes)
			greeted = func() {
				greet(c.Stdout, greeting{Config: c, base: server.base, demo: demo, clock: clock, source: sources[0], every: every, now: intake.World()})
			}
		}
	} else {
		routes.Handle("/", noAPI)
	}
	if c.Role != roleAPI {
		sender := webhook.NewSender(webhook.Config{Timeout: c.DeliveryTimeout, AllowPrivate: *c.AllowPrivateWebhooks, LegacyPrefix: c.LegacyPrefix, RootCAs: c.WebhookRoots, MaxIdlePerHost: c.HostLimit})
		open.add(func() error { sender.Close(); return nil })
		worker := jobs.NewWorker(jobs.WorkerConfig{
			DB: database, Redis: client, Client: tasks, Intake: intake, Sender: sender,
			RetryBase: c.RetryBase, Timeout: c.DeliveryTimeout, EventDays: c.EventDays, HistoryDays: c.HistoryDays, Limits: jobs.Limits{Host: c.HostLimit}, Tracer: tracer, Step: c.step,
		})
		if err := worker.Start(); err != nil {
			return err
		}
		open.add(func() error { worker.Stop(); return nil })
	}
	front.open(routes)
	open.add(func() error { front.shut(); return server.drain() })

	slog.Info("ready", "role", c.Role, "database", database.Kind(), "upstream", strings.Join(c.Upstreams, ","))
	greeted()
	c.Ready(server.base)
	select {
	case <-ctx.Done():
		slog.Info("stopping; finishing what is under way")
		return nil
	case err := <-server.failed:
		return err
	}
}

// background runs f beside the rest and returns what ends it and waits for it.
func background(f func(context.Context)) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	return func() error {
		cancel()
		<-done
		return nil
	}
}

// beforeCommit is the database's failpoint of each transaction.
func beforeCommit(step func(string)) func(string) {
	if step == nil {
		return nil
	}
	return func(op string) { step("commit." + op) }
}

// migrate brings the schema up to date, or waits until somebody else has.
func migrate(ctx context.Context, c Config, d *db.DB) error {
	if !c.MigrateOff {
		n, err := d.MigrateUp(ctx)
		if n > 0 {
			slog.Info("the schema is up to date", "migrations", n)
		}
		return err
	}
	for told := false; ; told = true {
		current, err := d.Current(ctx)
		if current {
			return nil
		}
		if !told {
			slog.Warn("not ready until `flightwire migrate up` has run", "error", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// processID names this process among those that share a database.
func processID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d/%s", host, os.Getpid(), uuid.NewString())
}
