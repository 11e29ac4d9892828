package main

import "github.com/flightwire/flightwire/jobs"

// callSettings are what a provider's contract allows.
type callSettings struct {
	CallsPerMinute *int64 `env:"CALLS_PER_MINUTE" placeholder:"N" help:"Calls to it in any minute, by all processes together; unset: no limit."`
	CallsBurst     *int64 `env:"CALLS_BURST" placeholder:"N" help:"How many of them at once; unset: a fifth, at least two."`
	CallsPerMonth  *int64 `env:"CALLS_PER_MONTH" placeholder:"N" help:"Calls to it in a UTC month, by all processes together; unset: no limit."`
}

// callLimits are the settings of each upstream, with what their names begin
// with in the environment.
type callLimits struct {
	Cirium      callSettings `embed:"" prefix:"cirium-" envprefix:"CIRIUM_"`
	AeroAPI     callSettings `embed:"" prefix:"aeroapi-" envprefix:"AEROAPI_"`
	AeroDataBox callSettings `embed:"" prefix:"aerodatabox-" envprefix:"AERODATABOX_"`
	Simulator   callSettings `embed:"" prefix:"simulator-" envprefix:"FLIGHTWIRE_SIMULATOR_"`
	Replay      callSettings `embed:"" prefix:"replay-" envprefix:"FLIGHTWIRE_REPLAY_"`
}

// checkCalls checks the limits of all upstreams.
func (l *callLimits) checkCalls(c *Config) error {
	c.Calls = map[string]jobs.CallLimits{}
	for _, u := range []struct {
		upstream, prefix string
		callSettings
	}{
		{byCirium, "CIRIUM_", l.Cirium},
		{byAeroAPI, "AEROAPI_", l.AeroAPI},
		{byAeroDataBox, "AERODATABOX_", l.AeroDataBox},
		{simulated, "FLIGHTWIRE_SIMULATOR_", l.Simulator},
		{replayed, "FLIGHTWIRE_REPLAY_", l.Replay},
	} {
		limits, err := u.limits(u.prefix)
		if err != nil {
			return err
		}
		c.Calls[u.upstream] = limits
	}
	return nil
}

// The most that a limit may be: beyond it none is meant.
const (
	maxCallsPerMinute = 100_000
	maxCallsPerMonth  = 1_000_000_000_000
)

func (s callSettings) limits(prefix string) (l jobs.CallLimits, err error) {
	for _, v := range []struct {
		name  string
		value *int64
		most  int64
		to    *int64
	}{
		{"CALLS_PER_MINUTE", s.CallsPerMinute, maxCallsPerMinute, &l.PerMinute},
		{"CALLS_BURST", s.CallsBurst, maxCallsPerMinute, &l.Burst},
		{"CALLS_PER_MONTH", s.CallsPerMonth, maxCallsPerMonth, &l.PerMonth},
	} {
		if v.value == nil {
			continue
		}
		if *v.value < 1 || *v.value > v.most {
			return l, usagef("%s%s: %d is not between 1 and %d; leave it out for no limit", prefix, v.name, *v.value, v.most)
		}
		*v.to = *v.value
	}
	if l.Burst > l.PerMinute {
		return l, usagef("%sCALLS_BURST: %d is more than %sCALLS_PER_MINUTE allows, which is %d", prefix, l.Burst, prefix, l.PerMinute)
	}
	return l, nil
}
