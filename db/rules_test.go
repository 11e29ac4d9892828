package db_test

// trimmedRules are those that do not hold once events and attempts are deleted.
var trimmedRules = []string{
	"the sequence has holes", "delivered_count is not the log's", "failed_count is not the log's", "the log has not every finished attempt once",
	"interruptions are less than the log's, or more than the attempts", "the versions have holes",
	"the places in the log of attempts have holes",
}

// rules must hold between any two transactions; each broken query lists what
// breaks it.
var rules = []struct{ name, broken string }{
	{"the sequence has holes", `SELECT st.subscription_id FROM subscription_state st
		LEFT JOIN events e ON e.subscription_id = st.subscription_id
		GROUP BY st.subscription_id, st.seq
		HAVING count(e.id) <> st.seq OR coalesce(min(e.seq), 1) <> 1 OR coalesce(max(e.seq), 0) <> st.seq`},
	{"the head is no pending event with a turn", `SELECT st.subscription_id FROM subscription_state st WHERE st.head_seq IS NOT NULL AND NOT EXISTS
		(SELECT 1 FROM events e WHERE e.subscription_id = st.subscription_id AND e.seq = st.head_seq
			AND e.status = 'pending' AND e.next_attempt_at IS NOT NULL)`},
	{"events wait behind no head", `SELECT st.subscription_id FROM subscription_state st WHERE st.head_seq IS NULL AND EXISTS
		(SELECT 1 FROM events e WHERE e.subscription_id = st.subscription_id AND e.status = 'pending' AND e.next_attempt_at IS NULL)`},
	{"an event waits before a head that is not under way", `SELECT e.id FROM events e JOIN subscription_state st ON st.subscription_id = e.subscription_id
		JOIN events h ON h.subscription_id = st.subscription_id AND h.seq = st.head_seq
		WHERE e.status = 'pending' AND e.next_attempt_at IS NULL AND (e.seq = h.seq OR e.seq < h.seq AND h.lease_token = '')`},
	{"a first attempt is not the head's", `SELECT e.id FROM events e JOIN subscription_state st ON st.subscription_id = e.subscription_id
		WHERE e.status = 'pending' AND e.next_attempt_at IS NOT NULL AND e.attempts = 0 AND (st.head_seq IS NULL OR e.seq <> st.head_seq)`},
	{"a settled event has a next attempt or a claim", `SELECT id FROM events
		WHERE status <> 'pending' AND (next_attempt_at IS NOT NULL OR lease_token <> '')`},
	{"delivered_count is not the log's", `SELECT st.subscription_id FROM subscription_state st WHERE st.delivered_count <>
		(SELECT count(*) FROM deliveries d WHERE d.subscription_id = st.subscription_id AND d.status = 'succeeded')`},
	{"failed_count is not the log's", `SELECT st.subscription_id FROM subscription_state st WHERE st.failed_count <>
		(SELECT count(*) FROM deliveries d WHERE d.subscription_id = st.subscription_id AND d.status = 'failed')`},
	{"the log has not every finished attempt once", `SELECT e.id FROM events e LEFT JOIN deliveries d ON d.event_id = e.id
		GROUP BY e.id, e.attempts, e.lease_token
		HAVING count(d.id) <> e.attempts - CASE WHEN e.lease_token = '' THEN 0 ELSE 1 END OR count(DISTINCT d.attempt) <> count(d.id)
			OR coalesce(max(d.attempt), 0) > e.attempts`},
	{"interruptions are less than the log's, or more than the attempts", `SELECT e.id FROM events e LEFT JOIN deliveries d ON d.event_id = e.id AND d.status = 'interrupted'
		GROUP BY e.id, e.interruptions, e.attempts HAVING e.interruptions NOT BETWEEN count(d.id) AND e.attempts`},
	{"the versions have holes", `SELECT f.id FROM flights f LEFT JOIN updates u ON u.flight_id = f.id
		GROUP BY f.id, f.version HAVING count(u.version) <> f.version OR coalesce(max(u.version), 0) <> f.version`},
	{"a flight that is watched is not planned", `SELECT s.id FROM subscriptions s JOIN flights f ON f.id = s.flight_id
		WHERE s.status IN ('active', 'pending') AND f.next_poll_at IS NULL`},
	{"an active subscription has no flight, or a pending one has", `SELECT s.id FROM subscriptions s JOIN flights f ON f.id = s.flight_id
		WHERE s.status = 'active' AND NOT f.resolved OR s.status = 'pending' AND f.resolved`},
	{"an event's snapshot is gone", `SELECT e.id FROM events e WHERE e.version > 0 AND NOT EXISTS
		(SELECT 1 FROM updates u WHERE u.flight_id = e.flight_id AND u.version = e.version)`},
	{"a subscription is no watched flight", `SELECT s.id FROM subscriptions s WHERE NOT EXISTS
		(SELECT 1 FROM watched_flights w WHERE w.subscription_id = s.id AND w.account_id = s.account_id)`},
	{"the ledger does not count the subscriptions", `SELECT account_id FROM (
			SELECT account_id, status, 1 AS n FROM subscriptions UNION ALL SELECT account_id, status, -n FROM subscription_counts) d
		GROUP BY account_id, status HAVING sum(n) <> 0`},
	{"the places in the log of attempts have holes", `SELECT st.subscription_id FROM subscription_state st
		LEFT JOIN deliveries d ON d.subscription_id = st.subscription_id
		GROUP BY st.subscription_id, st.attempt_seq
		HAVING count(d.id) <> st.attempt_seq OR count(DISTINCT d.seq) <> st.attempt_seq OR coalesce(max(d.seq), 0) <> st.attempt_seq`},
	{"a leg stands on other boards than its snapshot says", `SELECT f.id FROM flights f LEFT JOIN boards b ON b.flight_id = f.id
			AND (b.direction = 0 AND b.airport = f.origin OR b.direction = 1 AND b.airport = f.destination)
		WHERE f.resolved GROUP BY f.id HAVING count(b.flight_id) <> 2`},
	{"a resolved flight has no snapshot", `SELECT id FROM flights WHERE resolved AND (version = 0 OR asked_at IS NULL)`},
}
