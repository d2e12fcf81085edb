//! How to encrypt.

use std::fmt;

#[cfg(feature = "tls")]
use tonic::transport::Endpoint;

/// How to encrypt. Certificates and keys are PEM text.
#[derive(Clone, Default)]
pub struct Tls {
    roots: Option<Vec<u8>>,
    identity: Option<(Vec<u8>, Vec<u8>)>,
    server_name: Option<String>,
}

impl Tls {
    /// With the authorities of the system.
    pub fn new() -> Self {
        Self::default()
    }

    /// Authorities that may have signed the server's certificate, instead of those of the system.
    #[must_use]
    pub fn root_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.roots = Some(pem.into());
        self
    }

    /// The client's own certificate chain and its key, for mutual TLS.
    #[must_use]
    pub fn identity(mut self, certificate: impl Into<Vec<u8>>, private_key: impl Into<Vec<u8>>) -> Self {
        self.identity = Some((certificate.into(), private_key.into()));
        self
    }

    /// The name that the server's certificate must bear, if it is not the host of the target.
    #[must_use]
    pub fn server_name(mut self, name: impl Into<String>) -> Self {
        self.server_name = Some(name.into());
        self
    }

    #[cfg(feature = "tls")]
    pub(crate) fn apply(&self, endpoint: Endpoint) -> Result<Endpoint, tonic::transport::Error> {
        use tonic::transport::{Certificate, ClientTlsConfig, Identity};

        let mut config = ClientTlsConfig::new();
        config = match &self.roots {
            Some(pem) => config.ca_certificate(Certificate::from_pem(pem)),
            None => config.with_native_roots(),
        };
        if let Some((certificate, key)) = &self.identity {
            config = config.identity(Identity::from_pem(certificate, key));
        }
        if let Some(name) = &self.server_name {
            config = config.domain_name(name);
        }
        endpoint.tls_config(config)
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Tls")
            .field("own_roots", &self.roots.is_some())
            .field("client_certificate", &self.identity.is_some())
            .field("server_name", &self.server_name)
            .finish()
    }
}
