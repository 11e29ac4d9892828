// Verifies deliveries with the library of Standard Webhooks. Reads a JSON list
// of {secret, headers, body} from its input, and writes a list of verdicts: true,
// or why not.
import { readFileSync } from "node:fs";
import { Webhook } from "standardwebhooks";

const verdicts = JSON.parse(readFileSync(0, "utf8")).map(({ secret, headers, body }) => {
  try {
    const event = new Webhook(secret).verify(body, headers);
    return typeof event.id === "string";
  } catch (e) {
    return `${e.name}: ${e.message}`;
  }
});
process.stdout.write(JSON.stringify(verdicts));
