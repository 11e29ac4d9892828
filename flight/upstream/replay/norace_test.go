//go:build !race

package replay_test

const everyMinute = minute
