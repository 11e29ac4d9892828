package main

import (
	"io"
	"log/slog"
)

// setLogger makes the process log to w: lines of JSON for machines, or text.
func setLogger(w io.Writer, level string, json bool) error {
	var o slog.HandlerOptions
	switch level {
	case "debug":
		o.Level = slog.LevelDebug
	case "info":
		o.Level = slog.LevelInfo
	case "warn":
		o.Level = slog.LevelWarn
	case "error":
		o.Level = slog.LevelError
	default:
		return usagef("FLIGHTWIRE_LOG_LEVEL: there is no %q: have debug, info, warn, error", level)
	}
	var h slog.Handler = slog.NewTextHandler(w, &o)
	if json {
		h = slog.NewJSONHandler(w, &o)
	}
	slog.SetDefault(slog.New(h))
	return nil
}
