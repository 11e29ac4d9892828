// node build.mjs FILE
//
// Makes the explorer's editor: editor.js and all that it needs, in one module,
// as small as it gets, compressed.
import { writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const { outputFiles } = await build({
  entryPoints: ["editor.js"], bundle: true, minify: true, format: "esm", target: "es2022", write: false, legalComments: "none",
  define: { "process.env.NODE_ENV": '"production"', "globalThis.process": "undefined" },
});
writeFileSync(process.argv[2], gzipSync(outputFiles[0].contents, { level: 9 }));
