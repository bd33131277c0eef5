// For `node --import preload.mjs …/conformance/dist/run.mjs`: adds the token to every request.
//
// The suite knows no way to send a header, and kg's TCP port answers nobody without its token. fetch and undici share one
// dispatcher, and the tests of odd headers use node's own http; the rest of a request stays as the suite made it.
import http from "node:http";
import { createRequire, syncBuiltinESMExports } from "node:module";

const { Agent, setGlobalDispatcher } = createRequire(process.argv[1])("undici");
const token = `Bearer ${process.env.KG_TEST_TOKEN}`;

function withToken(headers) {
  if (Array.isArray(headers)) return [...headers, "authorization", token];
  if (headers && typeof headers[Symbol.iterator] === "function") return [...headers, ["authorization", token]];
  return { ...headers, authorization: token };
}

setGlobalDispatcher(
  new Agent().compose((dispatch) => (options, handler) =>
    dispatch({ ...options, headers: withToken(options.headers) }, handler),
  ),
);

const request = http.request;
http.request = (...args) => {
  const made = request(...args);
  made.setHeader("authorization", token);
  return made;
};
syncBuiltinESMExports();
