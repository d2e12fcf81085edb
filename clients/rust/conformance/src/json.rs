//! Messages as proto JSON, by the descriptors of the contract.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, SerializeOptions};
use serde_json::Value;

use crate::failure::Failure;

static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
    let text: String = include_str!("../../src/gen/descriptors.b64").split_whitespace().collect();
    let bytes = STANDARD.decode(text).expect("generated as base64");
    DescriptorPool::decode(bytes.as_slice()).expect("generated as descriptors")
});

pub fn descriptor(full_name: &str) -> Result<MessageDescriptor, Failure> {
    POOL.get_message_by_name(full_name).ok_or_else(|| Failure::driver(format!("no message {full_name}")))
}

pub fn dynamic(full_name: &str, json: &Value) -> Result<DynamicMessage, Failure> {
    DynamicMessage::deserialize(descriptor(full_name)?, json).map_err(|error| Failure::local(error.to_string()))
}

pub fn json(message: &DynamicMessage) -> Result<Value, Failure> {
    let options = SerializeOptions::new();
    message
        .serialize_with_options(serde_json::value::Serializer, &options)
        .map_err(|error| Failure::driver(error.to_string()))
}

/// From proto JSON to the type of the client. `name`: without the package.
pub fn parse<M: Message + Default>(name: &str, value: &Value) -> Result<M, Failure> {
    let message = dynamic(&format!("muniment.v1.{name}"), value)?;
    M::decode(message.encode_to_vec().as_slice()).map_err(|error| Failure::driver(error.to_string()))
}

/// From the type of the client to proto JSON. `name`: without the package.
pub fn show<M: Message>(name: &str, message: &M) -> Result<Value, Failure> {
    let descriptor = descriptor(&format!("muniment.v1.{name}"))?;
    let message = DynamicMessage::decode(descriptor, message.encode_to_vec().as_slice())
        .map_err(|error| Failure::driver(error.to_string()))?;
    json(&message)
}

/// What `echo` answers beside `ok`.
pub fn echo(request: &Value) -> Result<(Value, String), Failure> {
    let name = request["message_type"].as_str().unwrap_or_default();
    let message = match request["binary_base64"].as_str() {
        Some(text) => {
            let bytes = STANDARD.decode(text).map_err(|error| Failure::driver(error.to_string()))?;
            DynamicMessage::decode(descriptor(name)?, bytes.as_slice())
                .map_err(|error| Failure::local(error.to_string()))?
        }
        None => dynamic(name, &request["json"])?,
    };
    Ok((json(&message)?, STANDARD.encode(message.encode_to_vec())))
}
