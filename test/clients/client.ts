// A client as an integrator generates one: every operation of the document is
// called once through openapi-fetch, with the types that openapi-typescript
// made of it. Arguments: base URL, API key, flight number and date of a flight
// of FI that is known, and a webhook URL. It ends with 0 if all went well.
import createClient from "openapi-fetch";
import type { components, paths } from "./build/api.js";

declare const process: { argv: string[]; exit(code: number): never };

const [base, key, flightNumber, date, webhookUrl] = process.argv.slice(2) as [string, string, string, string, string];
const api = createClient<paths>({ baseUrl: base, headers: { "x-api-key": key } });
type Snapshot = components["schemas"]["FlightSnapshot"];

function check(ok: boolean, what: string): asserts ok {
  if (!ok) throw new Error(what);
}

// got returns the body of an answer that must have that status.
function got<T>(answer: { data?: T; error?: unknown; response: Response }, status: number): T {
  const { data, error, response } = answer;
  check(response.status === status, `${response.url}: ${response.status}, want ${status}: ${JSON.stringify(error)}`);
  check(response.headers.get("x-request-id") !== null, `${response.url}: no x-request-id`);
  check(data !== undefined, `${response.url}: no body`);
  return data;
}

async function flights(): Promise<void> {
  const query = { carrier: "FI", flightNumber, date };
  const found: Snapshot = got(await api.GET("/v1/flights/search", { params: { query } }), 200);
  check(found.flightKey === `FI${flightNumber}:${date}` && found.alternates.length === 1, "search: another flight");
  const path = { carrier: "FI", flightNumber, date };
  const same = got(await api.GET("/v1/flights/{carrier}/{flightNumber}/{date}", { params: { path, query: { origin: found.departure.airport.iata, refresh: "true" } } }), 200);
  check(same.departure.times.scheduledGate?.utc === found.departure.times.scheduledGate?.utc, "get: another flight");
  const history = got(await api.GET("/v1/flights/{carrier}/{flightNumber}/{date}/timeline", { params: { path } }), 200);
  check(history.count === history.data.length, "timeline: count");

  const legs = await api.GET("/v1/flights/search", { params: { query: { ...query, flightNumber: "9402", origin: "XXX" } } });
  check(legs.response.status === 404 && legs.error?.code === "leg_not_found" && "legs" in legs.error && legs.error.legs?.length === 2, "leg_not_found lists the legs");
  const missing = await api.GET("/v1/flights/search", { params: { query: { ...query, flightNumber: "9401" } } });
  check(missing.response.status === 404 && missing.error?.code === "flight_not_found", "flight_not_found");
  const invalid = await api.GET("/v1/flights/search", { params: { query: { ...query, date: "soon" } } });
  check(invalid.error !== undefined && "fields" in invalid.error && invalid.error.fields[0]?.field === "date", "invalid_request names the field");
  // @ts-expect-error: the date is required
  await api.GET("/v1/flights/search", { params: { query: { carrier: "FI", flightNumber } } });
}

async function subscriptions(): Promise<void> {
  const body = { carrier: "FI", flightNumber, date, webhookUrl, delayThresholdMinutes: 15, events: ["delay.increased", "departure.gate.changed"], headers: { "X-Tenant": "acme" }, metadata: { order: 7741 } } satisfies components["schemas"]["CreateSubscriptionDto"];
  const header = { "Idempotency-Key": `generated-${flightNumber}-${date}` };
  const created = got(await api.POST("/v1/subscriptions", { params: { header }, body }), 201);
  check(created.status === "active" && created.secret.startsWith("whsec_") && created.secret.length > 40, "created");
  const again = got(await api.POST("/v1/subscriptions", { params: { header }, body }), 201);
  check(again.id === created.id && again.secret === created.secret, "the same idempotency key makes nothing new");
  const reused = await api.POST("/v1/subscriptions", { params: { header }, body: { ...body, delayThresholdMinutes: 16 } });
  check(reused.response.status === 422 && reused.error?.code === "idempotency_key_reused", "idempotency_key_reused");

  const list = got(await api.GET("/v1/subscriptions", { params: { query: { status: "active", limit: 200 } } }), 200);
  check(list.data.some((s) => s.id === created.id && s.secret.startsWith("whsec_****")), "the list has it, masked");
  const params = { path: { id: created.id } };
  check(got(await api.GET("/v1/subscriptions/{id}", { params }), 200).webhookUrl === webhookUrl, "get");
  const changed = got(await api.PATCH("/v1/subscriptions/{id}", { params, body: { delayThresholdMinutes: 30, metadata: null } }), 200);
  check(changed.delayThresholdMinutes === 30 && changed.metadata === undefined, "patch");
  check(got(await api.POST("/v1/subscriptions/{id}/pause", { params }), 201).status === "paused", "pause");
  check(got(await api.POST("/v1/subscriptions/{id}/resume", { params }), 201).status === "active", "resume");
  await deliveries(created.id);
  const secret = got(await api.GET("/v1/subscriptions/{id}/secret", { params }), 200);
  check(secret.secret === created.secret && secret.subscriptionId === created.id, "reveal");
  const rotated = got(await api.POST("/v1/subscriptions/{id}/secret/rotate", { params }), 201);
  check(rotated.secret !== created.secret, "rotate");
  const gone = await api.DELETE("/v1/subscriptions/{id}", { params });
  check(gone.response.status === 204, "delete");
  const after = await api.GET("/v1/subscriptions/{id}", { params });
  check(after.response.status === 404 && after.error?.code === "subscription_not_found", "subscription_not_found");
}

async function deliveries(id: string): Promise<void> {
  const params = { path: { id }, query: { limit: 50 } };
  const { eventId } = got(await api.POST("/v1/subscriptions/{id}/test", { params: { path: { id } } }), 200);
  for (const end = Date.now() + 30_000; ; await new Promise((done) => setTimeout(done, 50))) { // another process delivers
    const log = got(await api.GET("/v1/subscriptions/{id}/deliveries", { params }), 200);
    const attempt = log.data.find((d) => d.eventId === eventId);
    if (attempt?.status === "succeeded") {
      check(attempt.attempt === 1 && attempt.eventType === "subscription.test" && attempt.statusCode === 200, "the attempt");
      break;
    }
    check(Date.now() < end, `the test event was not delivered: ${JSON.stringify(log)}`);
  }
  const again = got(await api.POST("/v1/subscriptions/{id}/events/{eventId}/redeliver", { params: { path: { id, eventId } } }), 202);
  check(again.id === eventId && again.status === "pending" && again.attempts === 1, "redeliver");
  const replayed = got(await api.POST("/v1/subscriptions/{id}/replay", { params: { path: { id } }, body: { after: eventId } }), 202);
  check(replayed.count === 0 && !replayed.more, "nothing was missed");
  for (const end = Date.now() + 30_000; ; await new Promise((done) => setTimeout(done, 50))) {
    const log = got(await api.GET("/v1/subscriptions/{id}/deliveries", { params }), 200);
    if (log.data.some((d) => d.eventId === eventId && d.attempt === 2 && d.status === "succeeded")) break;
    check(Date.now() < end, `the test event was not delivered again: ${JSON.stringify(log)}`);
  }
  const events = got(await api.GET("/v1/subscriptions/{id}/events", { params }), 200);
  check(events.data.some((e) => e.id === eventId && e.status === "delivered") && events.data.some((e) => e.type === "subscription.created"), "the event log");
}

async function rest(): Promise<void> {
  const countries = got(await api.GET("/v1/countries"), 200);
  check(countries.count === 249 && countries.data.length === 249, "countries");
  const iceland = got(await api.GET("/v1/countries/{code}", { params: { path: { code: "is" } } }), 200);
  check(iceland.name === "Iceland", "country");
  const flag = await api.GET("/v1/flags/{file}", { params: { path: { file: "is.svg" }, query: { shape: "1x1" } }, parseAs: "text" });
  check(got(flag, 200).startsWith("<svg"), "flag");
  check(got(await api.GET("/v1/openapi.json"), 200).openapi === "3.1.0", "openapi.json");
  check(got(await api.GET("/v1/docs", { parseAs: "text" }), 200).startsWith("<!doctype html>"), "docs");

  const stranger = createClient<paths>({ baseUrl: base });
  const refused = await stranger.GET("/v1/subscriptions");
  check(refused.response.status === 401 && refused.error?.code === "missing_api_key", "missing_api_key");
  const bearer = createClient<paths>({ baseUrl: base, headers: { Authorization: `Bearer ${key}` } });
  got(await bearer.GET("/v1/subscriptions", { params: { query: { limit: 1 } } }), 200);
}

await flights();
await subscriptions();
await rest();
