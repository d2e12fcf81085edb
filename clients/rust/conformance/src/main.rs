//! Driver of the Rust client for the conformance vectors: see tests/vectors/PROTOCOL.md.

mod calls;
mod connection;
mod failure;
mod json;
mod spans;

use std::collections::HashMap;
use std::time::Duration;

use opentelemetry::Context;
use opentelemetry::trace::{FutureExt, TraceContextExt};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, stdin, stdout};
use tokio::sync::mpsc;

use connection::Connection;
use failure::Failure;

/// What an operation answers beside `id` and `ok`.
type Answer = Result<Value, Failure>;

async fn carry_out(op: &str, to: Option<Connection>, request: &Value) -> Answer {
    let connection = || to.as_ref().ok_or_else(|| Failure::driver("not connected"));
    let parent = spans::parent(request["trace_parent"].as_str());
    let answer = match op {
        "call" => {
            let call = calls::call(connection()?, request).with_context(parent);
            match request["cancel_after_ms"].as_u64() {
                None => call.await?,
                Some(wait) => tokio::time::timeout(Duration::from_millis(wait), call)
                    .await
                    .unwrap_or_else(|_| Err(Failure::cancelled()))?,
            }
        }
        "model_call" => {
            let chat: Context = spans::chat(&parent);
            let answer = calls::model_call(&connection()?.client, request).with_context(chat.clone()).await;
            chat.span().end();
            answer?
        }
        "token" => json!({"token": connection()?.client.consistency_token().map(|token| token.token)}),
        "spans" => spans::take(),
        "bench" => calls::bench(connection()?, request).await?,
        "echo" => {
            let (message, binary) = json::echo(request)?;
            return Ok(json!({"response": message, "binary_base64": binary}));
        }
        "hello" => {
            return Ok(json!({"language": "rust", "version": env!("CARGO_PKG_VERSION"), "protocol": 1}));
        }
        _ => return Err(Failure::driver(format!("no operation {op}"))),
    };
    Ok(json!({"response": answer}))
}

fn line(id: &Value, answer: Answer) -> String {
    let mut shown = match answer {
        Ok(fields) => fields,
        Err(Failure(error)) => json!({"error": error, "ok": false}),
    };
    if shown.get("ok").is_none() {
        shown["ok"] = json!(true);
    }
    shown["id"] = id.clone();
    format!("{shown}\n")
}

async fn write(mut answers: mpsc::UnboundedReceiver<String>) {
    let mut out = stdout();
    while let Some(answer) = answers.recv().await {
        if out.write_all(answer.as_bytes()).await.is_err() || out.flush().await.is_err() {
            return;
        }
    }
}

async fn run() {
    let (answers, waiting) = mpsc::unbounded_channel();
    let writer = tokio::spawn(write(waiting));
    let mut connections: HashMap<String, Connection> = HashMap::new();
    let mut lines = BufReader::new(stdin()).lines();
    while let Ok(Some(text)) = lines.next_line().await {
        let request: Value = match serde_json::from_str(&text) {
            Ok(request) => request,
            Err(error) => {
                // Half a surrogate pair, for one, is no text in this language; its id can still be read.
                let _ = answers.send(line(&id_of(&text), Err(Failure::local(error.to_string()))));
                continue;
            }
        };
        let id = request["id"].clone();
        let op = request["op"].as_str().unwrap_or_default().to_owned();
        let name = request["client"].as_str().unwrap_or("main").to_owned();
        match op.as_str() {
            "connect" => {
                if request["trace"].as_bool().unwrap_or_default() {
                    spans::record();
                }
                if let Some(old) = connections.remove(&name) {
                    old.client.close().await;
                }
                let opened = Connection::open(&request).map(|connection| connections.insert(name, connection));
                let _ = answers.send(line(&id, opened.map(|_| json!({}))));
            }
            "close" => {
                for connection in connections.values() {
                    connection.client.close().await;
                }
                let _ = answers.send(line(&id, Ok(json!({}))));
                break;
            }
            _ => {
                let (to, answers) = (connections.get(&name).cloned(), answers.clone());
                tokio::spawn(async move {
                    let answer = carry_out(&op, to, &request).await;
                    let _ = answers.send(line(&id, answer));
                });
            }
        }
    }
    drop(answers);
    let _ = tokio::time::timeout(Duration::from_secs(5), writer).await;
}

fn id_of(text: &str) -> Value {
    let digits = text.split_once("\"id\":").map_or("", |(_, rest)| rest.trim_start());
    let end = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse::<u64>().map_or(Value::Null, |id| json!(id))
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    match runtime {
        Ok(runtime) => runtime.block_on(run()),
        Err(error) => eprintln!("no runtime: {error}"),
    }
    // The reader of stdin is a thread that cannot be ended.
    std::process::exit(0);
}
