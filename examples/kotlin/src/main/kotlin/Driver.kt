// A client generated from proto/ and nothing else, behind the protocol of the conformance drivers, so that the
// shared scenarios can be played with it: tests/vectors/PROTOCOL.md.

import com.google.gson.Gson
import com.google.gson.JsonArray
import com.google.gson.JsonElement
import com.google.gson.JsonObject
import com.google.gson.JsonParser
import com.google.protobuf.InvalidProtocolBufferException
import com.google.protobuf.Message
import com.google.protobuf.util.JsonFormat
import com.google.rpc.BadRequest
import com.google.rpc.ErrorInfo
import com.google.rpc.RetryInfo
import io.grpc.CallOptions
import io.grpc.ManagedChannel
import io.grpc.ManagedChannelBuilder
import io.grpc.Metadata
import io.grpc.MethodDescriptor
import io.grpc.StatusRuntimeException
import io.grpc.protobuf.ProtoMethodDescriptorSupplier
import io.grpc.protobuf.StatusProto
import io.grpc.stub.ClientCalls
import io.grpc.stub.MetadataUtils
import java.util.Base64
import java.util.concurrent.TimeUnit
import muniment.v1.AuditServiceGrpc
import muniment.v1.MemoryServiceGrpc
import muniment.v1.ReviewServiceGrpc
import muniment.v1.SubjectServiceGrpc

private val services = listOf(
    MemoryServiceGrpc.getServiceDescriptor(),
    AuditServiceGrpc.getServiceDescriptor(),
    ReviewServiceGrpc.getServiceDescriptor(),
    SubjectServiceGrpc.getServiceDescriptor(),
)

@Suppress("UNCHECKED_CAST")
private val methods: Map<String, MethodDescriptor<Message, Message>> = services
    .flatMap { it.methods }
    .associate { it.fullMethodName.removePrefix("muniment.v1.") to it as MethodDescriptor<Message, Message> }

private class Client(val channel: ManagedChannel, val metadata: Metadata)

private val clients = mutableMapOf<String, Client>()

fun main() {
    while (true) {
        val line = JsonParser.parseString(readlnOrNull() ?: return).asJsonObject
        val answer = JsonObject()
        answer.add("id", line["id"])
        try {
            answer.addProperty("ok", true)
            when (line["op"].asString) {
                "hello" -> {
                    answer.addProperty("language", "kotlin")
                    answer.addProperty("version", "0.1.0")
                    answer.addProperty("protocol", 1)
                }
                "connect" -> connect(line)
                "call" -> answer.add("response", call(line))
                "echo" -> echo(line, answer)
                "close" -> clients.values.forEach { it.channel.shutdown().awaitTermination(5, TimeUnit.SECONDS) }
                else -> throw IllegalArgumentException("unknown op ${line["op"]}")
            }
        } catch (error: StatusRuntimeException) {
            failed(answer, told(error))
        } catch (error: InvalidProtocolBufferException) {
            failed(answer, problem("INVALID_ARGUMENT", local = true))
        } catch (error: Exception) {
            failed(answer, problem("DRIVER", message = error.toString()))
        }
        println(Gson().toJson(answer))
        if (line["op"].asString == "close") return
    }
}

private fun connect(line: JsonObject) {
    val metadata = Metadata()
    val override = line["metadata_override"]?.asJsonArray?.map { it.asJsonArray } ?: emptyList()
    val dropped = override.map { it[0].asString }.toSet()
    fun put(key: String, value: String) = metadata.put(Metadata.Key.of(key, Metadata.ASCII_STRING_MARSHALLER), value)
    if ("authorization" !in dropped) put("authorization", "Bearer ${line["api_key"].asString}")
    if ("muniment-tenant" !in dropped) put("muniment-tenant", line["tenant"].asString)
    override.filter { !it[1].isJsonNull }.forEach { put(it[0].asString, it[1].asString) }
    val channel = ManagedChannelBuilder.forTarget(line["target"].asString).usePlaintext().build()
    clients.put(name(line), Client(channel, metadata))?.channel?.shutdownNow()
}

private fun name(line: JsonObject) = line["client"]?.asString ?: "main"

private fun call(line: JsonObject): JsonElement {
    val client = clients.getValue(name(line))
    val method = methods.getValue(line["method"].asString)
    val schema = (method.schemaDescriptor as ProtoMethodDescriptorSupplier).methodDescriptor
    var request = parse(line["request"]?.toString() ?: "{}", method.requestMarshaller as MethodDescriptor.PrototypeMarshaller)
    val channel = io.grpc.ClientInterceptors.intercept(
        client.channel,
        MetadataUtils.newAttachHeadersInterceptor(client.metadata),
    )
    val options = CallOptions.DEFAULT.withDeadlineAfter(line["timeout_ms"]?.asLong ?: 30_000, TimeUnit.MILLISECONDS)
    if (schema.isServerStreaming) {
        val parts = JsonArray()
        ClientCalls.blockingServerStreamingCall(channel, method, options, request).forEach { parts.add(json(it)) }
        return parts
    }
    if (line["all_pages"]?.asBoolean != true) return json(ClientCalls.blockingUnaryCall(channel, method, options, request))
    val most = line["take"]?.asInt ?: Int.MAX_VALUE
    val items = JsonArray()
    while (true) {
        val page = ClientCalls.blockingUnaryCall(channel, method, options, request)
        val list = page.descriptorForType.findFieldByNumber(1)
        repeat(page.getRepeatedFieldCount(list)) {
            if (items.size() < most) items.add(json(page.getRepeatedField(list, it) as Message))
        }
        val next = page.getField(page.descriptorForType.findFieldByName("next_page_token")) as String
        if (next.isEmpty() || items.size() >= most) return items
        val token = request.descriptorForType.findFieldByName("page_token")
        request = request.toBuilder().setField(token, next).build()
    }
}

private fun parse(text: String, marshaller: MethodDescriptor.PrototypeMarshaller<Message>): Message {
    val builder = marshaller.messagePrototype!!.newBuilderForType()
    JsonFormat.parser().merge(text, builder)
    return builder.build()
}

private fun json(message: Message): JsonElement = JsonParser.parseString(JsonFormat.printer().print(message))

private fun echo(line: JsonObject, answer: JsonObject) {
    val name = line["message_type"].asString.removePrefix("muniment.v1.")
    val type = Class.forName("muniment.v1.${OUTER.getValue(name)}\$$name")
    val builder = type.getMethod("newBuilder").invoke(null) as Message.Builder
    if (line.has("json")) JsonFormat.parser().merge(line["json"].toString(), builder)
    else builder.mergeFrom(Base64.getDecoder().decode(line["binary_base64"].asString))
    val message = builder.build()
    answer.add("response", json(message))
    answer.addProperty("binary_base64", Base64.getEncoder().encodeToString(message.toByteArray()))
}

// Without an option that says otherwise, protoc puts the messages of a file into one class.
private val OUTER = mapOf(
    "RecallRequest" to "MemoryServiceOuterClass",
    "WriteRequest" to "MemoryServiceOuterClass",
    "Memory" to "MemoryOuterClass",
    "AuditEvent" to "Audit",
)

private fun told(error: StatusRuntimeException): JsonObject {
    val made = problem(error.status.code.name)
    for (detail in StatusProto.fromThrowable(error)?.detailsList ?: emptyList()) {
        when {
            detail.`is`(ErrorInfo::class.java) -> detail.unpack(ErrorInfo::class.java).let {
                made.addProperty("reason", it.reason)
                made.addProperty("domain", it.domain)
                made.add("metadata", Gson().toJsonTree(it.metadataMap))
            }
            detail.`is`(BadRequest::class.java) -> detail.unpack(BadRequest::class.java).fieldViolationsList.forEach {
                val violation = JsonObject()
                violation.addProperty("field", it.field)
                violation.addProperty("rule", it.reason)
                made["violations"].asJsonArray.add(violation)
            }
            detail.`is`(RetryInfo::class.java) -> detail.unpack(RetryInfo::class.java).retryDelay.let {
                made.addProperty("retry_after_ms", it.seconds * 1000 + it.nanos / 1_000_000)
            }
        }
    }
    return made
}

private fun problem(code: String, local: Boolean = false, message: String = ""): JsonObject = JsonObject().apply {
    addProperty("code", code)
    addProperty("reason", "")
    addProperty("domain", "")
    add("metadata", JsonObject())
    add("violations", JsonArray())
    addProperty("local", local)
    addProperty("message", message)
}

private fun failed(answer: JsonObject, error: JsonObject) {
    answer.addProperty("ok", false)
    answer.add("error", error)
}
