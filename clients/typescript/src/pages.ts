/** Lists that the service answers page by page. */

/** One page. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Empty for the last page. */
  readonly nextPageToken: string;
  /** Memories of this page left out because somebody changed them in the database. */
  readonly sealBrokenMemoryIds: readonly string[];
}

/**
 * All items of a list, read page by page while you iterate: `for await (const memory of pages)`.
 *
 * Every iteration begins anew. An error of a page is thrown where it is read.
 */
export class Pages<T> implements AsyncIterable<T> {
  constructor(
    private readonly first: string,
    private readonly fetch: (pageToken: string) => Promise<Page<T>>,
  ) {}

  /** The pages. */
  async *pages(): AsyncGenerator<Page<T>, void, undefined> {
    let token = this.first;
    do {
      const page = await this.fetch(token);
      yield page;
      token = page.nextPageToken;
    } while (token !== "");
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* page.items;
  }

  /** Everything in one list. */
  async all(): Promise<T[]> {
    const items: T[] = [];
    for await (const item of this) items.push(item);
    return items;
  }
}
