/** Measures the client, and the bare transport beside it, in this process. */
import type { JsonValue } from "@bufbuild/protobuf";
import { type Connected, contextOf, layerOf, methodOf, parsed } from "./calls.js";
import type { Request } from "./request.js";

class Sample {
  readonly took: number[] = [];
  errors = 0;

  async measure(run: () => Promise<unknown>): Promise<void> {
    const started = performance.now();
    await run().catch(() => {
      this.errors++;
    });
    this.took.push((performance.now() - started) * 1000);
  }

  figures(seconds: number): Record<string, number> {
    this.took.sort((one, other) => one - other);
    const at = (share: number) => this.took[Math.floor(share * (this.took.length - 1))] ?? 0;
    return {
      calls: this.took.length,
      errors: this.errors,
      seconds,
      per_second: this.took.length / seconds,
      p50_us: at(0.5),
      p90_us: at(0.9),
      p99_us: at(0.99),
    };
  }
}

export async function bench({ client, raw }: Connected, request: Request): Promise<JsonValue> {
  const method = methodOf(request.method);
  const message = parsed(method.input, request.request);
  const run = layerOf(client, method);
  const context = contextOf(request);
  const layered = async () => run(message, { context });
  const bare = () => raw.call(method, [message], {} as Request);
  for (let left = request.warmup ?? 20; left > 0; left--) {
    await layered().catch(() => {});
    if (request.compare) await bare().catch(() => {});
  }
  const layer = new Sample();
  const transport = new Sample();
  let left = request.count ?? 0;
  const started = performance.now();
  const worker = async () => {
    while (left-- > 0) {
      await layer.measure(layered);
      if (request.compare) await transport.measure(bare);
    }
  };
  await Promise.all(Array.from({ length: request.concurrency ?? 1 }, worker));
  const seconds = (performance.now() - started) / 1000;
  return {
    layer: layer.figures(seconds),
    ...(request.compare ? { raw: transport.figures(seconds) } : {}),
  };
}
