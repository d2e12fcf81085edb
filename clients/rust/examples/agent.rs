//! One turn of an agent: `cargo run --example agent`, with what `muniment serve` prints in the environment.

use muniment::v1::{
    EraseRequest, ErasureReason, ErasureTarget, GetRecallRequest, MemoryKind, RecallRequest, ScopeTarget, SourceType,
    SupersedeRequest, erasure_target::Target,
};
use muniment::{BoxError, Client, fact, item, subject, write};

/// Your model goes here.
async fn ask_the_model(prompt: &str) -> Result<String, BoxError> {
    Ok(format!("(an answer to {} characters)", prompt.len()))
}

async fn run() -> Result<(), BoxError> {
    let client = Client::builder().client_name("example/1.0").build()?;

    // Write: one statement or several, all or none.
    let mut tea = item(MemoryKind::Preference, "Ada drinks green tea, never coffee.");
    tea.provenance.get_or_insert_default().source_type = SourceType::UserStated.into();
    let mut home = fact("Ada lives in Lyon.");
    home.slot = "home_city".into();
    let written = client.write(write(subject("ada"), [tea, home])).await?;

    // Recall into a prompt: what is relevant, packed into at most 500 tokens.
    let recalled = client
        .recall(RecallRequest {
            scope: Some(subject("ada")),
            query: "What can I offer Ada to drink?".into(),
            token_budget: Some(500),
            ..RecallRequest::default()
        })
        .await?;
    for each in &recalled.memories {
        let memory = each.memory.as_ref().expect("every answer has it");
        println!("{:.2}  {}  {}", each.score, memory.memory_id, memory.content);
    }

    // The model call: its span says which memories entered the prompt, and so does the audit trail.
    let prompt = format!("{}\n\nOffer Ada a drink.", recalled.context().unwrap_or_default());
    let (answer, not_reported) =
        client.model_call(&[&recalled]).model("some-model").run(ask_the_model(&prompt)).await?;
    println!("{answer} {}", not_reported.map(|error| error.to_string()).unwrap_or_default());

    // Correct: the old memory stays as history and is not recalled any more.
    let old = written.results[0].memory.as_ref().map(|memory| memory.memory_id.clone()).unwrap_or_default();
    let mut black = item(MemoryKind::Preference, "Ada drinks black tea.");
    // With less trust than the old one has, it would wait for review.
    black.provenance.get_or_insert_default().source_type = SourceType::UserConfirmed.into();
    let corrected =
        client.supersede(SupersedeRequest { memory_id: old, item: Some(black), ..Default::default() }).await?;
    println!("{:?}", corrected.outcome());

    // Prove: what was offered, in which revision, and what was used.
    let receipt = client.get_recall(GetRecallRequest { recall_id: recalled.recall_id.clone() }).await?;
    println!("{} use(s)", receipt.receipt.unwrap_or_default().uses.len());

    // Erase everything about her, keys included.
    let everything = Target::Scope(ScopeTarget { scope: Some(subject("ada")) });
    let erased = client
        .erase(EraseRequest {
            target: Some(ErasureTarget { target: Some(everything) }),
            reason: ErasureReason::SubjectRequest.into(),
            ..EraseRequest::default()
        })
        .await?
        .receipt
        .unwrap_or_default();
    println!("{:?}, {} key(s) destroyed", erased.state(), erased.keys_destroyed);

    client.close().await;
    Ok(())
}

fn main() -> Result<(), BoxError> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(run())
}
