// node graphql-caches.mjs BASE_URL KEY DATE
//
// What the caches of Apollo Client and urql make of the schema's names: they go
// by __typename and id, so types must not be named like the root types, and a
// mutation's answer must reach the queries that hold the same object.
import assert from "node:assert/strict";
import { ApolloClient, HttpLink, InMemoryCache, gql } from "@apollo/client/core";
import { PersistedQueryLink } from "@apollo/client/link/persisted-queries";
import { relayStylePagination } from "@apollo/client/utilities";
import { Client, cacheExchange, fetchExchange } from "@urql/core";

const [base, key, date] = process.argv.slice(2);
const leg = { carrier: "AA", flightNumber: "100", date };
const url = `${base}/graphql`, headers = { "x-api-key": key };
const list = gql`query { subscriptions(limit: 10) { total data { id status } } }`;
const create = gql`mutation($input: CreateSubscriptionInput!) { createSubscription(input: $input) { id status } }`;
const pause = gql`mutation($id: ID!) { pauseSubscription(id: $id) { id status } }`;
const history = gql`query($leg: LegInput!, $after: String) { flight(leg: $leg) { flightKey
  history(first: 1, after: $after) @connection(key: "history") { totalCount edges { cursor node { knownAt } } pageInfo { hasNextPage endCursor } } } }`;
const input = { ...leg, webhookUrl: "https://receiver.example/hook" };

// Apollo Client sends hashes first, and must learn that documents are wanted.
async function withHashes() {
  const link = new PersistedQueryLink({ generateHash: () => "0".repeat(64) }).concat(new HttpLink({ uri: url, headers }));
  const client = new ApolloClient({ link, cache: new InMemoryCache() });
  const { data } = await client.query({ query: gql`{ subscriptions { total } }` });
  assert.equal(typeof data.subscriptions.total, "number");
}

async function withApollo() {
  const cache = new InMemoryCache({
    typePolicies: { FlightSnapshot: { merge: true, fields: { history: relayStylePagination() } } },
  });
  const client = new ApolloClient({ link: new HttpLink({ uri: url, headers }), cache });
  const made = (await client.mutate({ mutation: create, variables: { input } })).data.createSubscription;
  const read = () => client.readQuery({ query: list }).subscriptions.data.find((s) => s.id === made.id);
  await client.query({ query: list });
  assert.equal(read().status, "ACTIVE");
  await client.mutate({ mutation: pause, variables: { id: made.id } });
  assert.equal(read().status, "PAUSED", "Apollo's cache took the mutation's answer");
  assert.ok(cache.extract()[`FlightSubscription:${made.id}`], "an object has an entry of its own");

  // A page is put behind the one before, as relayStylePagination does.
  const watched = client.watchQuery({ query: history, variables: { leg } });
  watched.subscribe(() => {});
  const { data } = await client.query({ query: history, variables: { leg } });
  const total = data.flight.history.totalCount;
  assert.ok(total >= 2, `${total} entries of history`);
  await watched.fetchMore({ variables: { after: data.flight.history.pageInfo.endCursor } });
  const edges = client.readQuery({ query: history, variables: { leg } }).flight.history.edges;
  assert.equal(edges.length, 2);
  assert.notEqual(edges[0].cursor, edges[1].cursor);
}

// whole is fetch with the body read: urql breaks a request off once it has the
// answer, which Node takes for a fault when the last bytes are still to come.
async function whole(...request) {
  const answer = await fetch(...request);
  return new Response(await answer.text(), answer);
}

async function withUrql() {
  const client = new Client({ url, exchanges: [cacheExchange, fetchExchange], preferGetMethod: false, fetchOptions: { headers }, fetch: whole });
  const made = (await client.mutation(create, { input })).data.createSubscription;
  const statusNow = async () => {
    const { data, error } = await client.query(list, {});
    assert.equal(error, undefined);
    return data.subscriptions.data.find((s) => s.id === made.id).status;
  };
  assert.equal(await statusNow(), "ACTIVE");
  await client.mutation(pause, { id: made.id });
  assert.equal(await statusNow(), "PAUSED", "urql's cache let go of what the mutation changed");
  const { error } = await client.query(gql`query { subscription(id: "sub_none") { id } }`, {});
  assert.equal(error.graphQLErrors[0].extensions.code, "SUBSCRIPTION_NOT_FOUND");
  // A query by GET, as for a cache between.
  const got = await client.query(gql`query($leg: LegInput!) { flight(leg: $leg) { flightKey } }`, { leg }, { preferGetMethod: "force" });
  assert.equal(got.data.flight.flightKey, `AA100:${date}`);
}

await withApollo();
await withHashes();
await withUrql();
process.exit(0);
