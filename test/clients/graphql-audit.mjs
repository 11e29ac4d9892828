// node graphql-audit.mjs BASE_URL KEY
//
// The audit of GraphQL over HTTP that graphql-http brings. Every point of it
// must hold, those that are only advised too; it ends with 1 and names what
// does not.
import { auditServer } from "graphql-http";

const [base, key] = process.argv.slice(2);
const results = await auditServer({
  url: `${base}/graphql`,
  fetchFn: (url, options = {}) => fetch(url, { ...options, headers: { ...options.headers, "x-api-key": key } }),
});
const missed = results.filter((r) => r.status !== "ok");
for (const r of missed) console.error(`${r.status}: ${r.id} ${r.name}: ${r.reason}`);
console.log(`${results.length - missed.length} of ${results.length}`);
process.exit(missed.length > 0 || results.length < 61 ? 1 : 0);
