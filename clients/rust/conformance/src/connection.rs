//! One client of the driver, and beside it a bare channel with the same metadata.

use std::time::Duration;

use muniment::{Client, Tls};
use serde_json::Value;
use tonic::metadata::{AsciiMetadataKey, AsciiMetadataValue, MetadataMap};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use crate::failure::Failure;

#[derive(Clone)]
pub struct Connection {
    pub client: Client,
    pub channel: Channel,
    metadata: MetadataMap,
    overrides: Vec<(AsciiMetadataKey, Option<AsciiMetadataValue>)>,
}

fn read(path: &Value) -> Result<Option<Vec<u8>>, Failure> {
    match path.as_str() {
        None => Ok(None),
        Some(path) => std::fs::read(path).map(Some).map_err(|error| Failure::driver(format!("{path}: {error}"))),
    }
}

fn overrides(request: &Value) -> Result<Vec<(AsciiMetadataKey, Option<AsciiMetadataValue>)>, Failure> {
    let pairs = request["metadata_override"].as_array().cloned().unwrap_or_default();
    pairs
        .iter()
        .map(|pair| {
            let key = AsciiMetadataKey::from_bytes(pair[0].as_str().unwrap_or_default().as_bytes())
                .map_err(|error| Failure::driver(error.to_string()))?;
            let value = pair[1]
                .as_str()
                .map(|text| AsciiMetadataValue::try_from(text.as_bytes()))
                .transpose()
                .map_err(|error| Failure::local(error.to_string()))?;
            Ok((key, value))
        })
        .collect()
}

fn change(metadata: &mut MetadataMap, overrides: &[(AsciiMetadataKey, Option<AsciiMetadataValue>)]) {
    for (key, _) in overrides {
        metadata.remove(key);
    }
    for (key, value) in overrides {
        if let Some(value) = value {
            metadata.append(key.clone(), value.clone());
        }
    }
}

impl Connection {
    pub fn open(request: &Value) -> Result<Self, Failure> {
        let text = |field: &str| request[field].as_str().unwrap_or_default().to_owned();
        let changes = overrides(request)?;
        let tls = &request["tls"];
        let (roots, certificate, key) = (read(&tls["ca"])?, read(&tls["certificate"])?, read(&tls["key"])?);
        let mut builder = Client::builder()
            .target(text("target"))
            .tenant(text("tenant"))
            .api_key(text("api_key"))
            .insecure(request["insecure"].as_bool().unwrap_or_default())
            .read_your_writes(request["consistency"].as_str() != Some("none"));
        if !changes.is_empty() {
            let changes = changes.clone();
            builder = builder.interceptor(move |metadata| change(metadata, &changes));
        }
        let scheme = if tls.is_null() { "http" } else { "https" };
        let mut endpoint = Endpoint::from_shared(format!("{scheme}://{}", text("target")))
            .map_err(|error| Failure::driver(error.to_string()))?
            .tcp_nodelay(true);
        if !tls.is_null() {
            let (mut wanted, mut config) = (Tls::new(), ClientTlsConfig::new());
            if let Some(pem) = roots {
                wanted = wanted.root_certificates(pem.clone());
                config = config.ca_certificate(Certificate::from_pem(pem));
            }
            if let (Some(certificate), Some(key)) = (certificate, key) {
                wanted = wanted.identity(certificate.clone(), key.clone());
                config = config.identity(Identity::from_pem(certificate, key));
            }
            if let Some(name) = tls["server_name"].as_str() {
                wanted = wanted.server_name(name);
                config = config.domain_name(name);
            }
            builder = builder.tls(wanted);
            endpoint = endpoint.tls_config(config).map_err(|error| Failure::driver(error.to_string()))?;
        }
        let client = builder.build()?;
        let mut metadata = MetadataMap::new();
        for (key, value) in
            [("authorization", format!("Bearer {}", text("api_key"))), ("muniment-tenant", text("tenant"))]
        {
            if let Ok(value) = AsciiMetadataValue::try_from(value) {
                metadata.insert(key, value);
            }
        }
        Ok(Self { client, channel: endpoint.connect_lazy(), metadata, overrides: changes })
    }

    /// A request for the bare channel.
    pub fn raw<T>(&self, message: T, timeout: Option<Duration>) -> tonic::Request<T> {
        let mut request = tonic::Request::new(message);
        *request.metadata_mut() = self.metadata.clone();
        change(request.metadata_mut(), &self.overrides);
        if let Some(timeout) = timeout {
            request.set_timeout(timeout);
        }
        request
    }
}
