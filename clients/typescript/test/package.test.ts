import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { VERSION } from "../src/index.js";

const home = join(import.meta.dirname, "../..");

test("the package holds what it should and needs nothing of the server", () => {
  const described = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
  assert.equal(described.version, VERSION);
  assert.equal(described.license, "Apache-2.0");
  const needed = [...Object.keys(described.dependencies), ...Object.keys(described.peerDependencies)];
  assert.deepEqual(needed.sort(), ["@bufbuild/protobuf", "@grpc/grpc-js", "@opentelemetry/api"]);
  const packed = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    cwd: home,
    encoding: "utf8",
  });
  const files: string[] = JSON.parse(packed)[0].files.map((each: { path: string }) => each.path);
  for (const name of ["dist/src/index.js", "dist/src/index.d.ts", "src/index.ts", "LICENSE", "README.md"]) {
    assert.ok(files.includes(name), `${name} is not packed`);
  }
  assert.ok(!files.some((each) => /^(dist\/)?(test|conformance|examples)\//.test(each)));
});

test("generated code knows nothing of validation", () => {
  const folder = join(home, "src/gen/muniment/v1");
  for (const name of readdirSync(folder)) {
    assert.ok(!readFileSync(join(folder, name), "utf8").includes("buf/validate"), name);
  }
});
