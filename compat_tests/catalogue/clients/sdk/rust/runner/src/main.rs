//! Runs programs with Apache's Rust client of 5.x: a line `Program?query` of standard input is one request, answered with
//! JSON lines on standard output; an object whose event is "done" ends the answer. The end of standard input ends it.
//! ../../java/sources/common says what each program does.

mod consumers;
mod out;
mod producers;
mod request;

use std::io::BufRead;

use consumers::Consumers;
use request::Request;

#[tokio::main]
async fn main() {
    out::print(serde_json::json!({"event": "ready"}));
    let mut consumers = Consumers::default();
    for line in std::io::stdin().lock().lines() {
        let request = Request::parse(&line.expect("text"));
        if let Err(problem) = serve(&request, &mut consumers).await {
            out::failure("crashed", &problem);
        }
        out::print(serde_json::json!({"event": "done"}));
    }
    std::process::exit(0); // the client's tasks must not keep it
}

async fn serve(request: &Request, consumers: &mut Consumers) -> Result<(), String> {
    match request.name.as_str() {
        "Publish" => producers::publish(request).await,
        "PublishBatch" => producers::publish_batch(request).await,
        "PublishInTransaction" => producers::publish_in_transaction(request).await,
        "OpenSimple" => consumers.open_simple(request).await,
        "Receive" => consumers.receive(request).await,
        "Ack" => consumers.ack(request).await,
        "Close" => consumers.close(request).await,
        other => Err(format!("the client offers no program {other}")),
    }
}
