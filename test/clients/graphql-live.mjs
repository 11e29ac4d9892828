// node graphql-live.mjs BASE_URL KEY DATE THROUGH CONTROL
//
// Queries, mutations and live subscriptions with graphql-ws and graphql-sse, as
// their users write them. AA100 of DATE has another gate after a GET of
// CONTROL/gate?to=NAME. THROUGH is an address of the same service that is cut
// off by CONTROL/cut, connections and all, until CONTROL/open.
import assert from "node:assert/strict";
import { createClient } from "graphql-ws";
import { createClient as createSSE } from "graphql-sse";
import WebSocket from "ws";

const [base, key, date, through, control] = process.argv.slice(2);
const leg = { carrier: "AA", flightNumber: "100", date };
const inSocket = (address) => address.replace("http", "ws") + "/graphql";
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// Whatever hangs is a failure, and says where.
let step = "";
const begin = (what) => (step = what);
setTimeout(() => { console.error(`nothing more came: ${step}`); process.exit(1); }, 180_000).unref();

async function ask(query, variables) {
  const answer = await fetch(`${base}/graphql`, {
    method: "POST", headers: { "content-type": "application/json", "x-api-key": key }, body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = await answer.json();
  assert.equal(errors, undefined);
  return data;
}

// move changes the gate, and lets the service look.
async function move(gate) {
  await fetch(`${control}/gate?to=${gate}`);
  await ask("query($leg: LegInput!) { flight(leg: $leg, refresh: true) { flightKey } }", { leg });
}

const live = "subscription($leg: LegInput!, $after: String) { flightChanged(leg: $leg, after: $after) { cursor flight { departure { gate } } changes { type to } } }";

// follower gives what a subscription is sent from where it was, however often
// it must begin again: a client makes the message anew each time, so that a
// cursor that is read then is the last one.
class Follower {
  seen = [];
  cursor = undefined;
  waiting = [];
  request = { query: live, get variables() { return { leg, after: this.follower.cursor }; } };
  constructor() {
    Object.defineProperty(this.request, "follower", { value: this });
    this.ended = new Promise((done, failed) => Object.assign(this, { done, failed }));
    this.ended.catch(() => {});
  }
  sink = {
    next: ({ data, errors }) => {
      assert.equal(errors, undefined);
      const { cursor, flight, changes } = data.flightChanged;
      this.cursor = cursor;
      this.seen.push(changes.length > 0 ? changes.map((c) => c.to).join() : `now ${flight.departure.gate}`);
      this.waiting = this.waiting.filter(({ n, done }) => this.seen.length < n || done());
    },
    error: (e) => this.failed(e),
    complete: () => this.done(),
  };
  until(n) {
    return Promise.race([this.ended, new Promise((done) => (this.seen.length < n ? this.waiting.push({ n, done }) : done()))]);
  }
}

async function overSocket() {
  begin("a query and mutations over a websocket");
  const connected = [], closed = [];
  const client = createClient({
    url: inSocket(through), webSocketImpl: WebSocket, connectionParams: { "x-api-key": key }, lazy: false,
    retryAttempts: 100, retryWait: () => sleep(50), shouldRetry: () => true, // also when nobody answers
    on: { connected: () => connected.push(true), closed: (event) => closed.push(event.code) },
  });
  const once = async (query, variables) => {
    const all = [];
    for await (const result of client.iterate({ query, variables })) all.push(result);
    assert.equal(all.length, 1);
    return all[0];
  };
  assert.equal((await once("query($leg: LegInput!) { flight(leg: $leg) { flightKey } }", { leg })).data.flight.flightKey, `AA100:${date}`);
  const input = { ...leg, webhookUrl: "https://receiver.example/hook" };
  const made = (await once("mutation($input: CreateSubscriptionInput!) { createSubscription(input: $input) { id status } }", { input })).data.createSubscription;
  assert.equal(made.status, "ACTIVE");
  assert.equal((await once("mutation($id: ID!) { deleteSubscription(id: $id) }", { id: made.id })).data.deleteSubscription, made.id);
  const refused = await once("query($id: ID!) { subscription(id: $id) { id } }", { id: made.id });
  assert.equal(refused.errors[0].extensions.code, "SUBSCRIPTION_NOT_FOUND");
  await assert.rejects(once("{ nosuch }"), (errors) => errors[0].extensions.code === "GRAPHQL_VALIDATION_FAILED");

  begin("changes over a websocket");
  const viewer = new Follower();
  const leave = client.subscribe(viewer.request, viewer.sink);
  await viewer.until(1);
  await move("S1");
  await viewer.until(2);
  begin("changes that came while the network was away");
  await fetch(`${control}/cut`);
  for (const gate of ["S2", "S3"]) await move(gate);
  await fetch(`${control}/open`);
  await viewer.until(4);
  begin("changes that came after the client itself broke off");
  client.terminate();
  for (const gate of ["S4", "S5"]) await move(gate);
  await viewer.until(6);
  await move("S6");
  await viewer.until(7);
  assert.deepEqual(viewer.seen.slice(1), ["S1", "S2", "S3", "S4", "S5", "S6"]);
  assert.match(viewer.seen[0], /^now /);
  assert.ok(connected.length >= 3 && closed.length >= 2, `connected ${connected.length} times, closed with ${closed}`);
  leave();
  await viewer.ended;
  await client.dispose();
}

async function overEvents() {
  begin("a query over server-sent events");
  const client = createSSE({ url: `${through}/graphql`, headers: { "x-api-key": key }, retryAttempts: 100, retry: () => sleep(50) });
  for await (const { data } of client.iterate({ query: "query($leg: LegInput!) { flight(leg: $leg) { flightKey } }", variables: { leg } })) {
    assert.equal(data.flight.flightKey, `AA100:${date}`);
  }
  for await (const { errors } of client.iterate({ query: "{ nosuch }" })) {
    assert.equal(errors[0].extensions.code, "GRAPHQL_VALIDATION_FAILED");
  }
  begin("changes over server-sent events");
  const viewer = new Follower();
  const leave = client.subscribe(viewer.request, viewer.sink);
  await viewer.until(1);
  await move("E1");
  await viewer.until(2);
  begin("events that came while the network was away");
  await fetch(`${control}/cut`);
  for (const gate of ["E2", "E3"]) await move(gate);
  await fetch(`${control}/open`);
  await viewer.until(4);
  await move("E4");
  await viewer.until(5);
  assert.deepEqual(viewer.seen.slice(1), ["E1", "E2", "E3", "E4"]);
  leave();
  client.dispose();

  begin("a key that is not valid, over server-sent events");
  const stranger = createSSE({ url: `${base}/graphql`, headers: { "x-api-key": "fw_no" }, retryAttempts: 0 });
  await assert.rejects(async () => { for await (const _ of stranger.iterate({ query: "{ __typename }" })); }, (e) => e.response.status === 401);
}

// closeOf opens a websocket, sends messages, and returns the code with which
// the service closes it.
function closeOf(protocols, ...messages) {
  return new Promise((done, failed) => {
    const socket = new WebSocket(inSocket(base), protocols);
    socket.on("open", () => messages.forEach((m) => socket.send(typeof m === "string" ? m : JSON.stringify(m))));
    socket.on("close", done);
    socket.on("error", failed);
  });
}

async function closeCodes() {
  const init = { type: "connection_init", payload: { "x-api-key": key } };
  const subscribe = { id: "1", type: "subscribe", payload: { query: live, variables: { leg } } };
  for (const [what, code, protocols, ...messages] of [
    ["no JSON", 4400, "graphql-transport-ws", "hello"],
    ["an unknown type", 4400, "graphql-transport-ws", init, { type: "start" }],
    ["no payload", 4400, "graphql-transport-ws", init, { id: "1", type: "subscribe" }],
    ["not initialised", 4401, "graphql-transport-ws", subscribe],
    ["no key", 4403, "graphql-transport-ws", { type: "connection_init" }],
    ["a wrong key", 4403, "graphql-transport-ws", { type: "connection_init", payload: { "x-api-key": "fw_no" } }],
    ["no sub-protocol", 4406, []],
    ["one id twice", 4409, "graphql-transport-ws", init, subscribe, subscribe],
    ["initialised twice", 4429, "graphql-transport-ws", init, init],
  ]) {
    begin(`the close code of ${what}`);
    assert.equal(await closeOf(protocols, ...messages), code, what);
  }
  begin("the old protocol alone is not taken");
  assert.equal(await closeOf(["graphql-ws"]).catch((e) => e.message), "Server sent no subprotocol");
  begin("a client with a wrong key");
  const client = createClient({ url: inSocket(base), webSocketImpl: WebSocket, connectionParams: { "x-api-key": "fw_no" }, retryAttempts: 0 });
  await assert.rejects(async () => { for await (const _ of client.iterate({ query: "{ __typename }" })); }, (e) => e.code === 4403);
}

await overSocket();
await overEvents();
await closeCodes();
process.exit(0);
