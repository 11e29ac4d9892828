// Command flightwire is a flight status and webhook subscription service: look
// a flight up, subscribe a URL to it, and hear of every change.
//
// main parses and exits; run does the work. README.md lists every command and
// setting, docs/architecture.md says how it is built.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	_ "time/tzdata" // zones, on machines that have none

	"github.com/alecthomas/kong"

	"github.com/flightwire/flightwire/flight"
)

func main() { os.Exit(realMain(os.Args[1:], os.Stdout, os.Stderr, nil)) }

// Exit codes besides 0.
const (
	exitFailed = 1 // it failed while it ran
	exitUsage  = 2 // what it was told to do makes no sense
)

// cli is the command line.
type cli struct {
	Dev     devCommand     `cmd:"" default:"withargs" help:"Start with everything embedded, simulated flights, a demo key and a webhook inbox. The default."`
	Serve   serveCommand   `cmd:"" help:"Serve with PostgreSQL and Redis: the API, the workers, or both."`
	Migrate migrateCommand `cmd:"" help:"Bring the database's schema up to date, or say where it stands."`

	Keys     keysCommand     `cmd:"" help:"Make, list, rotate and revoke API keys."`
	Accounts accountsCommand `cmd:"" help:"Make, list and disable accounts, change their plans, issue their tokens."`
	Usage    usageCommand    `cmd:"" help:"List what each account has used in a month, for billing."`
	Audit    auditCommand    `cmd:"" help:"List who did what to accounts, keys and secrets, newest first."`
	Secrets  secretsCommand  `cmd:"" help:"Encrypt stored secrets under a new key."`
	Upstream upstreamCommand `cmd:"" help:"Ask flight data providers by hand: compare them, record an answer."`
	Version  versionCommand  `cmd:"" help:"Print the version."`
}

// session is what a command runs with.
type session struct {
	context.Context
	stdout, stderr io.Writer
	step           func(string) // tests' failpoints; nil: none
}

// heapGrowth is by how many percent the heap may grow between two collections.
// What a delivery needs is gone after it, and what stays is small: with the
// usual 100 a twelfth of the CPU of deliveries went into collecting.
const heapGrowth = 200

// realMain runs the command line and returns the exit code. step is for tests.
func realMain(args []string, stdout, stderr io.Writer, step func(string)) (code int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
	type exited int
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(exited)
			if !ok {
				panic(r)
			}
			code = int(e)
		}
	}()
	parser, err := kong.New(&cli{},
		kong.Name("flightwire"),
		kong.Description("A flight status and webhook subscription service. Every flag of a setting is also the environment variable named after it."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { panic(exited(code)) }), // after --help
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 110}),
	)
	if err != nil {
		return fail(stderr, err)
	}
	if err := unsetEmpty(parser.Model.Node); err != nil {
		return fail(stderr, err)
	}
	command, err := parser.Parse(args)
	if err != nil {
		return fail(stderr, usageError{err})
	}
	ctx, stop := untilSignal()
	defer stop()
	if err := command.Run(session{ctx, stdout, stderr, step}); err != nil {
		return fail(stderr, err)
	}
	return 0
}

// usageError is a fault of the command line or of a setting.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// fail prints the one line about err and returns the exit code.
func fail(stderr io.Writer, err error) int {
	_, _ = fmt.Fprintln(stderr, "flightwire: "+errorLine(err))
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage
	}
	switch flight.CodeOf(err) {
	case flight.CodeInvalid, flight.CodeNotFound, flight.CodeConflict:
		return exitUsage
	}
	return exitFailed
}

// errorLine returns what there is to say about err, in one line.
func errorLine(err error) string {
	text := err.Error()
	if e, ok := errors.AsType[*flight.Error](err); ok {
		text = e.Message
		if e.Cause != nil && e.Code == flight.CodeInternal {
			text += " (" + e.Cause.Error() + ")"
		}
	}
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// unsetEmpty makes an environment variable that is set to nothing count as not
// set, as files of variables have it. The legacy prefix is the exception:
// there, empty means none.
func unsetEmpty(n *kong.Node) error {
	for _, f := range n.Flags {
		for _, name := range f.Envs {
			if v, ok := os.LookupEnv(name); ok && v == "" && name != "FLIGHTWIRE_LEGACY_PREFIX" {
				if err := os.Unsetenv(name); err != nil {
					return err
				}
			}
		}
	}
	for _, child := range n.Children {
		if err := unsetEmpty(child); err != nil {
			return err
		}
	}
	return nil
}

type versionCommand struct{}

// Run prints the version and what it was built from and with.
func (versionCommand) Run(s session) error {
	version, revision := build()
	_, err := fmt.Fprintf(s.stdout, "flightwire %s (%s, %s, %s/%s)\n", version, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// build returns the version and the revision of this binary, as the Go tool
// recorded them.
func build() (version, revision string) {
	version, revision = "devel", "unknown revision"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version, revision
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		version = v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			revision = s.Value
		}
	}
	return version, revision
}

// untilSignal returns a context that the first signal to stop ends. A second
// one ends the process at once: from before the context's end on, nobody
// catches it.
func untilSignal() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		select {
		case <-caught:
		case <-ctx.Done():
		}
		signal.Stop(caught)
		cancel()
	}()
	return ctx, cancel
}
