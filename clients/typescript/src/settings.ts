/** How to reach the service and as whom: what `connect` takes, checked and completed. */
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { type ChannelCredentials, type ClientOptions, credentials, type Interceptor } from "@grpc/grpc-js";
import { serviceConfig } from "./gen/service_config.js";
import { CLIENT_NAME } from "./version.js";

const DEFAULT_PORT = 7443;
const TENANT = /^[a-z0-9][a-z0-9_.-]{0,62}$/;
const CLIENT = /^[A-Za-z0-9][A-Za-z0-9._/+ ()-]{0,63}$/;
const CREDENTIAL = /^[\x21-\x7e]+$/;

/**
 * Returns the credential (a JWT or an API key) for the next call. Called for every call: cache what is costly.
 */
export type TokenSource = () => string | Promise<string>;

/** How to encrypt. Each part is the PEM text as bytes, or the path of a file that holds it. */
export interface TLSOptions {
  /** Authorities that may have signed the server's certificate; not given: those of the system. */
  rootCertificates?: Uint8Array | string;
  /** The client's own certificate chain, for mutual TLS. */
  certificate?: Uint8Array | string;
  /** The key of `certificate`. */
  privateKey?: Uint8Array | string;
  /** The name that the server's certificate must bear, if it is not the host of the target. */
  serverName?: string;
}

/**
 * Milliseconds that a call may take, repetitions included, when it is given no `timeoutMs` of its own.
 */
export interface Deadlines {
  /** 2 s. */
  recall: number;
  /** 5 s. */
  write: number;
  /** 5 s; restore, retract, undoWrite and decideReview, too. */
  supersede: number;
  /** 30 s; setConsent, too. */
  erase: number;
  /** 30 s; importMemories, too. */
  ingest: number;
  /** 600 s, for a whole export or a whole streamIngest. */
  export: number;
  /** 5 s. */
  other: number;
}

const DEADLINES: Deadlines = {
  recall: 2_000,
  write: 5_000,
  supersede: 5_000,
  erase: 30_000,
  ingest: 30_000,
  export: 600_000,
  other: 5_000,
};

/** What `connect` takes. */
export interface ConnectOptions {
  /** `host:port`, or a gRPC target such as `dns:///host:port` or `unix:/path`; else MUNIMENT_TARGET. */
  target?: string;
  /** The tenant's name; else MUNIMENT_TENANT. */
  tenant?: string;
  /** The credential; else MUNIMENT_API_KEY. */
  apiKey?: string;
  /** Instead of `apiKey`. */
  tokenSource?: TokenSource;
  /** How to encrypt; not given: with the system's authorities, and not at all to loopback. */
  tls?: TLSOptions;
  /** Plaintext to elsewhere than loopback: everybody on the way can read the credential and the memories. */
  insecure?: boolean;
  /** Changes how long calls may take. */
  deadlines?: Partial<Deadlines>;
  /** Name and version of your program for the audit trail, for example "support-bot/2.1". */
  clientName?: string;
  /** Whether recalls wait until they can find this client's own writes by meaning, too. Default: true. */
  readYourWrites?: boolean;
  /** Told what must not get lost but is no error; default: console.warn. */
  warn?: (message: string) => void;
  /** Interceptors of grpc-js. They see the metadata of calls, the credential included. */
  interceptors?: Interceptor[];
}

/** Everything about a connection. */
export interface Settings {
  readonly target: string;
  readonly host: string;
  /** undefined for a Unix socket. */
  readonly port: number | undefined;
  readonly tenant: string;
  readonly credential: TokenSource;
  readonly channel: ChannelCredentials;
  readonly options: ClientOptions;
  readonly deadlines: Deadlines;
  readonly clientName: string;
  readonly readYourWrites: boolean;
  readonly warn: (message: string) => void;
}

/** Complete from the environment and check. Throws TypeError, never telling a credential. */
export function complete(given: ConnectOptions): Settings {
  const { target, host, port } = parseTarget(
    given.target || process.env.MUNIMENT_TARGET || `127.0.0.1:${DEFAULT_PORT}`,
  );
  const tenant = given.tenant || process.env.MUNIMENT_TENANT;
  if (!tenant) throw new TypeError("no tenant: give tenant, or set MUNIMENT_TENANT");
  if (!TENANT.test(tenant)) {
    throw new TypeError(`tenant ${JSON.stringify(tenant)} is not of the form [a-z0-9][a-z0-9_.-]{0,62}`);
  }
  if (given.tls !== undefined && given.insecure) {
    throw new TypeError("tls and insecure exclude each other");
  }
  const loopback = isLoopback(host);
  const tls = given.tls ?? (given.insecure || loopback ? undefined : {});
  const deadlines = { ...DEADLINES, ...given.deadlines };
  for (const [name, value] of Object.entries(deadlines)) {
    if (!(value > 0)) throw new TypeError(`the deadline ${name} must be above 0 ms`);
  }
  return {
    target,
    host,
    port,
    tenant,
    credential: credentialOf(given),
    channel: tls === undefined ? credentials.createInsecure() : secure(tls),
    options: {
      "grpc.primary_user_agent": CLIENT_NAME,
      "grpc.service_config": JSON.stringify(serviceConfig),
      // What repeats calls is the contract's, not whoever's DNS records say.
      "grpc.service_config_disable_resolution": 1,
      "grpc.enable_retries": 1,
      // A server that restarts is back within the first retries, not after a second.
      "grpc.initial_reconnect_backoff_ms": 100,
      "grpc.max_reconnect_backoff_ms": 10_000,
      "grpc.keepalive_time_ms": 60_000,
      "grpc.keepalive_timeout_ms": 20_000,
      // A proxy for the outside world is no way to this machine, least of all in plaintext.
      ...(loopback ? { "grpc.enable_http_proxy": 0 } : {}),
      ...(tls?.serverName === undefined ? {} : { "grpc.ssl_target_name_override": tls.serverName }),
      ...(given.interceptors === undefined ? {} : { interceptors: given.interceptors }),
    },
    deadlines,
    clientName: clientNameOf(given.clientName),
    readYourWrites: given.readYourWrites ?? true,
    warn: given.warn ?? ((message) => console.warn(message)),
  };
}

/** The credential as it may be sent. Throws TypeError for what cannot be. */
export function checked(credential: string): string {
  if (typeof credential !== "string" || !CREDENTIAL.test(credential)) {
    throw new TypeError("the credential must be printable ASCII text without spaces");
  }
  return credential;
}

function credentialOf(given: ConnectOptions): TokenSource {
  if (given.tokenSource !== undefined) {
    if (given.apiKey !== undefined) throw new TypeError("apiKey and tokenSource exclude each other");
    return given.tokenSource;
  }
  const key = given.apiKey || process.env.MUNIMENT_API_KEY;
  if (!key) throw new TypeError("no credential: give apiKey or tokenSource, or set MUNIMENT_API_KEY");
  checked(key);
  // In a closure no inspection of the settings shows it.
  return () => key;
}

function clientNameOf(name: string | undefined): string {
  const full = name === undefined ? CLIENT_NAME : `${name} (${CLIENT_NAME})`;
  if (!CLIENT.test(full)) {
    throw new TypeError(
      `clientName must be a name and a version like my-agent/1.2, at most ` +
        `${64 - CLIENT_NAME.length - 3} letters, digits, spaces and ._/+()-`,
    );
  }
  return full;
}

function secure(tls: TLSOptions): ChannelCredentials {
  if ((tls.certificate === undefined) !== (tls.privateKey === undefined)) {
    throw new TypeError("certificate and privateKey belong together");
  }
  return credentials.createSsl(pem(tls.rootCertificates), pem(tls.privateKey), pem(tls.certificate));
}

function pem(source: Uint8Array | string | undefined): Buffer | null {
  if (source === undefined) return null;
  return typeof source === "string" ? readFileSync(source) : Buffer.from(source);
}

interface Endpoint {
  target: string;
  host: string;
  port: number | undefined;
}

/** A gRPC target with a port, its host, and the port. */
export function parseTarget(given: string): Endpoint {
  const [, scheme = "", rest = ""] = /^([a-z-]+):(.*)$/.exec(given) ?? [];
  if (scheme === "unix") return { target: given, host: given, port: undefined };
  let prefix = "";
  let address = given;
  if (["dns", "ipv4", "ipv6"].includes(scheme) && !/^\d+$/.test(rest)) {
    const cut = rest.lastIndexOf("/") + 1;
    prefix = `${scheme}:${rest.slice(0, cut)}`;
    address = rest.slice(cut);
  } else if (given.includes("//")) {
    throw new TypeError(`target ${JSON.stringify(given)} must be host:port, without a scheme such as https://`);
  }
  const found = /^(?:\[([^[\]]+)\]|([^:[\]/]+))(?::(\d{1,5}))?$/.exec(address);
  const host = found?.[1] ?? found?.[2];
  const port = Number(found?.[3] ?? DEFAULT_PORT);
  if (host === undefined || port > 65_535) {
    throw new TypeError(
      `target ${JSON.stringify(address)} must be host:port, for example 127.0.0.1:7443 or [::1]:7443`,
    );
  }
  return { target: `${prefix}${host.includes(":") ? `[${host}]` : host}:${port}`, host, port };
}

/** Whether the host is this machine for certain. */
export function isLoopback(host: string): boolean {
  if (host === "localhost" || host.startsWith("unix:") || host === "::1") return true;
  return isIP(host) === 4 && host.startsWith("127.");
}
