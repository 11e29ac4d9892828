// A live operation over a websocket, by the protocol graphql-transport-ws.

// follow starts one. next is given each result, end a sentence on how it was
// over and whether that was well. It returns what stops it.
export function follow(url, headers, payload, { next, end }) {
  const socket = new WebSocket(url, "graphql-transport-ws");
  const send = (message) => socket.send(JSON.stringify(message));
  let over = false;
  const finish = (text, well) => {
    if (over) return;
    over = true;
    end(text, well);
    socket.close(1000);
  };
  socket.onopen = () => send({ type: "connection_init", payload: headers });
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    switch (message.type) {
      case "connection_ack": return send({ id: "1", type: "subscribe", payload });
      case "ping": return send({ type: "pong" });
      case "next": return next(message.payload);
      case "error":
        next({ errors: message.payload });
        return finish("refused", false);
      case "complete": return finish("completed", true);
    }
  };
  socket.onclose = ({ code, reason }) => finish(`closed: ${code} ${reason}`, false);
  return () => {
    if (socket.readyState === WebSocket.OPEN) send({ id: "1", type: "complete" });
    finish("stopped", true);
  };
}
