//! The client against the service as its own process, with its own database.
//!
//! The service is the one of this repository; MUNIMENT_SERVER names another program. Where there is none, for example
//! in the package alone, the test does nothing.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use muniment::v1::*;
use muniment::{Client, Code, Tls, fact, item, property, subject, write};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

struct Server {
    process: Child,
    _output: Lines<BufReader<ChildStdout>>,
    home: PathBuf,
    target: String,
    key: String,
    /// A certificate and its key, which the server shows and wants to see; `None` where openssl is not there.
    identity: Option<(Vec<u8>, Vec<u8>)>,
}

/// A certificate made for the occasion, as PEM files in a folder.
async fn certificate(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    let (certificate, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=memory.example", "-addext", "subjectAltName=DNS:memory.example"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-out")
        .arg(&certificate)
        .arg("-keyout")
        .arg(&key)
        .stderr(Stdio::null())
        .status()
        .await;
    made.is_ok_and(|status| status.success()).then_some((certificate, key))
}

impl Server {
    async fn start(program: &Path) -> Self {
        // Short, because a Unix socket lies in it.
        let home = std::env::temp_dir().join(format!("mr{}", std::process::id()));
        std::fs::create_dir_all(&home).expect("a folder");
        let files = certificate(&home).await;
        let mut command = Command::new(program);
        if let Some((certificate, key)) = &files {
            command
                .env("MUNIMENT_TLS_CERT_FILE", certificate)
                .env("MUNIMENT_TLS_KEY_FILE", key)
                .env("MUNIMENT_TLS_CLIENT_CA_FILE", certificate);
        }
        let mut process = command
            .args(["serve", "--listen", "127.0.0.1:0"])
            .env("MUNIMENT_HOME", home.join("h"))
            .env("MUNIMENT_DRAIN_DELAY", "0")
            .env("PYTHONUNBUFFERED", "1")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the service starts");
        let mut output = BufReader::new(process.stdout.take().expect("output")).lines();
        let mut target = String::new();
        while target.is_empty() {
            let line = output.next_line().await.expect("output").expect("the service says where it serves");
            if let Some((_, rest)) = line.split_once("serves on ") {
                target = rest.split(' ').next().unwrap_or_default().to_owned();
            }
        }
        let key = std::fs::read_to_string(home.join("h/dev-key")).expect("a key").trim().to_owned();
        let read = |path| std::fs::read(path).expect("a PEM file");
        let identity = files.map(|(certificate, key)| (read(certificate), read(key)));
        Self { process, _output: output, home, target, key, identity }
    }

    async fn stop(mut self) {
        let id = self.process.id().expect("it runs").to_string();
        let _ = Command::new("kill").args(["-TERM", &id]).status().await;
        let _ = self.process.wait().await;
        let _ = std::fs::remove_dir_all(&self.home);
    }
}

#[tokio::test]
async fn one_turn_of_an_agent() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/muniment");
    let program = std::env::var_os("MUNIMENT_SERVER").map_or(own, PathBuf::from);
    if !program.exists() {
        assert!(std::env::var_os("CI").is_none(), "no service to test against");
        println!("skipped: no service at {}", program.display());
        return;
    }
    let server = Server::start(&program).await;
    let mut builder = Client::builder().target(&server.target).tenant("dev").api_key(&server.key);
    if let Some((certificate, key)) = &server.identity {
        let trusting = Tls::new().root_certificates(certificate.clone()).server_name("memory.example");
        refused(&server, trusting.clone()).await;
        refused(&server, Tls::new().identity(certificate.clone(), key.clone()).server_name("memory.example")).await;
        builder = builder.tls(trusting.identity(certificate.clone(), key.clone()));
    }
    let outcome = tokio::spawn(turn(builder.build().unwrap())).await;
    server.stop().await;
    outcome.unwrap();
}

/// Without a certificate of its own, or for a server whose authority it does not know, a client gets nowhere.
async fn refused(server: &Server, tls: Tls) {
    let builder = Client::builder().target(&server.target).tenant("dev").api_key(&server.key).tls(tls);
    let client = builder.build().unwrap();
    let error = client.get_memory(GetMemoryRequest::default()).await.unwrap_err();
    assert!(matches!(error.code(), Code::Unavailable), "{error:?}");
}

async fn turn(client: Client) {
    // How long calls take is not the question on a machine that is busy with tests.
    let client = client.with_timeout(Duration::from_secs(30));
    let mut tea = item(MemoryKind::Preference, "Ada drinks green tea, never coffee. 🍵");
    tea.properties = [("cups".to_owned(), property(3.0))].into();
    let written = client.write(write(subject("ada"), [tea, fact("Ada lives in Lyon.")])).await.unwrap();
    assert_eq!(written.results.len(), 2);
    assert_eq!(written.results[0].outcome(), WriteOutcome::Created);
    let memory_id = written.results[0].memory.as_ref().unwrap().memory_id.clone();

    // The same request id with another payload.
    let mut other = write(subject("ada"), [fact("Ada lives in Paris.")]);
    other.request_id = written.request_id.clone();
    let error = client.write(other).await.unwrap_err();
    assert_eq!((error.code(), error.reason()), (Code::AlreadyExists, "REQUEST_ID_PAYLOAD_MISMATCH"));

    let request = RecallRequest {
        scope: Some(subject("ada")),
        query: "What can I offer Ada to drink?".into(),
        token_budget: Some(500),
        ..RecallRequest::default()
    };
    let recalled = client.recall(request.clone()).await.unwrap();
    assert!(recalled.context().unwrap().contains("🍵"));
    let (_, not_reported) = client.model_call(&[&recalled]).model("m").run(async { Ok::<_, ()>(()) }).await.unwrap();
    assert!(not_reported.is_none(), "{not_reported:?}");
    let receipt = client.get_recall(GetRecallRequest { recall_id: recalled.recall_id.clone() }).await.unwrap();
    assert_eq!(receipt.receipt.unwrap().uses.len(), 1);

    let invalid = client.recall(RecallRequest { limit: Some(0), ..request }).await.unwrap_err();
    assert_eq!(invalid.field_violations()[0].field, "limit");

    let replaced = client
        .supersede(SupersedeRequest {
            memory_id: memory_id.clone(),
            item: Some(item(MemoryKind::Preference, "Ada drinks black tea.")),
            ..SupersedeRequest::default()
        })
        .await
        .unwrap();
    assert!(replaced.memory.is_some());
    let stale = client
        .supersede(SupersedeRequest { memory_id, item: Some(fact("x")), ..SupersedeRequest::default() })
        .await
        .unwrap_err();
    assert_eq!(stale.known_reason(), Some(ErrorReason::MemorySuperseded));

    let listed =
        client.list_memories(ListMemoriesRequest { scope: Some(subject("ada")), page_size: 1, ..Default::default() });
    assert_eq!(listed.all().await.unwrap().len(), 2);
    let events = client.audit(AuditRequest { page_size: 2, ..AuditRequest::default() }).all().await.unwrap();
    assert!(events.len() > 4);
    let mut export = client.export_audit(ExportAuditRequest::default()).await.unwrap();
    let mut parts = 0;
    while let Some(part) = export.next().await {
        part.unwrap();
        parts += 1;
    }
    assert!(parts >= 3);

    let target = erasure_target::Target::Scope(ScopeTarget { scope: Some(subject("ada")) });
    let erased = client
        .erase(EraseRequest {
            target: Some(ErasureTarget { target: Some(target) }),
            reason: ErasureReason::SubjectRequest.into(),
            ..EraseRequest::default()
        })
        .await
        .unwrap();
    assert_eq!(erased.receipt.unwrap().state(), ErasureState::Complete);
    client.close().await;
}
