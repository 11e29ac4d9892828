//go:build race

package replay_test

const everyMinute = 7 * minute
