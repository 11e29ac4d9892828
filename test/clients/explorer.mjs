// node explorer.mjs BASE_URL KEY DATE CONTROL THROUGH EDITOR [SCREENSHOT_FOLDER]
//
// The explorer in a real browser: a query is typed with completion and run, a
// live operation shows a change as it arrives, also over a connection that
// breaks, the docs can be read, and nothing is asked of another host. AA100 of
// DATE has another gate after a GET of CONTROL/gate?to=NAME. THROUGH is an
// address of the same service that is cut off by CONTROL/cut until CONTROL/open.
// EDITOR is "code" where the editor was built in, "text" where it was not; the
// page without it is tried either way.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const [base, key, date, control, through, builtIn, folder] = process.argv.slice(2);
const leg = JSON.stringify({ leg: { carrier: "AA", flightNumber: "100", date } });
const profile = mkdtempSync(join(tmpdir(), "explorer-"));
const browser = await chromium.launchPersistentContext(profile, {
  executablePath: "/usr/bin/chromium", viewport: { width: 1280, height: 800 },
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
browser.setDefaultTimeout(60_000);
const requests = [], faults = [];
browser.on("request", (r) => requests.push(r.url()));

async function open(editor, address = `${base}/graphql`) {
  const page = await browser.newPage();
  if (editor !== builtIn) await page.route("**/editor.js", (route) => route.abort());
  page.on("websocket", (s) => requests.push(s.url()));
  page.on("pageerror", (e) => faults.push(`${e}`));
  page.on("console", (m) => {
    if (m.type() === "error" && !(editor === "text" && m.location().url.endsWith("/editor.js"))) faults.push(m.text());
  });
  const answer = await page.goto(address);
  assert.equal(answer.status(), 200);
  assert.match(answer.headers()["content-security-policy"], /default-src 'none'/);
  await page.waitForSelector(`body[data-editor=${editor}]`);
  return page;
}

// write replaces what a box holds; what is typed is typed key by key.
async function write(page, label, text, typed = false) {
  await page.getByRole("textbox", { name: label, exact: true }).click();
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Delete");
  await (typed ? page.keyboard.type(text) : page.keyboard.insertText(text));
}
const status = (page, text) => page.locator("#status", { hasText: text }).waitFor();
const results = (page) => page.locator("#results").innerText();
const picture = (page, name) => (folder ? page.screenshot({ path: join(folder, `${name}.png`) }) : undefined);

async function queries(editor) {
  const page = await open(editor);
  await write(page, "Query", "{ subscriptions { total } }");
  await page.getByRole("button", { name: "Run" }).click();
  await status(page, "401");
  assert.match(await results(page), /MISSING_API_KEY/);

  await page.getByLabel("API key").fill(key);
  if (editor === "code") {
    // Brackets close themselves; the list of completions offers what the schema has.
    await write(page, "Query", "query($leg: LegInput!) { fli", true);
    const offered = (name) => page.locator(".cm-tooltip-autocomplete li", { hasText: name }).first();
    await offered("flight").waitFor();
    await page.locator(".cm-completionInfo", { hasText: "One leg of a flight" }).waitFor();
    await picture(page, "completion");
    await offered("flight").click();
    await page.keyboard.type("(leg: $leg) { dep");
    await offered("departure").click();
    await page.keyboard.type(" { ga");
    await offered("gate").click();
  } else {
    await write(page, "Query", "query($leg: LegInput!) { flight(leg: $leg) { departure { gate } } }", true);
  }
  await write(page, "Variables", leg);
  await page.keyboard.press("Control+Enter");
  await status(page, "200");
  assert.deepEqual(JSON.parse(await results(page)), { data: { flight: { departure: { gate: "X0" } } } });
  if (editor === "code") {
    await write(page, "Query", "{ nosuch }");
    await page.locator(".cm-lintRange-error").first().waitFor();
  }
  await write(page, "Variables", "[");
  await page.getByRole("button", { name: "Run" }).click();
  await status(page, "variables:");

  // What was asked is kept, the key is not.
  const kept = () => page.evaluate(() => JSON.stringify(localStorage));
  assert.ok((await kept()).includes("departure") && !(await kept()).includes(key), "the key was kept unasked");
  await page.getByRole("button", { name: "History" }).click();
  await picture(page, `history-${editor}`);
  await page.locator("#entries button").first().click();
  await page.getByRole("button", { name: "Run" }).click();
  await status(page, "200");
  assert.match(await results(page), /"gate": "X0"/);
  await page.getByLabel("keep it in this browser").check();
  assert.ok((await kept()).includes(key));
  await page.getByLabel("keep it in this browser").uncheck();
  assert.ok(!(await kept()).includes(key));
  await page.close();
}

async function live() {
  const query = "query Other { __typename } subscription Live($leg: LegInput!) { flightChanged(leg: $leg) { changes { type to } flight { departure { gate } status { phase } } } }";
  const page = await open(builtIn, `${base}/graphql?${new URLSearchParams({ query, variables: leg })}`);
  await page.getByLabel("API key").fill(key);
  await page.getByLabel("Operation").selectOption("Live");
  await page.getByRole("button", { name: "Run" }).click();
  await status(page, "live · 1 message");
  await fetch(`${control}/gate?to=X1`);
  await look();
  await status(page, "live · 2 messages");
  const newest = await page.locator("#results article").first().innerText();
  assert.match(newest, /DEPARTURE_GATE_CHANGED/);
  assert.match(newest, /"to": "X1"/);
  await picture(page, "live");
  await page.getByRole("button", { name: "Stop" }).click();
  await status(page, "stopped");
  await page.getByLabel("API key").fill("fw_no");
  await page.getByRole("button", { name: "Run" }).click();
  await status(page, "closed: 4403");
  await page.emulateMedia({ colorScheme: "dark" });
  await picture(page, "dark");
  await page.close();
}

// look has the service look at the flight again.
async function look() {
  const body = JSON.stringify({ query: "query($leg: LegInput!) { flight(leg: $leg, refresh: true) { flightKey } }", variables: JSON.parse(leg) });
  await fetch(`${base}/graphql`, { method: "POST", headers: { "content-type": "application/json", "x-api-key": key }, body });
}

// reconnects breaks the connection of a live operation, twice: one that has
// $after goes on where it was, the other begins anew.
async function reconnects() {
  const fields = "cursor changes { to } flight { departure { gate } }";
  const query = `subscription Goes($leg: LegInput!, $after: String) { flightChanged(leg: $leg, after: $after) { ${fields} } }
    subscription Begins($leg: LegInput!) { flightChanged(leg: $leg) { ${fields} } }`;
  const page = await open(builtIn, `${through}/graphql?${new URLSearchParams({ query, variables: leg })}`);
  await page.getByLabel("API key").fill(key);
  for (const [name, again, gate] of [["Goes", "from where it was", "X2"], ["Begins", "from the beginning", "X3"]]) {
    await page.getByLabel("Operation").selectOption(name);
    await page.getByRole("button", { name: "Run" }).click();
    await status(page, "live · 1 message");
    await fetch(`${control}/cut`);
    await status(page, "connecting again in");
    await picture(page, `broken-${name}`);
    await fetch(`${control}/gate?to=${gate}`);
    await look();
    const states = page.evaluate((text) => new Promise((done) => {
      const box = document.getElementById("status");
      new MutationObserver(() => { if (box.textContent.includes(text)) done(true); }).observe(box, { childList: true, characterData: true, subtree: true });
    }), again);
    await fetch(`${control}/open`);
    assert.equal(await states, true);
    await status(page, "live · 2 messages");
    const newest = JSON.parse((await page.locator("#results article pre").first().innerText())).data.flightChanged;
    assert.equal(newest.flight.departure.gate, gate);
    assert.deepEqual(newest.changes, name === "Goes" ? [{ to: gate }] : []);
    await page.getByRole("button", { name: "Stop" }).click();
    await status(page, "stopped");
  }
  await page.close();
}

// docs reads the schema in the panel, without a key.
async function docs() {
  const page = await open("text");
  const panel = page.getByRole("region", { name: "Docs" }), body = page.locator("#docs-body");
  await page.getByRole("button", { name: "Docs" }).click();
  await panel.getByRole("button", { name: "Query", exact: true }).click();
  await body.getByText("One leg of a flight as the upstream last described it").waitFor();
  assert.match(await body.innerText(), /Deprecated\.\s+Use subscriptionsConnection/);
  await picture(page, "docs");
  await body.getByRole("button", { name: "FlightSnapshot", exact: true }).first().click();
  await body.getByRole("heading", { name: "type FlightSnapshot" }).waitFor();
  await panel.getByLabel("Find a type or a field").fill("gate_ch");
  await body.getByRole("button", { name: "ChangeType.DEPARTURE_GATE_CHANGED" }).click();
  await body.getByRole("heading", { name: "enum ChangeType" }).waitFor();
  for (const heading of ["type FlightSnapshot", "type Query", "The schema"]) {
    await body.getByRole("button", { name: "back" }).click();
    await body.getByRole("heading", { name: heading }).waitFor();
  }
  await page.reload(); // it stays open
  await body.getByRole("heading", { name: "The schema" }).waitFor();
  await page.getByRole("button", { name: "Docs" }).click();
  await panel.waitFor({ state: "hidden" });
  await page.close();
}

try {
  await fetch(`${control}/gate?to=X0`);
  if (builtIn === "code") await queries("code");
  await queries("text");
  await live();
  await reconnects();
  await docs();
} catch (e) {
  await picture(browser.pages().at(-1), "failed");
  throw e;
} finally {
  await browser.close();
  rmSync(profile, { recursive: true, force: true });
}
const hosts = [base, through].map((url) => new URL(url).host);
const strange = requests.filter((url) => !hosts.includes(new URL(url).host) && !url.startsWith("data:"));
assert.deepEqual(strange, [], "requests to other hosts");
assert.ok(requests.some((url) => url.startsWith("ws://")) && requests.length > 10, "requests are seen");
const refused = /status of 401|4403|WebSocket/; // the browser tells of those that were meant
assert.deepEqual(faults.filter((f) => !refused.test(f)), []);
process.exit(0);
