// node graphql-relay.mjs BASE_URL KEY DATE
//
// Relay: its compiler takes the schema and documents with @connection on every
// connection that there is, and its store puts the pages together that the
// service gives, forward and backward.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const [base, key, date] = process.argv.slice(2);
const { commitLocalUpdate, ConnectionHandler, createOperationDescriptor, Environment, getRequest, Network, RecordSource, Store } = createRequire(import.meta.url)("relay-runtime");
const here = dirname(fileURLToPath(import.meta.url)), folder = mkdtempSync(join(tmpdir(), "relay-"));
const leg = { carrier: "AA", flightNumber: "100", date };

const documents = {
  list: `graphql\`query listQuery($count: Int, $after: String) { ...list_subscriptions @arguments(count: $count, after: $after) }\`;
    graphql\`fragment list_subscriptions on Query @refetchable(queryName: "listForwardQuery")
      @argumentDefinitions(count: {type: "Int"}, after: {type: "String"}) {
      subscriptionsConnection(first: $count, after: $after, orderBy: CREATED_AT_DESC, filter: {carrier: "AA"}) @connection(key: "list_subscriptionsConnection", filters: []) {
        totalCount edges { node { id status } } } }\`;`,
  back: `graphql\`query backQuery($count: Int, $before: String) { ...back_subscriptions @arguments(count: $count, before: $before) }\`;
    graphql\`fragment back_subscriptions on Query @refetchable(queryName: "backBackwardQuery")
      @argumentDefinitions(count: {type: "Int"}, before: {type: "String"}) {
      subscriptionsConnection(last: $count, before: $before) @connection(key: "back_subscriptionsConnection", filters: []) { edges { node { id } } } }\`;`,
  logs: `graphql\`query logsQuery($id: ID!, $count: Int, $after: String, $before: String) { subscription(id: $id) { id
      eventsConnection(first: $count, after: $after) @connection(key: "logs_eventsConnection") { edges { node { id type } } }
      deliveriesConnection(last: $count, before: $before) @connection(key: "logs_deliveriesConnection") { edges { node { id } } } } }\`;
    graphql\`query logsHistoryQuery($leg: LegInput!, $after: String) { flight(leg: $leg) { flightKey
      history(first: 10, after: $after) @connection(key: "logs_history") { totalCount edges { node { knownAt } } } } }\`;`,
};

// compile writes the documents and has the compiler make artifacts of them.
async function compile() {
  mkdirSync(join(folder, "src"));
  symlinkSync(join(here, "node_modules"), join(folder, "node_modules"));
  const schema = await fetch(`${base}/graphql/explorer/schema.graphqls`);
  writeFileSync(join(folder, "schema.graphql"), await schema.text());
  writeFileSync(join(folder, "package.json"), `{"type": "module"}`);
  writeFileSync(join(folder, "relay.config.json"), JSON.stringify({ src: "./src", schema: "./schema.graphql", language: "javascript", eagerEsModules: true }));
  for (const [name, text] of Object.entries(documents)) writeFileSync(join(folder, "src", `${name}.js`), text);
  execFileSync(join(here, "node_modules/.bin/relay-compiler"), ["relay.config.json"], { cwd: folder, encoding: "utf8", stdio: "pipe" });
}

const artifact = async (name) => (await import(pathToFileURL(join(folder, "src/__generated__", `${name}.graphql.js`)))).default;

async function ask(query, variables) {
  const answer = await fetch(`${base}/graphql`, {
    method: "POST", headers: { "content-type": "application/json", "x-api-key": key }, body: JSON.stringify({ query, variables }),
  });
  const body = await answer.json();
  assert.equal(body.errors, undefined);
  return body;
}

const environment = new Environment({
  network: Network.create(({ text }, variables) => ask(text, variables)), store: new Store(new RecordSource(), { gcReleaseBufferSize: 100 }),
});

async function load(name, variables) {
  const operation = createOperationDescriptor(getRequest(await artifact(name)), variables);
  environment.retain(operation);
  await environment.execute({ operation }).toPromise();
}

// held returns what the store has of a connection.
function held(connection, owner = (store) => store.getRoot()) {
  let found;
  commitLocalUpdate(environment, (store) => {
    const record = ConnectionHandler.getConnection(owner(store), connection), info = record.getLinkedRecord("pageInfo");
    found = {
      ids: record.getLinkedRecords("edges").map((edge) => edge.getLinkedRecord("node").getValue("id")),
      next: info.getValue("hasNextPage"), previous: info.getValue("hasPreviousPage"), start: info.getValue("startCursor"), end: info.getValue("endCursor"),
    };
  });
  return found;
}

const warnings = [];
console.error = (...said) => warnings.push(said.join(" ")); // the store tells of pages that do not fit so

try {
  await compile();
  const create = "mutation($input: CreateSubscriptionInput!) { createSubscription(input: $input) { id } }";
  const made = [];
  for (let n = 0; n < 5; n++) made.unshift((await ask(create, { input: { ...leg, webhookUrl: "https://receiver.example/hook" } })).data.createSubscription.id);

  await load("listQuery", { count: 2 });
  let list = held("list_subscriptionsConnection");
  assert.deepEqual(list.ids, made.slice(0, 2));
  while (list.next && list.ids.length < made.length) {
    await load("listForwardQuery", { count: 2, after: list.end });
    list = held("list_subscriptionsConnection");
  }
  assert.deepEqual(list.ids.slice(0, made.length), made, "the pages forward are the list");

  await load("backQuery", { count: 2 });
  let back = held("back_subscriptionsConnection");
  const { data } = await ask("{ subscriptionsConnection(first: 200) { edges { node { id } } } }");
  const all = data.subscriptionsConnection.edges.map((e) => e.node.id);
  while (back.previous) {
    await load("backBackwardQuery", { count: 3, before: back.start });
    back = held("back_subscriptionsConnection");
  }
  assert.deepEqual(back.ids, all, "the pages backward are the whole list");

  for (let n = 0; n < 3; n++) await ask("mutation($id: ID!) { testSubscription(id: $id) { eventId } }", { id: made[0] });
  const log = () => held("logs_eventsConnection", (store) => store.get(made[0]));
  await load("logsQuery", { id: made[0], count: 3 });
  assert.equal(log().ids.length, 3);
  await load("logsQuery", { id: made[0], count: 3, after: log().end });
  assert.equal(new Set(log().ids).size, 4, "created and three tests");
  await load("logsHistoryQuery", { leg });
  assert.deepEqual(warnings, []);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
