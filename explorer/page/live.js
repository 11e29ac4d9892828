// A live operation over a websocket, by the protocol graphql-transport-ws. A
// connection that breaks is made again, for as long as nobody stops it.

const final = new Set([1000, 4400, 4401, 4403, 4406, 4409, 4429]); // to try again would end the same
const pauses = [0.3, 1, 2, 4, 8, 15]; // seconds before the next try

// follow starts one. begin is called for each connection that is accepted, with
// whether it is another one; next with each result; wait with how the connection
// ended, and in how many seconds it is made again; end with a sentence on how it
// all was over, and whether that was well. payload is asked anew each time, so
// that it can go on where the last connection ended. It returns what stops it.
export function follow(url, headers, payload, { begin, next, wait, end }) {
  let socket, timer, over = false, accepted = false, tries = 0;
  const finish = (text, well) => {
    if (over) return;
    over = true;
    clearTimeout(timer);
    end(text, well);
    socket.close(1000);
  };
  const connect = () => {
    const mine = socket = new WebSocket(url, "graphql-transport-ws");
    const send = (message) => mine.send(JSON.stringify(message));
    mine.onopen = () => send({ type: "connection_init", payload: headers });
    mine.onmessage = ({ data }) => {
      if (over) return;
      const message = JSON.parse(data);
      switch (message.type) {
        case "connection_ack":
          begin(accepted);
          accepted = true;
          return send({ id: "1", type: "subscribe", payload: payload() });
        case "ping": return send({ type: "pong" });
        case "next":
          tries = 0;
          return next(message.payload);
        case "error":
          next({ errors: message.payload });
          return finish("refused", false);
        case "complete": return finish("completed", true);
      }
    };
    mine.onclose = ({ code, reason }) => {
      if (over) return;
      const how = `closed: ${code}${reason ? ` ${reason}` : ""}`;
      if (!accepted || final.has(code)) return finish(how, false);
      const pause = pauses[Math.min(tries++, pauses.length - 1)] * (0.8 + 0.4 * Math.random());
      wait(how, pause);
      timer = setTimeout(connect, pause * 1000);
    };
  };
  connect();
  return () => {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ id: "1", type: "complete" }));
    finish("stopped", true);
  };
}
