//! Reads a `CodeGeneratorRequest` from stdin and writes the response to stdout: one file per package, and the
//! descriptors as base64 for the conformance driver, which speaks proto JSON.
//!
//! buf resolves the imports and strips the validation rules; so no protoc is needed, neither here nor by
//! whoever builds the client.

use std::io::{Read, Write};
use std::process::ExitCode;
use std::{fs, io};

use prost::Message;
use prost_types::compiler::code_generator_response::{Feature, File};
use prost_types::compiler::{CodeGeneratorRequest, CodeGeneratorResponse};
use prost_types::{FileDescriptorProto, FileDescriptorSet};

const MARK: &str = "// Generated from proto/ by `make generate`. Do not edit.\n";

fn generate(request: CodeGeneratorRequest) -> io::Result<Vec<File>> {
    let folder = std::env::temp_dir().join(format!("muniment-generator-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let descriptors = descriptors(request.proto_file.clone());
    let mut files = tonic_prost_build::configure()
        .build_server(false)
        // `connect` would not know the metadata, the deadlines and the rest of the layer.
        .build_transport(false)
        .emit_rerun_if_changed(false)
        .out_dir(&folder)
        .compile_fds(FileDescriptorSet { file: request.proto_file })
        .and_then(|()| read(&folder))?;
    fs::remove_dir_all(&folder)?;
    files.push(descriptors);
    Ok(files)
}

/// All files with their imports, without comments and options.
fn descriptors(mut files: Vec<FileDescriptorProto>) -> File {
    for file in &mut files {
        file.source_code_info = None;
    }
    let text = base64(&FileDescriptorSet { file: files }.encode_to_vec());
    let mut content = String::new();
    for line in text.as_bytes().chunks(100) {
        content.push_str(&String::from_utf8_lossy(line));
        content.push('\n');
    }
    File { name: Some("descriptors.b64".into()), content: Some(content), ..File::default() }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().enumerate().fold(0u32, |group, (at, byte)| group | u32::from(*byte) << (16 - 8 * at));
        for place in 0..4 {
            let digit = DIGITS[(group >> (18 - 6 * place) & 63) as usize];
            text.push(if place > chunk.len() { '=' } else { digit.into() });
        }
    }
    text
}

fn read(folder: &std::path::Path) -> io::Result<Vec<File>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // What is not ours comes with prost-types.
        if !name.starts_with("muniment.") {
            continue;
        }
        let text = fs::read_to_string(&path)?;
        files.push(File { name: Some(name), content: Some(format!("{MARK}{text}")), ..File::default() });
    }
    Ok(files)
}

fn run() -> io::Result<()> {
    let mut input = Vec::new();
    io::stdin().read_to_end(&mut input)?;
    let request = CodeGeneratorRequest::decode(input.as_slice()).map_err(io::Error::other)?;
    let mut response = CodeGeneratorResponse {
        supported_features: Some(Feature::Proto3Optional as u64),
        ..CodeGeneratorResponse::default()
    };
    match generate(request) {
        Ok(files) => response.file = files,
        Err(error) => response.error = Some(error.to_string()),
    }
    io::stdout().write_all(&response.encode_to_vec())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("protoc-gen-muniment-rust: {error}");
            ExitCode::FAILURE
        }
    }
}
