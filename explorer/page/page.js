// The page: what stands in its boxes, and what its buttons do. It asks nothing
// of any other host than its own.
import { operations } from "./document.js";
import { docs } from "./docs.js";
import { follow } from "./live.js";
import { show } from "./results.js";

const at = (id) => document.getElementById(id);
const nonce = document.querySelector("script[nonce]").nonce;
const endpoint = location.pathname;
const boxes = { query: at("query"), variables: at("variables"), headers: at("headers") };
const editors = {};

// stored keeps values in the browser, where it lets us.
const stored = {
  get(name) { try { return JSON.parse(localStorage.getItem(`flightwire.${name}`)); } catch { return null; } },
  set(name, value) { try { value === null ? localStorage.removeItem(`flightwire.${name}`) : localStorage.setItem(`flightwire.${name}`, JSON.stringify(value)); } catch { /* it is full, or forbidden */ } },
};

// text reads and writes a box, whichever form it has.
function text(name, value) {
  if (value === undefined) return boxes[name].value;
  boxes[name].value = value;
  editors[name]?.set(value);
  if (name === "query") operationsChanged();
}

// ---- what is asked

const today = new Date().toISOString().slice(0, 10);
const leg = JSON.stringify({ leg: { carrier: "LH", flightNumber: "400", date: today } }, null, 2);
const legs = JSON.stringify({ legs: ["400", "401"].map((flightNumber) => ({ carrier: "LH", flightNumber, date: today })) }, null, 2);
const examples = {
  "Look a flight up": ["query Flight($leg: LegInput!) {\n  flight(leg: $leg) {\n    flightKey\n    status { phase label delayed }\n    departure { airport { iata name } gate bestTimeUtc delayMinutes }\n    arrival { airport { iata name } gate bestTimeUtc }\n  }\n}\n", leg],
  "Follow a flight live": ["subscription Live($leg: LegInput!, $after: String) {\n  flightChanged(leg: $leg, after: $after) {\n    cursor\n    changes { type message }\n    flight { status { phase } departure { gate bestTimeUtc } }\n  }\n}\n", leg],
  "What was known of it when": ["query History($leg: LegInput!) {\n  flight(leg: $leg) {\n    history(first: 5) {\n      totalCount\n      edges { cursor node { knownAt source changes { type message } } }\n      pageInfo { hasNextPage endCursor }\n    }\n  }\n}\n", leg],
  "Several flights at once": ["query Flights($legs: [LegInput!]!) {\n  flights(legs: $legs) {\n    flight { flightKey status { phase delayed } departure { gate bestTimeUtc } }\n    error { code message }\n  }\n}\n", legs],
  "My subscriptions": ["query Subscriptions($after: String) {\n  subscriptionsConnection(first: 10, after: $after) {\n    totalCount\n    edges { node { id status flightKey webhookUrl deliveredCount failedCount } }\n    pageInfo { hasNextPage endCursor }\n  }\n}\n", ""],
  "Watch a flight": ["mutation Watch($input: CreateSubscriptionInput!) {\n  createSubscription(input: $input) { id status secret }\n}\n", JSON.stringify({ input: { carrier: "LH", flightNumber: "400", date: today, webhookUrl: `${location.origin}/dev/inbox` } }, null, 2)],
};

function operationsChanged() {
  const all = operations(text("query")), pick = at("operation"), before = pick.value;
  pick.hidden = all.length < 2;
  pick.replaceChildren(...all.map((o) => new Option(o.name || o.kind, o.name, false, o.name === before)));
}

// chosen is the operation that is to run.
function chosen() {
  const all = operations(text("query"));
  return all.length < 2 ? (all[0] ?? { kind: "query", name: "" }) : all.find((o) => o.name === at("operation").value) ?? all[0];
}

// object reads a box that must hold a JSON object, or nothing.
function object(name) {
  const written = text(name).trim();
  if (written === "") return {};
  let value;
  try { value = JSON.parse(written); } catch (e) { throw new Error(`${name}: ${e.message}`); }
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw new Error(`${name}: a JSON object is wanted`);
  return value;
}

// request reads what is to be sent.
function request() {
  const operation = chosen(), payload = { query: text("query"), variables: object("variables") };
  if (operation.name) payload.operationName = operation.name;
  const headers = object("headers"), key = at("key").value.trim();
  if (key) headers["x-api-key"] = key;
  return { operation, payload, headers };
}

// ---- running

let stop = null; // of what is under way

function say(sentence, well) {
  at("status").textContent = sentence;
  at("status").className = well === undefined ? "quiet" : well ? "good" : "bad";
}

function running(stopper) {
  stop = stopper;
  at("run").textContent = stop ? "Stop" : "Run";
  at("run").classList.toggle("stops", stop !== null);
}

function run() {
  if (stop) return stop();
  let asked;
  try { asked = request(); } catch (e) { return say(e.message, false); }
  remember(asked.payload);
  at("results").replaceChildren();
  asked.operation.kind === "subscription" ? live(asked) : once(asked);
}

async function once({ payload, headers }) {
  const control = new AbortController(), began = performance.now();
  running(() => control.abort());
  say("asking…");
  try {
    const answer = await fetch(endpoint, {
      method: "POST", credentials: "omit", signal: control.signal, body: JSON.stringify(payload),
      headers: { ...headers, "content-type": "application/json", accept: "application/graphql-response+json, application/json;q=0.9" },
    });
    const body = await answer.text(), took = Math.round(performance.now() - began);
    let value;
    try { value = JSON.parse(body); } catch { value = body; }
    show(at("results"), value);
    const left = answer.headers.get("x-ratelimit-remaining-minute");
    say(`${answer.status} · ${took} ms · ${(body.length / 1024).toFixed(1)} KB${left ? ` · ${left} left this minute` : ""}`, answer.ok && !value.errors);
  } catch (e) {
    say(e.name === "AbortError" ? "stopped" : `The service cannot be reached: ${e.message}`, false);
  }
  running(null);
}

function live({ operation, payload, headers }) {
  let messages = 0, cursor;
  const url = `${location.protocol === "https:" ? "wss:" : "ws:"}//${location.host}${endpoint}`;
  const counted = () => (messages ? ` · ${messages} ${messages === 1 ? "message" : "messages"}` : "");
  const resumes = () => cursor !== undefined && operation.variables.includes("after");
  const from = () => (resumes() ? { ...payload, variables: { ...payload.variables, after: cursor } } : payload);
  say("connecting…");
  running(follow(url, headers, from, {
    begin(again) {
      say(`live${again ? (resumes() ? " again, from where it was" : " again, from the beginning: it has no $after and cursor to go on from") : ""}${counted()}`, true);
    },
    next(result) {
      messages++;
      cursor = Object.values(result.data ?? {})[0]?.cursor ?? cursor;
      show(at("results"), result, new Date().toLocaleTimeString());
      say(`live${counted()}`, true);
    },
    wait(how, seconds) {
      say(`${how} · connecting again in ${Math.ceil(seconds)} s${counted()}`, false);
    },
    end(how, well) {
      say(`${how}${counted()}`, well ? undefined : false);
      running(null);
    },
  }));
}

// ---- the docs panel

let schema = null; // what is read of it, once

async function toggleDocs() {
  const panel = at("docs"), opens = panel.hidden;
  panel.hidden = !opens;
  at("read").setAttribute("aria-expanded", String(opens));
  document.body.classList.toggle("with-docs", opens);
  stored.set("docs", opens || null);
  if (!opens) return;
  schema ??= fetch(new URL("schema.json", new URL(".", import.meta.url))).then((r) => r.json()).then(({ data }) => docs(data, at("docs-body"), at("docs-find")));
  try { await schema; } catch (e) {
    schema = null; // the next click tries again
    at("docs-body").textContent = `The schema cannot be read: ${e.message}`;
  }
}

// ---- what is kept: the last requests, without headers; the key only if wanted

const kept = 50;

function remember({ query, variables }) {
  const entry = { query, variables: Object.keys(variables).length ? JSON.stringify(variables, null, 2) : "", at: Date.now() };
  const others = (stored.get("history") ?? []).filter((e) => e.query !== entry.query || e.variables !== entry.variables);
  stored.set("history", [entry, ...others].slice(0, kept));
}

function listHistory() {
  const entries = stored.get("history") ?? [];
  at("entries").replaceChildren(...entries.map((e) => {
    const item = document.createElement("li"), button = document.createElement("button"), what = document.createElement("code"), when = document.createElement("span");
    what.textContent = e.query.replace(/\s+/g, " ").trim().slice(0, 200);
    when.textContent = new Date(e.at).toLocaleString();
    when.className = "quiet";
    button.append(what, when);
    button.addEventListener("click", () => load(e.query, e.variables));
    item.append(button);
    return item;
  }));
  if (entries.length === 0) at("entries").textContent = "";
}

function load(query, variables) {
  text("query", query);
  text("variables", variables);
}

function keepKey() {
  stored.set("key", at("keep").checked ? at("key").value.trim() : null);
}

// ---- the beginning

function begin() {
  const asked = new URLSearchParams(location.search), last = stored.get("history")?.[0];
  if (asked.get("query")) load(asked.get("query"), asked.get("variables") ?? "");
  else if (last) load(last.query, last.variables);
  else load(...examples["Look a flight up"]);
  const key = stored.get("key");
  at("key").value = key ?? "";
  at("keep").checked = key !== null;

  for (const name of Object.keys(examples)) at("examples").add(new Option(name));
  at("examples").addEventListener("change", (e) => {
    if (examples[e.target.value]) load(...examples[e.target.value]);
    e.target.selectedIndex = 0;
  });
  at("run").addEventListener("click", run);
  at("read").addEventListener("click", toggleDocs);
  if (stored.get("docs")) toggleDocs();
  at("key").addEventListener("input", keepKey);
  at("keep").addEventListener("change", keepKey);
  at("past").addEventListener("click", () => { listHistory(); at("history").showModal(); });
  at("forget").addEventListener("click", () => { stored.set("history", null); listHistory(); });
  for (const name of ["variables", "headers"]) at(`tab-${name}`).addEventListener("click", () => choose(name));
  boxes.query.addEventListener("input", operationsChanged);
  document.addEventListener("keydown", (e) => {
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey) && !e.defaultPrevented) { e.preventDefault(); run(); }
  });
}

function choose(tab) {
  for (const name of ["variables", "headers"]) {
    at(`tab-${name}`).setAttribute("aria-selected", String(name === tab));
    at(`pane-${name}`).hidden = name !== tab;
  }
}

// better puts editors in the place of the text boxes, where they were built in.
async function better() {
  const here = new URL(".", import.meta.url);
  try {
    const [{ query, object }, schema] = await Promise.all([import("./editor.js"), fetch(new URL("schema.graphqls", here)).then((r) => r.text())]);
    const options = (name) => ({ box: boxes[name], nonce, onRun: run, onChange: (value) => { boxes[name].value = value; if (name === "query") operationsChanged(); } });
    editors.query = query(options("query"), schema);
    editors.variables = object(options("variables"));
    editors.headers = object(options("headers"));
    editors.query.focus();
  } catch {
    at("hint").textContent = "Ctrl-Enter runs";
  }
  document.body.dataset.editor = editors.query ? "code" : "text";
}

begin();
better();
