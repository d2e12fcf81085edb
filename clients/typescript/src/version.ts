/** Version of this client; that of package.json. */
export const VERSION = "0.1.0";

export const CLIENT_NAME = `muniment-typescript/${VERSION}`;
