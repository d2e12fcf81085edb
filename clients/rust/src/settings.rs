//! How to reach the service and as whom, checked and completed.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tonic::metadata::{AsciiMetadataValue, MetadataMap};
use tonic::transport::{Channel, Endpoint};

use crate::client::Client;
use crate::target::{DEFAULT_PORT, Target};
use crate::tls::Tls;
use crate::{BoxError, Error};

pub(crate) const CLIENT_NAME: &str = concat!("muniment-rust/", env!("CARGO_PKG_VERSION"));

const KEEPALIVE: Duration = Duration::from_secs(60);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(20);

/// Settings that cannot be used. It never names a credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(String);

impl ConfigError {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

/// The time that a call may take, retries included, unless the client was narrowed by [`Client::with_timeout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deadlines {
    /// For a recall: 2 s.
    pub recall: Duration,
    /// For a write: 5 s.
    pub write: Duration,
    /// For a supersede, a restore, a retract, an undo and the decision of a review: 5 s.
    pub supersede: Duration,
    /// For an erasure and a change of consent: 30 s.
    pub erase: Duration,
    /// For an ingest and an import: 30 s.
    pub ingest: Duration,
    /// For a whole export, and for a whole streamed ingest: 600 s.
    pub export: Duration,
    /// For everything else: 5 s.
    pub other: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            recall: Duration::from_secs(2),
            write: Duration::from_secs(5),
            supersede: Duration::from_secs(5),
            erase: Duration::from_secs(30),
            ingest: Duration::from_secs(30),
            export: Duration::from_secs(600),
            other: Duration::from_secs(5),
        }
    }
}

type Secret = Pin<Box<dyn Future<Output = Result<String, BoxError>> + Send>>;
type TokenSource = Arc<dyn Fn() -> Secret + Send + Sync>;
type Interceptor = Arc<dyn Fn(&mut MetadataMap) + Send + Sync>;

#[derive(Clone)]
enum Credential {
    Key(AsciiMetadataValue),
    Source(TokenSource),
}

/// Everything about a connection.
pub(crate) struct Settings {
    pub(crate) target: Target,
    pub(crate) tenant: String,
    pub(crate) deadlines: Deadlines,
    pub(crate) read_your_writes: bool,
    endpoint: Endpoint,
    tenant_value: AsciiMetadataValue,
    client_value: AsciiMetadataValue,
    credential: Credential,
    interceptor: Option<Interceptor>,
}

impl Settings {
    /// A channel, not connected yet. Needs a runtime.
    pub(crate) fn channel(&self) -> Channel {
        self.endpoint.connect_lazy()
    }

    /// Metadata of one call.
    pub(crate) async fn metadata(&self) -> Result<MetadataMap, Error> {
        let authorization = match &self.credential {
            Credential::Key(value) => value.clone(),
            Credential::Source(source) => {
                let secret = source().await.map_err(Error::credential)?;
                authorization(&secret).map_err(|error| Error::credential(error.into()))?
            }
        };
        let mut metadata = MetadataMap::with_capacity(8);
        metadata.insert("authorization", authorization);
        metadata.insert("muniment-tenant", self.tenant_value.clone());
        metadata.insert("muniment-client", self.client_value.clone());
        Ok(metadata)
    }

    /// Lets the program's own interceptor see what will be sent.
    pub(crate) fn intercept(&self, metadata: &mut MetadataMap) {
        if let Some(interceptor) = &self.interceptor {
            interceptor(metadata);
        }
    }
}

fn authorization(secret: &str) -> Result<AsciiMetadataValue, ConfigError> {
    let wrong = || ConfigError::new("the credential must be printable ASCII text without spaces");
    if secret.is_empty() || !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(wrong());
    }
    let mut value = AsciiMetadataValue::try_from(format!("Bearer {secret}")).map_err(|_| wrong())?;
    // So that no debug output of the transport shows it.
    value.set_sensitive(true);
    Ok(value)
}

/// Says how to reach the service and as whom; made by [`Client::builder`].
///
/// What is not set comes from the environment: `MUNIMENT_TARGET` (or else 127.0.0.1:7443), `MUNIMENT_TENANT`,
/// `MUNIMENT_API_KEY`.
#[derive(Default)]
pub struct ClientBuilder {
    target: Option<String>,
    tenant: Option<String>,
    api_key: Option<String>,
    token_source: Option<TokenSource>,
    tls: Option<Tls>,
    insecure: bool,
    deadlines: Deadlines,
    client_name: Option<String>,
    without_token: bool,
    interceptor: Option<Interceptor>,
}

impl ClientBuilder {
    /// `host:port`, or `unix:/path`. A name is resolved at connecting; the first address that answers is used.
    #[must_use]
    pub fn target(mut self, target: impl Into<String>) -> Self {
        self.target = Some(target.into());
        self
    }

    /// The tenant's name.
    #[must_use]
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }

    /// The credential.
    #[must_use]
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.api_key = Some(key.into());
        self
    }

    /// Instead of an API key: returns the credential (a JWT or an API key) for the next call. It is called for
    /// every call: cache what is costly.
    #[must_use]
    pub fn token_source<F, Fut, E>(mut self, source: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, E>> + Send + 'static,
        E: Into<BoxError>,
    {
        self.token_source = Some(Arc::new(move || {
            let secret = source();
            Box::pin(async move { secret.await.map_err(Into::into) })
        }));
        self
    }

    /// How to encrypt. Not set: not at all to loopback, elsewhere with the authorities of the system.
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Allows plaintext to elsewhere than loopback; then everybody on the way can read the key and the memories.
    #[must_use]
    pub fn insecure(mut self, insecure: bool) -> Self {
        self.insecure = insecure;
        self
    }

    /// The time that calls may take.
    #[must_use]
    pub fn deadlines(mut self, deadlines: Deadlines) -> Self {
        self.deadlines = deadlines;
        self
    }

    /// Name and version of your program for the audit trail, for example `support-bot/2.1`.
    #[must_use]
    pub fn client_name(mut self, name: impl Into<String>) -> Self {
        self.client_name = Some(name.into());
        self
    }

    /// Whether recalls wait until they can find this client's own writes by meaning, too. Default: true.
    #[must_use]
    pub fn read_your_writes(mut self, wait: bool) -> Self {
        self.without_token = !wait;
        self
    }

    /// Sees and may change the metadata of every call before it is sent, for example what a proxy wants. The
    /// metadata holds the credential.
    #[must_use]
    pub fn interceptor(mut self, interceptor: impl Fn(&mut MetadataMap) + Send + Sync + 'static) -> Self {
        self.interceptor = Some(Arc::new(interceptor));
        self
    }

    /// The client. Nothing is sent yet; the first call connects.
    ///
    /// # Errors
    ///
    /// When the settings cannot be used.
    pub fn build(self) -> Result<Client, ConfigError> {
        Ok(Client::new(self.settings(|name| std::env::var(name).ok())?))
    }

    pub(crate) fn settings(self, environment: impl Fn(&str) -> Option<String>) -> Result<Settings, ConfigError> {
        let setting = |given: Option<String>, variable: &str| {
            given.or_else(|| environment(variable)).filter(|value| !value.is_empty())
        };
        let target = setting(self.target, "MUNIMENT_TARGET").unwrap_or_else(|| format!("127.0.0.1:{DEFAULT_PORT}"));
        let target = Target::parse(&target)?;
        let tenant = setting(self.tenant, "MUNIMENT_TENANT")
            .ok_or_else(|| ConfigError::new("no tenant: set tenant(...), or MUNIMENT_TENANT"))?;
        if !is_tenant(&tenant) {
            return Err(ConfigError::new(format!(
                "tenant {tenant:?} is not of the form [a-z0-9][a-z0-9_.-]{{0,62}}"
            )));
        }
        let tls = match (self.tls, self.insecure) {
            (Some(_), true) => return Err(ConfigError::new("tls and insecure(true) exclude each other")),
            (None, false) if !target.is_loopback() => Some(Tls::new()),
            (tls, _) => tls,
        };
        let credential = match (self.token_source, self.api_key) {
            (Some(_), Some(_)) => return Err(ConfigError::new("api_key and token_source exclude each other")),
            (Some(source), None) => Credential::Source(source),
            (None, key) => {
                let key = setting(key, "MUNIMENT_API_KEY").ok_or_else(|| {
                    ConfigError::new("no credential: set api_key(...) or token_source(...), or MUNIMENT_API_KEY")
                })?;
                Credential::Key(authorization(&key)?)
            }
        };
        let times = self.deadlines;
        let all = [times.recall, times.write, times.supersede, times.erase, times.ingest, times.export, times.other];
        if all.iter().any(Duration::is_zero) {
            return Err(ConfigError::new("a timeout must be above 0"));
        }
        Ok(Settings {
            endpoint: endpoint(&target, tls.as_ref())?,
            tenant_value: ascii(&tenant)?,
            client_value: ascii(&full_client_name(self.client_name.as_deref())?)?,
            target,
            tenant,
            deadlines: self.deadlines,
            read_your_writes: !self.without_token,
            credential,
            interceptor: self.interceptor,
        })
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ClientBuilder")
            .field("target", &self.target)
            .field("tenant", &self.tenant)
            .field("tls", &self.tls)
            .field("insecure", &self.insecure)
            .finish_non_exhaustive()
    }
}

fn endpoint(target: &Target, tls: Option<&Tls>) -> Result<Endpoint, ConfigError> {
    let wrong = |error: tonic::transport::Error| {
        let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        ConfigError::new(format!("cannot be used: {error}: {cause}"))
    };
    let endpoint = Endpoint::from_shared(target.uri(tls.is_some()))
        .and_then(|endpoint| endpoint.user_agent(CLIENT_NAME))
        .map_err(wrong)?
        .tcp_nodelay(true)
        .http2_keep_alive_interval(KEEPALIVE)
        .keep_alive_timeout(KEEPALIVE_TIMEOUT);
    match tls {
        None => Ok(endpoint),
        #[cfg(feature = "tls")]
        Some(tls) => tls.apply(endpoint).map_err(wrong),
        #[cfg(not(feature = "tls"))]
        Some(_) => Err(ConfigError::new("this build of the client has no TLS: switch the feature `tls` on")),
    }
}

fn ascii(text: &str) -> Result<AsciiMetadataValue, ConfigError> {
    AsciiMetadataValue::try_from(text).map_err(|_| ConfigError::new("a setting is not ASCII text"))
}

fn is_tenant(name: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.len() <= 63
        && name.bytes().next().is_some_and(known)
        && name.bytes().all(|byte| known(byte) || b"_.-".contains(&byte))
}

fn full_client_name(name: Option<&str>) -> Result<String, ConfigError> {
    let Some(name) = name else {
        return Ok(CLIENT_NAME.to_owned());
    };
    let full = format!("{name} ({CLIENT_NAME})");
    let fits = full.len() <= 64
        && full.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric())
        && full.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._/+ ()-".contains(&byte));
    if fits {
        return Ok(full);
    }
    Err(ConfigError::new(format!(
        "client_name must be a name and a version like my-agent/1.2, at most {} letters, digits, spaces and ._/+()-",
        64 - CLIENT_NAME.len() - 3
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete() -> ClientBuilder {
        Client::builder().tenant("dev").api_key("mk_dev_5ecret")
    }

    fn refused(builder: ClientBuilder) -> String {
        builder.settings(|_| None).err().expect("refused").to_string()
    }

    #[test]
    fn the_environment_completes() {
        let settings = Client::builder()
            .settings(|name| {
                Some(match name {
                    "MUNIMENT_TARGET" => "localhost:1".into(),
                    "MUNIMENT_TENANT" => "acme".into(),
                    _ => "key".into(),
                })
            })
            .unwrap();
        assert_eq!((settings.target.port, settings.tenant.as_str()), (Some(1), "acme"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(refused(Client::builder()).contains("MUNIMENT_TENANT"));
        assert!(refused(Client::builder().tenant("dev")).contains("MUNIMENT_API_KEY"));
        for tenant in ["Dev", "é", "a b", "-a", &"a".repeat(64)] {
            assert!(refused(complete().tenant(tenant)).contains("tenant"), "{tenant}");
        }
        assert!(refused(complete().client_name("Ü/1")).contains("client_name"));
        assert!(refused(complete().insecure(true).tls(Tls::new())).contains("exclude"));
        assert!(refused(complete().token_source(|| async { Ok::<_, BoxError>("x".into()) })).contains("exclude"));
    }

    #[test]
    fn a_bad_key_is_not_shown() {
        let text = refused(Client::builder().tenant("dev").api_key("5ecret key"));
        assert!(text.contains("credential") && !text.contains("5ecret"));
    }

    #[test]
    fn nothing_shows_the_key() {
        let builder = complete();
        assert!(!format!("{builder:?}").contains("5ecret"));
        let tls = Tls::new().identity("cert", "5ecret");
        assert!(!format!("{tls:?}").contains("5ecret"));
        let client = complete().build().unwrap();
        assert!(!format!("{client:?}").contains("5ecret"));
    }
}
