//! Where the service is.

use std::net::IpAddr;

use crate::settings::ConfigError;

pub(crate) const DEFAULT_PORT: u16 = 7443;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Without brackets; the path of a Unix socket with `unix:`.
    pub(crate) host: String,
    /// `None` for a Unix socket.
    pub(crate) port: Option<u16>,
}

impl Target {
    pub(crate) fn parse(text: &str) -> Result<Self, ConfigError> {
        let wrong = || {
            ConfigError::new(format!("target {text:?} must be host:port, for example 127.0.0.1:7443 or [::1]:7443"))
        };
        if text.starts_with("unix:") {
            return Ok(Self { host: text.to_owned(), port: None });
        }
        let address = match text.split_once(':') {
            Some(("dns" | "ipv4" | "ipv6", rest)) => rest.rsplit('/').next().unwrap_or_default(),
            _ if text.contains("//") => {
                return Err(ConfigError::new(format!(
                    "target {text:?} must be host:port, without a scheme such as https://"
                )));
            }
            _ => text,
        };
        let (host, port) = if let Some(rest) = address.strip_prefix('[') {
            let (host, rest) = rest.split_once(']').ok_or_else(wrong)?;
            (host, if rest.is_empty() { None } else { Some(rest.strip_prefix(':').ok_or_else(wrong)?) })
        } else {
            match address.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (address, None),
            }
        };
        if host.is_empty() || host.contains(['/', '[', ']', '@', '?', '#', ' ']) {
            return Err(wrong());
        }
        let port = match port {
            None => DEFAULT_PORT,
            Some(digits) if digits.len() <= 5 && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().map_err(|_| wrong())?
            }
            Some(_) => return Err(wrong()),
        };
        Ok(Self { host: host.to_owned(), port: Some(port) })
    }

    /// As the transport takes it.
    pub(crate) fn uri(&self, encrypted: bool) -> String {
        let scheme = if encrypted { "https" } else { "http" };
        match self.port {
            None => self.host.clone(),
            Some(port) if self.host.contains(':') => format!("{scheme}://[{}]:{port}", self.host),
            Some(port) => format!("{scheme}://{}:{port}", self.host),
        }
    }

    /// Whether the host is this machine for certain.
    pub(crate) fn is_loopback(&self) -> bool {
        self.port.is_none()
            || self.host == "localhost"
            || self.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (String, Option<u16>) {
        let target = Target::parse(text).unwrap();
        (target.host, target.port)
    }

    #[test]
    fn hosts_and_ports() {
        assert_eq!(parsed("memory.example:1234"), ("memory.example".into(), Some(1234)));
        assert_eq!(parsed("memory.example"), ("memory.example".into(), Some(DEFAULT_PORT)));
        assert_eq!(parsed("[::1]:1"), ("::1".into(), Some(1)));
        assert_eq!(parsed("[::1]"), ("::1".into(), Some(DEFAULT_PORT)));
        assert_eq!(parsed("dns:///memory.example:5"), ("memory.example".into(), Some(5)));
        assert_eq!(parsed("unix:/run/muniment"), ("unix:/run/muniment".into(), None));
    }

    #[test]
    fn what_is_no_target() {
        for text in ["https://memory.example", "a:b", "a:99999", "::1", "", "[::1", "a b:1", "a:", "user@host:1"] {
            assert!(Target::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn loopback_is_certain() {
        for text in ["127.0.0.1:1", "127.3.2.1", "[::1]", "localhost", "unix:/x"] {
            assert!(Target::parse(text).unwrap().is_loopback(), "{text}");
        }
        for text in ["10.0.0.1", "localhost.example", "[::2]"] {
            assert!(!Target::parse(text).unwrap().is_loopback(), "{text}");
        }
    }

    #[test]
    fn uris() {
        assert_eq!(Target::parse("[::1]:5").unwrap().uri(true), "https://[::1]:5");
        assert_eq!(Target::parse("a:5").unwrap().uri(false), "http://a:5");
    }
}
