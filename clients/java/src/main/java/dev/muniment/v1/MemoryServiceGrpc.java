package dev.muniment.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Memory for agents: write, recall, correct, erase, and prove.
 * Metadata of every call:
 *  * `authorization`: `Bearer ` and an API key or a JWT; exactly one value.
 *  * `muniment-tenant`: the tenant's name, `^[a-z0-9][a-z0-9_.-]{0,62}$`; exactly one value. It must be
 *    among the tenants of the credential. Nothing in a message names or widens the tenant.
 *  * `muniment-client`: optional, name and version of the client; recorded in the audit trail.
 *  * `traceparent` (W3C): optional; the call becomes part of that trace.
 * Ids in requests are UUIDs in text form; there are no resource names, because the tenant is not part
 * of an id. What belongs to another tenant is answered like what never existed.
 * Repeating calls: everything that changes something takes a `request_id`. Within 72 hours the
 * same id with the same payload returns the response of the first call and does nothing else; with
 * another payload, for another method, or from a credential with other rights, it is ALREADY_EXISTS
 * (REQUEST_ID_PAYLOAD_MISMATCH). Request ids belong to one tenant. Set one on every such call, and repeat
 * with the same one after UNAVAILABLE or DEADLINE_EXCEEDED.
 * Limits: requests up to 4 MiB (REQUEST_TOO_LARGE beyond), responses up to 3.5 MiB, so that a gRPC
 * client with default settings can receive every one.
 * Errors of every call besides those named below: UNAUTHENTICATED, PERMISSION_DENIED,
 * INVALID_ARGUMENT (TENANT_METADATA_INVALID, INVALID_REQUEST, REQUEST_TOO_LARGE), RESOURCE_EXHAUSTED
 * (QUOTA_EXCEEDED, OVERLOADED), UNAVAILABLE (DATABASE_UNAVAILABLE, KEY_STORE_UNAVAILABLE,
 * SHUTTING_DOWN), DEADLINE_EXCEEDED, DATA_LOSS (INTEGRITY_VIOLATION: what the call needs was changed behind
 * the service's back), INTERNAL. See ErrorReason. An OK is only returned when the store
 * says so.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class MemoryServiceGrpc {

  private MemoryServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "muniment.v1.MemoryService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.muniment.v1.WriteRequest,
      dev.muniment.v1.WriteResponse> getWriteMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Write",
      requestType = dev.muniment.v1.WriteRequest.class,
      responseType = dev.muniment.v1.WriteResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.muniment.v1.WriteRequest,
      dev.muniment.v1.WriteResponse> getWriteMethod() {
    io.grpc.MethodDescriptor<dev.muniment.v1.WriteRequest, dev.muniment.v1.WriteResponse> getWriteMethod;
    if ((getWriteMethod = MemoryServiceGrpc.getWriteMethod) == null) {
      synchronized (MemoryServiceGrpc.class) {
        if ((getWriteMethod = MemoryServiceGrpc.getWriteMethod) == null) {
          MemoryServiceGrpc.getWriteMethod = getWriteMethod =
              io.grpc.MethodDescriptor.<dev.muniment.v1.WriteRequest, dev.muniment.v1.WriteResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Write"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.WriteRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.WriteResponse.getDefaultInstance()))
              .setSchemaDescriptor(new MemoryServiceMethodDescriptorSupplier("Write"))
              .build();
        }
      }
    }
    return getWriteMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.muniment.v1.RecallRequest,
      dev.muniment.v1.RecallResponse> getRecallMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Recall",
      requestType = dev.muniment.v1.RecallRequest.class,
      responseType = dev.muniment.v1.RecallResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.muniment.v1.RecallRequest,
      dev.muniment.v1.RecallResponse> getRecallMethod() {
    io.grpc.MethodDescriptor<dev.muniment.v1.RecallRequest, dev.muniment.v1.RecallResponse> getRecallMethod;
    if ((getRecallMethod = MemoryServiceGrpc.getRecallMethod) == null) {
      synchronized (MemoryServiceGrpc.class) {
        if ((getRecallMethod = MemoryServiceGrpc.getRecallMethod) == null) {
          MemoryServiceGrpc.getRecallMethod = getRecallMethod =
              io.grpc.MethodDescriptor.<dev.muniment.v1.RecallRequest, dev.muniment.v1.RecallResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Recall"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.RecallRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.RecallResponse.getDefaultInstance()))
              .setSchemaDescriptor(new MemoryServiceMethodDescriptorSupplier("Recall"))
              .build();
        }
      }
    }
    return getRecallMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.muniment.v1.SupersedeRequest,
      dev.muniment.v1.SupersedeResponse> getSupersedeMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Supersede",
      requestType = dev.muniment.v1.SupersedeRequest.class,
      responseType = dev.muniment.v1.SupersedeResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.muniment.v1.SupersedeRequest,
      dev.muniment.v1.SupersedeResponse> getSupersedeMethod() {
    io.grpc.MethodDescriptor<dev.muniment.v1.SupersedeRequest, dev.muniment.v1.SupersedeResponse> getSupersedeMethod;
    if ((getSupersedeMethod = MemoryServiceGrpc.getSupersedeMethod) == null) {
      synchronized (MemoryServiceGrpc.class) {
        if ((getSupersedeMethod = MemoryServiceGrpc.getSupersedeMethod) == null) {
          MemoryServiceGrpc.getSupersedeMethod = getSupersedeMethod =
              io.grpc.MethodDescriptor.<dev.muniment.v1.SupersedeRequest, dev.muniment.v1.SupersedeResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Supersede"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.SupersedeRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.SupersedeResponse.getDefaultInstance()))
              .setSchemaDescriptor(new MemoryServiceMethodDescriptorSupplier("Supersede"))
              .build();
        }
      }
    }
    return getSupersedeMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.muniment.v1.EraseRequest,
      dev.muniment.v1.EraseResponse> getEraseMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Erase",
      requestType = dev.muniment.v1.EraseRequest.class,
      responseType = dev.muniment.v1.EraseResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.muniment.v1.EraseRequest,
      dev.muniment.v1.EraseResponse> getEraseMethod() {
    io.grpc.MethodDescriptor<dev.muniment.v1.EraseRequest, dev.muniment.v1.EraseResponse> getEraseMethod;
    if ((getEraseMethod = MemoryServiceGrpc.getEraseMethod) == null) {
      synchronized (MemoryServiceGrpc.class) {
        if ((getEraseMethod = MemoryServiceGrpc.getEraseMethod) == null) {
          MemoryServiceGrpc.getEraseMethod = getEraseMethod =
              io.grpc.MethodDescriptor.<dev.muniment.v1.EraseRequest, dev.muniment.v1.EraseResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Erase"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.EraseRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.EraseResponse.getDefaultInstance()))
              .setSchemaDescriptor(new MemoryServiceMethodDescriptorSupplier("Erase"))
              .build();
        }
      }
    }
    return getEraseMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.muniment.v1.GetErasureRequest,
      dev.muniment.v1.GetErasureResponse> getGetErasureMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetErasure",
      requestType = dev.muniment.v1.GetErasureRequest.class,
      responseType = dev.muniment.v1.GetErasureResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.muniment.v1.GetErasureRequest,
      dev.muniment.v1.GetErasureResponse> getGetErasureMethod() {
    io.grpc.MethodDescriptor<dev.muniment.v1.GetErasureRequest, dev.muniment.v1.GetErasureResponse> getGetErasureMethod;
    if ((getGetErasureMethod = MemoryServiceGrpc.getGetErasureMethod) == null) {
      synchronized (MemoryServiceGrpc.class) {
        if ((getGetErasureMethod = MemoryServiceGrpc.getGetErasureMethod) == null) {
          MemoryServiceGrpc.getGetErasureMethod = getGetErasureMethod =
              io.grpc.MethodDescriptor.<dev.muniment.v1.GetErasureRequest, dev.muniment.v1.GetErasureResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetErasure"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.GetErasureRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.GetErasureResponse.getDefaultInstance()))
              .setSchemaDescriptor(new MemoryServiceMethodDescriptorSupplier("GetErasure"))
              .build();
        }
      }
    }
    return getGetErasureMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.muniment.v1.GetMemoryRequest,
      dev.muniment.v1.GetMemoryResponse> getGetMemoryMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetMemory",
      requestType = dev.muniment.v1.GetMemoryRequest.class,
      responseType = dev.muniment.v1.GetMemoryResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.muniment.v1.GetMemoryRequest,
      dev.muniment.v1.GetMemoryResponse> getGetMemoryMethod() {
    io.grpc.MethodDescriptor<dev.muniment.v1.GetMemoryRequest, dev.muniment.v1.GetMemoryResponse> getGetMemoryMethod;
    if ((getGetMemoryMethod = MemoryServiceGrpc.getGetMemoryMethod) == null) {
      synchronized (MemoryServiceGrpc.class) {
        if ((getGetMemoryMethod = MemoryServiceGrpc.getGetMemoryMethod) == null) {
          MemoryServiceGrpc.getGetMemoryMethod = getGetMemoryMethod =
              io.grpc.MethodDescriptor.<dev.muniment.v1.GetMemoryRequest, dev.muniment.v1.GetMemoryResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetMemory"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.GetMemoryRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.GetMemoryResponse.getDefaultInstance()))
              .setSchemaDescriptor(new MemoryServiceMethodDescriptorSupplier("GetMemory"))
              .build();
        }
      }
    }
    return getGetMemoryMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.muniment.v1.ListMemoriesRequest,
      dev.muniment.v1.ListMemoriesResponse> getListMemoriesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListMemories",
      requestType = dev.muniment.v1.ListMemoriesRequest.class,
      responseType = dev.muniment.v1.ListMemoriesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.muniment.v1.ListMemoriesRequest,
      dev.muniment.v1.ListMemoriesResponse> getListMemoriesMethod() {
    io.grpc.MethodDescriptor<dev.muniment.v1.ListMemoriesRequest, dev.muniment.v1.ListMemoriesResponse> getListMemoriesMethod;
    if ((getListMemoriesMethod = MemoryServiceGrpc.getListMemoriesMethod) == null) {
      synchronized (MemoryServiceGrpc.class) {
        if ((getListMemoriesMethod = MemoryServiceGrpc.getListMemoriesMethod) == null) {
          MemoryServiceGrpc.getListMemoriesMethod = getListMemoriesMethod =
              io.grpc.MethodDescriptor.<dev.muniment.v1.ListMemoriesRequest, dev.muniment.v1.ListMemoriesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListMemories"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.ListMemoriesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.ListMemoriesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new MemoryServiceMethodDescriptorSupplier("ListMemories"))
              .build();
        }
      }
    }
    return getListMemoriesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.muniment.v1.ReportUseRequest,
      dev.muniment.v1.ReportUseResponse> getReportUseMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ReportUse",
      requestType = dev.muniment.v1.ReportUseRequest.class,
      responseType = dev.muniment.v1.ReportUseResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.muniment.v1.ReportUseRequest,
      dev.muniment.v1.ReportUseResponse> getReportUseMethod() {
    io.grpc.MethodDescriptor<dev.muniment.v1.ReportUseRequest, dev.muniment.v1.ReportUseResponse> getReportUseMethod;
    if ((getReportUseMethod = MemoryServiceGrpc.getReportUseMethod) == null) {
      synchronized (MemoryServiceGrpc.class) {
        if ((getReportUseMethod = MemoryServiceGrpc.getReportUseMethod) == null) {
          MemoryServiceGrpc.getReportUseMethod = getReportUseMethod =
              io.grpc.MethodDescriptor.<dev.muniment.v1.ReportUseRequest, dev.muniment.v1.ReportUseResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ReportUse"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.ReportUseRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.ReportUseResponse.getDefaultInstance()))
              .setSchemaDescriptor(new MemoryServiceMethodDescriptorSupplier("ReportUse"))
              .build();
        }
      }
    }
    return getReportUseMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.muniment.v1.IngestRequest,
      dev.muniment.v1.IngestResponse> getIngestMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Ingest",
      requestType = dev.muniment.v1.IngestRequest.class,
      responseType = dev.muniment.v1.IngestResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.muniment.v1.IngestRequest,
      dev.muniment.v1.IngestResponse> getIngestMethod() {
    io.grpc.MethodDescriptor<dev.muniment.v1.IngestRequest, dev.muniment.v1.IngestResponse> getIngestMethod;
    if ((getIngestMethod = MemoryServiceGrpc.getIngestMethod) == null) {
      synchronized (MemoryServiceGrpc.class) {
        if ((getIngestMethod = MemoryServiceGrpc.getIngestMethod) == null) {
          MemoryServiceGrpc.getIngestMethod = getIngestMethod =
              io.grpc.MethodDescriptor.<dev.muniment.v1.IngestRequest, dev.muniment.v1.IngestResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Ingest"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.IngestRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.IngestResponse.getDefaultInstance()))
              .setSchemaDescriptor(new MemoryServiceMethodDescriptorSupplier("Ingest"))
              .build();
        }
      }
    }
    return getIngestMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.muniment.v1.StreamIngestRequest,
      dev.muniment.v1.StreamIngestResponse> getStreamIngestMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "StreamIngest",
      requestType = dev.muniment.v1.StreamIngestRequest.class,
      responseType = dev.muniment.v1.StreamIngestResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.CLIENT_STREAMING)
  public static io.grpc.MethodDescriptor<dev.muniment.v1.StreamIngestRequest,
      dev.muniment.v1.StreamIngestResponse> getStreamIngestMethod() {
    io.grpc.MethodDescriptor<dev.muniment.v1.StreamIngestRequest, dev.muniment.v1.StreamIngestResponse> getStreamIngestMethod;
    if ((getStreamIngestMethod = MemoryServiceGrpc.getStreamIngestMethod) == null) {
      synchronized (MemoryServiceGrpc.class) {
        if ((getStreamIngestMethod = MemoryServiceGrpc.getStreamIngestMethod) == null) {
          MemoryServiceGrpc.getStreamIngestMethod = getStreamIngestMethod =
              io.grpc.MethodDescriptor.<dev.muniment.v1.StreamIngestRequest, dev.muniment.v1.StreamIngestResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.CLIENT_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "StreamIngest"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.StreamIngestRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.StreamIngestResponse.getDefaultInstance()))
              .setSchemaDescriptor(new MemoryServiceMethodDescriptorSupplier("StreamIngest"))
              .build();
        }
      }
    }
    return getStreamIngestMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.muniment.v1.GetIngestRequest,
      dev.muniment.v1.GetIngestResponse> getGetIngestMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetIngest",
      requestType = dev.muniment.v1.GetIngestRequest.class,
      responseType = dev.muniment.v1.GetIngestResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.muniment.v1.GetIngestRequest,
      dev.muniment.v1.GetIngestResponse> getGetIngestMethod() {
    io.grpc.MethodDescriptor<dev.muniment.v1.GetIngestRequest, dev.muniment.v1.GetIngestResponse> getGetIngestMethod;
    if ((getGetIngestMethod = MemoryServiceGrpc.getGetIngestMethod) == null) {
      synchronized (MemoryServiceGrpc.class) {
        if ((getGetIngestMethod = MemoryServiceGrpc.getGetIngestMethod) == null) {
          MemoryServiceGrpc.getGetIngestMethod = getGetIngestMethod =
              io.grpc.MethodDescriptor.<dev.muniment.v1.GetIngestRequest, dev.muniment.v1.GetIngestResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetIngest"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.GetIngestRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.GetIngestResponse.getDefaultInstance()))
              .setSchemaDescriptor(new MemoryServiceMethodDescriptorSupplier("GetIngest"))
              .build();
        }
      }
    }
    return getGetIngestMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.muniment.v1.RestoreRequest,
      dev.muniment.v1.RestoreResponse> getRestoreMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Restore",
      requestType = dev.muniment.v1.RestoreRequest.class,
      responseType = dev.muniment.v1.RestoreResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.muniment.v1.RestoreRequest,
      dev.muniment.v1.RestoreResponse> getRestoreMethod() {
    io.grpc.MethodDescriptor<dev.muniment.v1.RestoreRequest, dev.muniment.v1.RestoreResponse> getRestoreMethod;
    if ((getRestoreMethod = MemoryServiceGrpc.getRestoreMethod) == null) {
      synchronized (MemoryServiceGrpc.class) {
        if ((getRestoreMethod = MemoryServiceGrpc.getRestoreMethod) == null) {
          MemoryServiceGrpc.getRestoreMethod = getRestoreMethod =
              io.grpc.MethodDescriptor.<dev.muniment.v1.RestoreRequest, dev.muniment.v1.RestoreResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Restore"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.RestoreRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.RestoreResponse.getDefaultInstance()))
              .setSchemaDescriptor(new MemoryServiceMethodDescriptorSupplier("Restore"))
              .build();
        }
      }
    }
    return getRestoreMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.muniment.v1.RetractRequest,
      dev.muniment.v1.RetractResponse> getRetractMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Retract",
      requestType = dev.muniment.v1.RetractRequest.class,
      responseType = dev.muniment.v1.RetractResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.muniment.v1.RetractRequest,
      dev.muniment.v1.RetractResponse> getRetractMethod() {
    io.grpc.MethodDescriptor<dev.muniment.v1.RetractRequest, dev.muniment.v1.RetractResponse> getRetractMethod;
    if ((getRetractMethod = MemoryServiceGrpc.getRetractMethod) == null) {
      synchronized (MemoryServiceGrpc.class) {
        if ((getRetractMethod = MemoryServiceGrpc.getRetractMethod) == null) {
          MemoryServiceGrpc.getRetractMethod = getRetractMethod =
              io.grpc.MethodDescriptor.<dev.muniment.v1.RetractRequest, dev.muniment.v1.RetractResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Retract"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.RetractRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.RetractResponse.getDefaultInstance()))
              .setSchemaDescriptor(new MemoryServiceMethodDescriptorSupplier("Retract"))
              .build();
        }
      }
    }
    return getRetractMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.muniment.v1.UndoWriteRequest,
      dev.muniment.v1.UndoWriteResponse> getUndoWriteMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "UndoWrite",
      requestType = dev.muniment.v1.UndoWriteRequest.class,
      responseType = dev.muniment.v1.UndoWriteResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.muniment.v1.UndoWriteRequest,
      dev.muniment.v1.UndoWriteResponse> getUndoWriteMethod() {
    io.grpc.MethodDescriptor<dev.muniment.v1.UndoWriteRequest, dev.muniment.v1.UndoWriteResponse> getUndoWriteMethod;
    if ((getUndoWriteMethod = MemoryServiceGrpc.getUndoWriteMethod) == null) {
      synchronized (MemoryServiceGrpc.class) {
        if ((getUndoWriteMethod = MemoryServiceGrpc.getUndoWriteMethod) == null) {
          MemoryServiceGrpc.getUndoWriteMethod = getUndoWriteMethod =
              io.grpc.MethodDescriptor.<dev.muniment.v1.UndoWriteRequest, dev.muniment.v1.UndoWriteResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "UndoWrite"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.UndoWriteRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.UndoWriteResponse.getDefaultInstance()))
              .setSchemaDescriptor(new MemoryServiceMethodDescriptorSupplier("UndoWrite"))
              .build();
        }
      }
    }
    return getUndoWriteMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.muniment.v1.AuditRequest,
      dev.muniment.v1.AuditResponse> getAuditMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Audit",
      requestType = dev.muniment.v1.AuditRequest.class,
      responseType = dev.muniment.v1.AuditResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.muniment.v1.AuditRequest,
      dev.muniment.v1.AuditResponse> getAuditMethod() {
    io.grpc.MethodDescriptor<dev.muniment.v1.AuditRequest, dev.muniment.v1.AuditResponse> getAuditMethod;
    if ((getAuditMethod = MemoryServiceGrpc.getAuditMethod) == null) {
      synchronized (MemoryServiceGrpc.class) {
        if ((getAuditMethod = MemoryServiceGrpc.getAuditMethod) == null) {
          MemoryServiceGrpc.getAuditMethod = getAuditMethod =
              io.grpc.MethodDescriptor.<dev.muniment.v1.AuditRequest, dev.muniment.v1.AuditResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Audit"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.AuditRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.AuditResponse.getDefaultInstance()))
              .setSchemaDescriptor(new MemoryServiceMethodDescriptorSupplier("Audit"))
              .build();
        }
      }
    }
    return getAuditMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static MemoryServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<MemoryServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<MemoryServiceStub>() {
        @java.lang.Override
        public MemoryServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new MemoryServiceStub(channel, callOptions);
        }
      };
    return MemoryServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static MemoryServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<MemoryServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<MemoryServiceBlockingV2Stub>() {
        @java.lang.Override
        public MemoryServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new MemoryServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return MemoryServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static MemoryServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<MemoryServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<MemoryServiceBlockingStub>() {
        @java.lang.Override
        public MemoryServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new MemoryServiceBlockingStub(channel, callOptions);
        }
      };
    return MemoryServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static MemoryServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<MemoryServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<MemoryServiceFutureStub>() {
        @java.lang.Override
        public MemoryServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new MemoryServiceFutureStub(channel, callOptions);
        }
      };
    return MemoryServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Memory for agents: write, recall, correct, erase, and prove.
   * Metadata of every call:
   *  * `authorization`: `Bearer ` and an API key or a JWT; exactly one value.
   *  * `muniment-tenant`: the tenant's name, `^[a-z0-9][a-z0-9_.-]{0,62}$`; exactly one value. It must be
   *    among the tenants of the credential. Nothing in a message names or widens the tenant.
   *  * `muniment-client`: optional, name and version of the client; recorded in the audit trail.
   *  * `traceparent` (W3C): optional; the call becomes part of that trace.
   * Ids in requests are UUIDs in text form; there are no resource names, because the tenant is not part
   * of an id. What belongs to another tenant is answered like what never existed.
   * Repeating calls: everything that changes something takes a `request_id`. Within 72 hours the
   * same id with the same payload returns the response of the first call and does nothing else; with
   * another payload, for another method, or from a credential with other rights, it is ALREADY_EXISTS
   * (REQUEST_ID_PAYLOAD_MISMATCH). Request ids belong to one tenant. Set one on every such call, and repeat
   * with the same one after UNAVAILABLE or DEADLINE_EXCEEDED.
   * Limits: requests up to 4 MiB (REQUEST_TOO_LARGE beyond), responses up to 3.5 MiB, so that a gRPC
   * client with default settings can receive every one.
   * Errors of every call besides those named below: UNAUTHENTICATED, PERMISSION_DENIED,
   * INVALID_ARGUMENT (TENANT_METADATA_INVALID, INVALID_REQUEST, REQUEST_TOO_LARGE), RESOURCE_EXHAUSTED
   * (QUOTA_EXCEEDED, OVERLOADED), UNAVAILABLE (DATABASE_UNAVAILABLE, KEY_STORE_UNAVAILABLE,
   * SHUTTING_DOWN), DEADLINE_EXCEEDED, DATA_LOSS (INTEGRITY_VIOLATION: what the call needs was changed behind
   * the service's back), INTERNAL. See ErrorReason. An OK is only returned when the store
   * says so.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Stores statements; all of the request or nothing. Permission: `write`.
     * Nothing is ever merged by likeness. The same statement (after Unicode NFC and collapsing white
     * space) of the same kind, slot and narrowing reinforces the memory that is there. A slot that is
     * held supersedes its holder. Everything else becomes a new memory. A successful write is seen by
     * every Recall that begins afterwards.
     * Errors: PERMISSION_DENIED (SOURCE_NOT_ALLOWED), INVALID_ARGUMENT (EMBEDDING_MODEL_MISMATCH,
     * CONTENT_REFUSED: by the tenant's policy), ALREADY_EXISTS (REQUEST_ID_PAYLOAD_MISMATCH), ABORTED
     * (TRANSACTION_CONFLICT), RESOURCE_EXHAUSTED
     * (OVERLOADED: too many texts wait for the embedder), UNAVAILABLE (EMBEDDER_UNAVAILABLE: too many
     * memories wait for their vectors already, or the server is set up to store none without).
     * </pre>
     */
    default void write(dev.muniment.v1.WriteRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.WriteResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getWriteMethod(), responseObserver);
    }

    /**
     * <pre>
     * Finds what is relevant to a query, ranked, at most `limit` memories. Not paginated. Permission:
     * `recall`.
     * A receipt of the answer is recorded before it is sent; if that fails, the call fails. A leg that
     * fails or runs out of time is left out and named in `degraded`. When the contents of the best
     * memories do not fit into 3.5 MiB, the last ones are left out and counted in `left_out`
     * (RESPONSE_SIZE).
     * Errors: INVALID_ARGUMENT (EMBEDDING_MODEL_MISMATCH, CONSISTENCY_TOKEN_INVALID,
     * CONSISTENCY_TOKEN_FOREIGN), OUT_OF_RANGE (CONSISTENCY_TOKEN_EXPIRED), UNIMPLEMENTED.
     * </pre>
     */
    default void recall(dev.muniment.v1.RecallRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.RecallResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRecallMethod(), responseObserver);
    }

    /**
     * <pre>
     * Replaces a memory by a new one, in one step: at no moment are both live, or none. The old memory
     * keeps its id and its content as history. Permission: `supersede`.
     * Errors: NOT_FOUND (MEMORY_NOT_FOUND), ABORTED (REVISION_CONFLICT, TRANSACTION_CONFLICT),
     * FAILED_PRECONDITION (MEMORY_SUPERSEDED, MEMORY_ERASED, MEMORY_NOT_ACTIVE, SLOT_CONFLICT),
     * PERMISSION_DENIED (SOURCE_NOT_ALLOWED), INVALID_ARGUMENT (EMBEDDING_MODEL_MISMATCH, CONTENT_REFUSED),
     * ALREADY_EXISTS (REQUEST_ID_PAYLOAD_MISMATCH), RESOURCE_EXHAUSTED and UNAVAILABLE as for Write.
     * </pre>
     */
    default void supersede(dev.muniment.v1.SupersedeRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.SupersedeResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSupersedeMethod(), responseObserver);
    }

    /**
     * <pre>
     * Erases: content, history, vectors and index entries are removed for good, and tombstones are
     * left. For a whole subject or space the keys are destroyed too. Permission: `erase`.
     * When the call returns OK, nothing erased is served any more; if the receipt is PENDING, poll
     * GetErasure for the rest. What is there already erased counts 0.
     * Errors: NOT_FOUND (MEMORY_NOT_FOUND) for a memory id that never existed, in which case nothing is
     * erased; ABORTED (TRANSACTION_CONFLICT), ALREADY_EXISTS (REQUEST_ID_PAYLOAD_MISMATCH).
     * </pre>
     */
    default void erase(dev.muniment.v1.EraseRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.EraseResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getEraseMethod(), responseObserver);
    }

    /**
     * <pre>
     * Returns the receipt of an erasure. Permission: `erase` or `audit`.
     * Errors: NOT_FOUND (ERASURE_NOT_FOUND), DATA_LOSS (INTEGRITY_VIOLATION).
     * </pre>
     */
    default void getErasure(dev.muniment.v1.GetErasureRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.GetErasureResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetErasureMethod(), responseObserver);
    }

    /**
     * <pre>
     * Returns one memory in whatever state, with its revisions if asked for. Permission: `recall`.
     * Errors: NOT_FOUND (MEMORY_NOT_FOUND), DATA_LOSS (INTEGRITY_VIOLATION); those of a consistency
     * token as for Recall.
     * </pre>
     */
    default void getMemory(dev.muniment.v1.GetMemoryRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.GetMemoryResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetMemoryMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists the memories of a scope, newest first, page by page. Permission: `recall`.
     * Errors: INVALID_ARGUMENT (PAGE_TOKEN_INVALID); those of a consistency token as for Recall.
     * </pre>
     */
    default void listMemories(dev.muniment.v1.ListMemoriesRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.ListMemoriesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListMemoriesMethod(), responseObserver);
    }

    /**
     * <pre>
     * States which of the offered memories really entered a prompt. Only the caller knows. Permission:
     * `recall`. May be called more than once for a recall; every report is recorded.
     * Errors: NOT_FOUND (RECALL_NOT_FOUND), INVALID_ARGUMENT (MEMORY_NOT_IN_RECALL), ALREADY_EXISTS
     * (REQUEST_ID_PAYLOAD_MISMATCH).
     * </pre>
     */
    default void reportUse(dev.muniment.v1.ReportUseRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.ReportUseResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReportUseMethod(), responseObserver);
    }

    /**
     * <pre>
     * Takes in turns of a conversation: keeps them as TURN memories and turns them into candidate
     * memories. Permission: `write`. Each turn is taken in once: its session and number are its name, so
     * that repeating the call does no harm.
     * Errors: ALREADY_EXISTS (TURN_CONFLICT: the number was used for another text; REQUEST_ID_PAYLOAD_MISMATCH),
     * PERMISSION_DENIED (SOURCE_NOT_ALLOWED), INVALID_ARGUMENT (CONTENT_REFUSED: by the tenant's policy),
     * UNIMPLEMENTED (an extractor that this server does not have).
     * </pre>
     */
    default void ingest(dev.muniment.v1.IngestRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.IngestResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getIngestMethod(), responseObserver);
    }

    /**
     * <pre>
     * As Ingest, for a conversation under way: any number of requests of one scope, answered once at the
     * end. Each request is stored when it arrives; after a broken stream repeat all of it. Permission:
     * `write`.
     * Errors: those of Ingest; INVALID_ARGUMENT (INVALID_REQUEST) when a later request names another scope,
     * mode or extractor, or the stream has more than 10,000 turns.
     * </pre>
     */
    default io.grpc.stub.StreamObserver<dev.muniment.v1.StreamIngestRequest> streamIngest(
        io.grpc.stub.StreamObserver<dev.muniment.v1.StreamIngestResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getStreamIngestMethod(), responseObserver);
    }

    /**
     * <pre>
     * Says how far an ingest has come. Permission: `write` or `recall`.
     * Errors: NOT_FOUND (INGEST_NOT_FOUND).
     * </pre>
     */
    default void getIngest(dev.muniment.v1.GetIngestRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.GetIngestResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetIngestMethod(), responseObserver);
    }

    /**
     * <pre>
     * Makes a SUPERSEDED or ARCHIVED memory live again; what replaced it is SUPERSEDED by it. Permission:
     * `supersede`.
     * Errors: as for Supersede; FAILED_PRECONDITION (MEMORY_NOT_RESTORABLE), INVALID_ARGUMENT (CONTENT_REFUSED:
     * the subject's consent does not cover it).
     * </pre>
     */
    default void restore(dev.muniment.v1.RestoreRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.RestoreResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRestoreMethod(), responseObserver);
    }

    /**
     * <pre>
     * Ends a memory that was true until now: its validity is closed and it is ARCHIVED; nothing replaces
     * it. Permission: `supersede`.
     * Errors: as for Supersede; PERMISSION_DENIED with `permission` = "review" for a memory that is trusted
     * more than the caller's credential may say, unless the same credential wrote it or may review.
     * </pre>
     */
    default void retract(dev.muniment.v1.RetractRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.RetractResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRetractMethod(), responseObserver);
    }

    /**
     * <pre>
     * Takes back a whole Write, Supersede or import by its request id: what it created is ARCHIVED, and
     * what it replaced is ACTIVE again. Permission: `supersede`.
     * Errors: NOT_FOUND (WRITE_NOT_FOUND), PERMISSION_DENIED as for Retract, ABORTED (TRANSACTION_CONFLICT), ALREADY_EXISTS
     * (REQUEST_ID_PAYLOAD_MISMATCH).
     * </pre>
     */
    default void undoWrite(dev.muniment.v1.UndoWriteRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.UndoWriteResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getUndoWriteMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists audit events, newest first, page by page. Permission: `audit`.
     * Errors: INVALID_ARGUMENT (PAGE_TOKEN_INVALID).
     * </pre>
     */
    default void audit(dev.muniment.v1.AuditRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.AuditResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getAuditMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service MemoryService.
   * <pre>
   * Memory for agents: write, recall, correct, erase, and prove.
   * Metadata of every call:
   *  * `authorization`: `Bearer ` and an API key or a JWT; exactly one value.
   *  * `muniment-tenant`: the tenant's name, `^[a-z0-9][a-z0-9_.-]{0,62}$`; exactly one value. It must be
   *    among the tenants of the credential. Nothing in a message names or widens the tenant.
   *  * `muniment-client`: optional, name and version of the client; recorded in the audit trail.
   *  * `traceparent` (W3C): optional; the call becomes part of that trace.
   * Ids in requests are UUIDs in text form; there are no resource names, because the tenant is not part
   * of an id. What belongs to another tenant is answered like what never existed.
   * Repeating calls: everything that changes something takes a `request_id`. Within 72 hours the
   * same id with the same payload returns the response of the first call and does nothing else; with
   * another payload, for another method, or from a credential with other rights, it is ALREADY_EXISTS
   * (REQUEST_ID_PAYLOAD_MISMATCH). Request ids belong to one tenant. Set one on every such call, and repeat
   * with the same one after UNAVAILABLE or DEADLINE_EXCEEDED.
   * Limits: requests up to 4 MiB (REQUEST_TOO_LARGE beyond), responses up to 3.5 MiB, so that a gRPC
   * client with default settings can receive every one.
   * Errors of every call besides those named below: UNAUTHENTICATED, PERMISSION_DENIED,
   * INVALID_ARGUMENT (TENANT_METADATA_INVALID, INVALID_REQUEST, REQUEST_TOO_LARGE), RESOURCE_EXHAUSTED
   * (QUOTA_EXCEEDED, OVERLOADED), UNAVAILABLE (DATABASE_UNAVAILABLE, KEY_STORE_UNAVAILABLE,
   * SHUTTING_DOWN), DEADLINE_EXCEEDED, DATA_LOSS (INTEGRITY_VIOLATION: what the call needs was changed behind
   * the service's back), INTERNAL. See ErrorReason. An OK is only returned when the store
   * says so.
   * </pre>
   */
  public static abstract class MemoryServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return MemoryServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service MemoryService.
   * <pre>
   * Memory for agents: write, recall, correct, erase, and prove.
   * Metadata of every call:
   *  * `authorization`: `Bearer ` and an API key or a JWT; exactly one value.
   *  * `muniment-tenant`: the tenant's name, `^[a-z0-9][a-z0-9_.-]{0,62}$`; exactly one value. It must be
   *    among the tenants of the credential. Nothing in a message names or widens the tenant.
   *  * `muniment-client`: optional, name and version of the client; recorded in the audit trail.
   *  * `traceparent` (W3C): optional; the call becomes part of that trace.
   * Ids in requests are UUIDs in text form; there are no resource names, because the tenant is not part
   * of an id. What belongs to another tenant is answered like what never existed.
   * Repeating calls: everything that changes something takes a `request_id`. Within 72 hours the
   * same id with the same payload returns the response of the first call and does nothing else; with
   * another payload, for another method, or from a credential with other rights, it is ALREADY_EXISTS
   * (REQUEST_ID_PAYLOAD_MISMATCH). Request ids belong to one tenant. Set one on every such call, and repeat
   * with the same one after UNAVAILABLE or DEADLINE_EXCEEDED.
   * Limits: requests up to 4 MiB (REQUEST_TOO_LARGE beyond), responses up to 3.5 MiB, so that a gRPC
   * client with default settings can receive every one.
   * Errors of every call besides those named below: UNAUTHENTICATED, PERMISSION_DENIED,
   * INVALID_ARGUMENT (TENANT_METADATA_INVALID, INVALID_REQUEST, REQUEST_TOO_LARGE), RESOURCE_EXHAUSTED
   * (QUOTA_EXCEEDED, OVERLOADED), UNAVAILABLE (DATABASE_UNAVAILABLE, KEY_STORE_UNAVAILABLE,
   * SHUTTING_DOWN), DEADLINE_EXCEEDED, DATA_LOSS (INTEGRITY_VIOLATION: what the call needs was changed behind
   * the service's back), INTERNAL. See ErrorReason. An OK is only returned when the store
   * says so.
   * </pre>
   */
  public static final class MemoryServiceStub
      extends io.grpc.stub.AbstractAsyncStub<MemoryServiceStub> {
    private MemoryServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected MemoryServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new MemoryServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Stores statements; all of the request or nothing. Permission: `write`.
     * Nothing is ever merged by likeness. The same statement (after Unicode NFC and collapsing white
     * space) of the same kind, slot and narrowing reinforces the memory that is there. A slot that is
     * held supersedes its holder. Everything else becomes a new memory. A successful write is seen by
     * every Recall that begins afterwards.
     * Errors: PERMISSION_DENIED (SOURCE_NOT_ALLOWED), INVALID_ARGUMENT (EMBEDDING_MODEL_MISMATCH,
     * CONTENT_REFUSED: by the tenant's policy), ALREADY_EXISTS (REQUEST_ID_PAYLOAD_MISMATCH), ABORTED
     * (TRANSACTION_CONFLICT), RESOURCE_EXHAUSTED
     * (OVERLOADED: too many texts wait for the embedder), UNAVAILABLE (EMBEDDER_UNAVAILABLE: too many
     * memories wait for their vectors already, or the server is set up to store none without).
     * </pre>
     */
    public void write(dev.muniment.v1.WriteRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.WriteResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getWriteMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Finds what is relevant to a query, ranked, at most `limit` memories. Not paginated. Permission:
     * `recall`.
     * A receipt of the answer is recorded before it is sent; if that fails, the call fails. A leg that
     * fails or runs out of time is left out and named in `degraded`. When the contents of the best
     * memories do not fit into 3.5 MiB, the last ones are left out and counted in `left_out`
     * (RESPONSE_SIZE).
     * Errors: INVALID_ARGUMENT (EMBEDDING_MODEL_MISMATCH, CONSISTENCY_TOKEN_INVALID,
     * CONSISTENCY_TOKEN_FOREIGN), OUT_OF_RANGE (CONSISTENCY_TOKEN_EXPIRED), UNIMPLEMENTED.
     * </pre>
     */
    public void recall(dev.muniment.v1.RecallRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.RecallResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRecallMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Replaces a memory by a new one, in one step: at no moment are both live, or none. The old memory
     * keeps its id and its content as history. Permission: `supersede`.
     * Errors: NOT_FOUND (MEMORY_NOT_FOUND), ABORTED (REVISION_CONFLICT, TRANSACTION_CONFLICT),
     * FAILED_PRECONDITION (MEMORY_SUPERSEDED, MEMORY_ERASED, MEMORY_NOT_ACTIVE, SLOT_CONFLICT),
     * PERMISSION_DENIED (SOURCE_NOT_ALLOWED), INVALID_ARGUMENT (EMBEDDING_MODEL_MISMATCH, CONTENT_REFUSED),
     * ALREADY_EXISTS (REQUEST_ID_PAYLOAD_MISMATCH), RESOURCE_EXHAUSTED and UNAVAILABLE as for Write.
     * </pre>
     */
    public void supersede(dev.muniment.v1.SupersedeRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.SupersedeResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getSupersedeMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Erases: content, history, vectors and index entries are removed for good, and tombstones are
     * left. For a whole subject or space the keys are destroyed too. Permission: `erase`.
     * When the call returns OK, nothing erased is served any more; if the receipt is PENDING, poll
     * GetErasure for the rest. What is there already erased counts 0.
     * Errors: NOT_FOUND (MEMORY_NOT_FOUND) for a memory id that never existed, in which case nothing is
     * erased; ABORTED (TRANSACTION_CONFLICT), ALREADY_EXISTS (REQUEST_ID_PAYLOAD_MISMATCH).
     * </pre>
     */
    public void erase(dev.muniment.v1.EraseRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.EraseResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getEraseMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Returns the receipt of an erasure. Permission: `erase` or `audit`.
     * Errors: NOT_FOUND (ERASURE_NOT_FOUND), DATA_LOSS (INTEGRITY_VIOLATION).
     * </pre>
     */
    public void getErasure(dev.muniment.v1.GetErasureRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.GetErasureResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetErasureMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Returns one memory in whatever state, with its revisions if asked for. Permission: `recall`.
     * Errors: NOT_FOUND (MEMORY_NOT_FOUND), DATA_LOSS (INTEGRITY_VIOLATION); those of a consistency
     * token as for Recall.
     * </pre>
     */
    public void getMemory(dev.muniment.v1.GetMemoryRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.GetMemoryResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetMemoryMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists the memories of a scope, newest first, page by page. Permission: `recall`.
     * Errors: INVALID_ARGUMENT (PAGE_TOKEN_INVALID); those of a consistency token as for Recall.
     * </pre>
     */
    public void listMemories(dev.muniment.v1.ListMemoriesRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.ListMemoriesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListMemoriesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * States which of the offered memories really entered a prompt. Only the caller knows. Permission:
     * `recall`. May be called more than once for a recall; every report is recorded.
     * Errors: NOT_FOUND (RECALL_NOT_FOUND), INVALID_ARGUMENT (MEMORY_NOT_IN_RECALL), ALREADY_EXISTS
     * (REQUEST_ID_PAYLOAD_MISMATCH).
     * </pre>
     */
    public void reportUse(dev.muniment.v1.ReportUseRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.ReportUseResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getReportUseMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Takes in turns of a conversation: keeps them as TURN memories and turns them into candidate
     * memories. Permission: `write`. Each turn is taken in once: its session and number are its name, so
     * that repeating the call does no harm.
     * Errors: ALREADY_EXISTS (TURN_CONFLICT: the number was used for another text; REQUEST_ID_PAYLOAD_MISMATCH),
     * PERMISSION_DENIED (SOURCE_NOT_ALLOWED), INVALID_ARGUMENT (CONTENT_REFUSED: by the tenant's policy),
     * UNIMPLEMENTED (an extractor that this server does not have).
     * </pre>
     */
    public void ingest(dev.muniment.v1.IngestRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.IngestResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getIngestMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * As Ingest, for a conversation under way: any number of requests of one scope, answered once at the
     * end. Each request is stored when it arrives; after a broken stream repeat all of it. Permission:
     * `write`.
     * Errors: those of Ingest; INVALID_ARGUMENT (INVALID_REQUEST) when a later request names another scope,
     * mode or extractor, or the stream has more than 10,000 turns.
     * </pre>
     */
    public io.grpc.stub.StreamObserver<dev.muniment.v1.StreamIngestRequest> streamIngest(
        io.grpc.stub.StreamObserver<dev.muniment.v1.StreamIngestResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncClientStreamingCall(
          getChannel().newCall(getStreamIngestMethod(), getCallOptions()), responseObserver);
    }

    /**
     * <pre>
     * Says how far an ingest has come. Permission: `write` or `recall`.
     * Errors: NOT_FOUND (INGEST_NOT_FOUND).
     * </pre>
     */
    public void getIngest(dev.muniment.v1.GetIngestRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.GetIngestResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetIngestMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Makes a SUPERSEDED or ARCHIVED memory live again; what replaced it is SUPERSEDED by it. Permission:
     * `supersede`.
     * Errors: as for Supersede; FAILED_PRECONDITION (MEMORY_NOT_RESTORABLE), INVALID_ARGUMENT (CONTENT_REFUSED:
     * the subject's consent does not cover it).
     * </pre>
     */
    public void restore(dev.muniment.v1.RestoreRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.RestoreResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRestoreMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Ends a memory that was true until now: its validity is closed and it is ARCHIVED; nothing replaces
     * it. Permission: `supersede`.
     * Errors: as for Supersede; PERMISSION_DENIED with `permission` = "review" for a memory that is trusted
     * more than the caller's credential may say, unless the same credential wrote it or may review.
     * </pre>
     */
    public void retract(dev.muniment.v1.RetractRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.RetractResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRetractMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Takes back a whole Write, Supersede or import by its request id: what it created is ARCHIVED, and
     * what it replaced is ACTIVE again. Permission: `supersede`.
     * Errors: NOT_FOUND (WRITE_NOT_FOUND), PERMISSION_DENIED as for Retract, ABORTED (TRANSACTION_CONFLICT), ALREADY_EXISTS
     * (REQUEST_ID_PAYLOAD_MISMATCH).
     * </pre>
     */
    public void undoWrite(dev.muniment.v1.UndoWriteRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.UndoWriteResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getUndoWriteMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists audit events, newest first, page by page. Permission: `audit`.
     * Errors: INVALID_ARGUMENT (PAGE_TOKEN_INVALID).
     * </pre>
     */
    public void audit(dev.muniment.v1.AuditRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.AuditResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getAuditMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service MemoryService.
   * <pre>
   * Memory for agents: write, recall, correct, erase, and prove.
   * Metadata of every call:
   *  * `authorization`: `Bearer ` and an API key or a JWT; exactly one value.
   *  * `muniment-tenant`: the tenant's name, `^[a-z0-9][a-z0-9_.-]{0,62}$`; exactly one value. It must be
   *    among the tenants of the credential. Nothing in a message names or widens the tenant.
   *  * `muniment-client`: optional, name and version of the client; recorded in the audit trail.
   *  * `traceparent` (W3C): optional; the call becomes part of that trace.
   * Ids in requests are UUIDs in text form; there are no resource names, because the tenant is not part
   * of an id. What belongs to another tenant is answered like what never existed.
   * Repeating calls: everything that changes something takes a `request_id`. Within 72 hours the
   * same id with the same payload returns the response of the first call and does nothing else; with
   * another payload, for another method, or from a credential with other rights, it is ALREADY_EXISTS
   * (REQUEST_ID_PAYLOAD_MISMATCH). Request ids belong to one tenant. Set one on every such call, and repeat
   * with the same one after UNAVAILABLE or DEADLINE_EXCEEDED.
   * Limits: requests up to 4 MiB (REQUEST_TOO_LARGE beyond), responses up to 3.5 MiB, so that a gRPC
   * client with default settings can receive every one.
   * Errors of every call besides those named below: UNAUTHENTICATED, PERMISSION_DENIED,
   * INVALID_ARGUMENT (TENANT_METADATA_INVALID, INVALID_REQUEST, REQUEST_TOO_LARGE), RESOURCE_EXHAUSTED
   * (QUOTA_EXCEEDED, OVERLOADED), UNAVAILABLE (DATABASE_UNAVAILABLE, KEY_STORE_UNAVAILABLE,
   * SHUTTING_DOWN), DEADLINE_EXCEEDED, DATA_LOSS (INTEGRITY_VIOLATION: what the call needs was changed behind
   * the service's back), INTERNAL. See ErrorReason. An OK is only returned when the store
   * says so.
   * </pre>
   */
  public static final class MemoryServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<MemoryServiceBlockingV2Stub> {
    private MemoryServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected MemoryServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new MemoryServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Stores statements; all of the request or nothing. Permission: `write`.
     * Nothing is ever merged by likeness. The same statement (after Unicode NFC and collapsing white
     * space) of the same kind, slot and narrowing reinforces the memory that is there. A slot that is
     * held supersedes its holder. Everything else becomes a new memory. A successful write is seen by
     * every Recall that begins afterwards.
     * Errors: PERMISSION_DENIED (SOURCE_NOT_ALLOWED), INVALID_ARGUMENT (EMBEDDING_MODEL_MISMATCH,
     * CONTENT_REFUSED: by the tenant's policy), ALREADY_EXISTS (REQUEST_ID_PAYLOAD_MISMATCH), ABORTED
     * (TRANSACTION_CONFLICT), RESOURCE_EXHAUSTED
     * (OVERLOADED: too many texts wait for the embedder), UNAVAILABLE (EMBEDDER_UNAVAILABLE: too many
     * memories wait for their vectors already, or the server is set up to store none without).
     * </pre>
     */
    public dev.muniment.v1.WriteResponse write(dev.muniment.v1.WriteRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getWriteMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Finds what is relevant to a query, ranked, at most `limit` memories. Not paginated. Permission:
     * `recall`.
     * A receipt of the answer is recorded before it is sent; if that fails, the call fails. A leg that
     * fails or runs out of time is left out and named in `degraded`. When the contents of the best
     * memories do not fit into 3.5 MiB, the last ones are left out and counted in `left_out`
     * (RESPONSE_SIZE).
     * Errors: INVALID_ARGUMENT (EMBEDDING_MODEL_MISMATCH, CONSISTENCY_TOKEN_INVALID,
     * CONSISTENCY_TOKEN_FOREIGN), OUT_OF_RANGE (CONSISTENCY_TOKEN_EXPIRED), UNIMPLEMENTED.
     * </pre>
     */
    public dev.muniment.v1.RecallResponse recall(dev.muniment.v1.RecallRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRecallMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Replaces a memory by a new one, in one step: at no moment are both live, or none. The old memory
     * keeps its id and its content as history. Permission: `supersede`.
     * Errors: NOT_FOUND (MEMORY_NOT_FOUND), ABORTED (REVISION_CONFLICT, TRANSACTION_CONFLICT),
     * FAILED_PRECONDITION (MEMORY_SUPERSEDED, MEMORY_ERASED, MEMORY_NOT_ACTIVE, SLOT_CONFLICT),
     * PERMISSION_DENIED (SOURCE_NOT_ALLOWED), INVALID_ARGUMENT (EMBEDDING_MODEL_MISMATCH, CONTENT_REFUSED),
     * ALREADY_EXISTS (REQUEST_ID_PAYLOAD_MISMATCH), RESOURCE_EXHAUSTED and UNAVAILABLE as for Write.
     * </pre>
     */
    public dev.muniment.v1.SupersedeResponse supersede(dev.muniment.v1.SupersedeRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getSupersedeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Erases: content, history, vectors and index entries are removed for good, and tombstones are
     * left. For a whole subject or space the keys are destroyed too. Permission: `erase`.
     * When the call returns OK, nothing erased is served any more; if the receipt is PENDING, poll
     * GetErasure for the rest. What is there already erased counts 0.
     * Errors: NOT_FOUND (MEMORY_NOT_FOUND) for a memory id that never existed, in which case nothing is
     * erased; ABORTED (TRANSACTION_CONFLICT), ALREADY_EXISTS (REQUEST_ID_PAYLOAD_MISMATCH).
     * </pre>
     */
    public dev.muniment.v1.EraseResponse erase(dev.muniment.v1.EraseRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getEraseMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns the receipt of an erasure. Permission: `erase` or `audit`.
     * Errors: NOT_FOUND (ERASURE_NOT_FOUND), DATA_LOSS (INTEGRITY_VIOLATION).
     * </pre>
     */
    public dev.muniment.v1.GetErasureResponse getErasure(dev.muniment.v1.GetErasureRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetErasureMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns one memory in whatever state, with its revisions if asked for. Permission: `recall`.
     * Errors: NOT_FOUND (MEMORY_NOT_FOUND), DATA_LOSS (INTEGRITY_VIOLATION); those of a consistency
     * token as for Recall.
     * </pre>
     */
    public dev.muniment.v1.GetMemoryResponse getMemory(dev.muniment.v1.GetMemoryRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetMemoryMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the memories of a scope, newest first, page by page. Permission: `recall`.
     * Errors: INVALID_ARGUMENT (PAGE_TOKEN_INVALID); those of a consistency token as for Recall.
     * </pre>
     */
    public dev.muniment.v1.ListMemoriesResponse listMemories(dev.muniment.v1.ListMemoriesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListMemoriesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * States which of the offered memories really entered a prompt. Only the caller knows. Permission:
     * `recall`. May be called more than once for a recall; every report is recorded.
     * Errors: NOT_FOUND (RECALL_NOT_FOUND), INVALID_ARGUMENT (MEMORY_NOT_IN_RECALL), ALREADY_EXISTS
     * (REQUEST_ID_PAYLOAD_MISMATCH).
     * </pre>
     */
    public dev.muniment.v1.ReportUseResponse reportUse(dev.muniment.v1.ReportUseRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getReportUseMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Takes in turns of a conversation: keeps them as TURN memories and turns them into candidate
     * memories. Permission: `write`. Each turn is taken in once: its session and number are its name, so
     * that repeating the call does no harm.
     * Errors: ALREADY_EXISTS (TURN_CONFLICT: the number was used for another text; REQUEST_ID_PAYLOAD_MISMATCH),
     * PERMISSION_DENIED (SOURCE_NOT_ALLOWED), INVALID_ARGUMENT (CONTENT_REFUSED: by the tenant's policy),
     * UNIMPLEMENTED (an extractor that this server does not have).
     * </pre>
     */
    public dev.muniment.v1.IngestResponse ingest(dev.muniment.v1.IngestRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getIngestMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * As Ingest, for a conversation under way: any number of requests of one scope, answered once at the
     * end. Each request is stored when it arrives; after a broken stream repeat all of it. Permission:
     * `write`.
     * Errors: those of Ingest; INVALID_ARGUMENT (INVALID_REQUEST) when a later request names another scope,
     * mode or extractor, or the stream has more than 10,000 turns.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<dev.muniment.v1.StreamIngestRequest, dev.muniment.v1.StreamIngestResponse>
        streamIngest() {
      return io.grpc.stub.ClientCalls.blockingClientStreamingCall(
          getChannel(), getStreamIngestMethod(), getCallOptions());
    }

    /**
     * <pre>
     * Says how far an ingest has come. Permission: `write` or `recall`.
     * Errors: NOT_FOUND (INGEST_NOT_FOUND).
     * </pre>
     */
    public dev.muniment.v1.GetIngestResponse getIngest(dev.muniment.v1.GetIngestRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetIngestMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Makes a SUPERSEDED or ARCHIVED memory live again; what replaced it is SUPERSEDED by it. Permission:
     * `supersede`.
     * Errors: as for Supersede; FAILED_PRECONDITION (MEMORY_NOT_RESTORABLE), INVALID_ARGUMENT (CONTENT_REFUSED:
     * the subject's consent does not cover it).
     * </pre>
     */
    public dev.muniment.v1.RestoreResponse restore(dev.muniment.v1.RestoreRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRestoreMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Ends a memory that was true until now: its validity is closed and it is ARCHIVED; nothing replaces
     * it. Permission: `supersede`.
     * Errors: as for Supersede; PERMISSION_DENIED with `permission` = "review" for a memory that is trusted
     * more than the caller's credential may say, unless the same credential wrote it or may review.
     * </pre>
     */
    public dev.muniment.v1.RetractResponse retract(dev.muniment.v1.RetractRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRetractMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Takes back a whole Write, Supersede or import by its request id: what it created is ARCHIVED, and
     * what it replaced is ACTIVE again. Permission: `supersede`.
     * Errors: NOT_FOUND (WRITE_NOT_FOUND), PERMISSION_DENIED as for Retract, ABORTED (TRANSACTION_CONFLICT), ALREADY_EXISTS
     * (REQUEST_ID_PAYLOAD_MISMATCH).
     * </pre>
     */
    public dev.muniment.v1.UndoWriteResponse undoWrite(dev.muniment.v1.UndoWriteRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getUndoWriteMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists audit events, newest first, page by page. Permission: `audit`.
     * Errors: INVALID_ARGUMENT (PAGE_TOKEN_INVALID).
     * </pre>
     */
    public dev.muniment.v1.AuditResponse audit(dev.muniment.v1.AuditRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getAuditMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service MemoryService.
   * <pre>
   * Memory for agents: write, recall, correct, erase, and prove.
   * Metadata of every call:
   *  * `authorization`: `Bearer ` and an API key or a JWT; exactly one value.
   *  * `muniment-tenant`: the tenant's name, `^[a-z0-9][a-z0-9_.-]{0,62}$`; exactly one value. It must be
   *    among the tenants of the credential. Nothing in a message names or widens the tenant.
   *  * `muniment-client`: optional, name and version of the client; recorded in the audit trail.
   *  * `traceparent` (W3C): optional; the call becomes part of that trace.
   * Ids in requests are UUIDs in text form; there are no resource names, because the tenant is not part
   * of an id. What belongs to another tenant is answered like what never existed.
   * Repeating calls: everything that changes something takes a `request_id`. Within 72 hours the
   * same id with the same payload returns the response of the first call and does nothing else; with
   * another payload, for another method, or from a credential with other rights, it is ALREADY_EXISTS
   * (REQUEST_ID_PAYLOAD_MISMATCH). Request ids belong to one tenant. Set one on every such call, and repeat
   * with the same one after UNAVAILABLE or DEADLINE_EXCEEDED.
   * Limits: requests up to 4 MiB (REQUEST_TOO_LARGE beyond), responses up to 3.5 MiB, so that a gRPC
   * client with default settings can receive every one.
   * Errors of every call besides those named below: UNAUTHENTICATED, PERMISSION_DENIED,
   * INVALID_ARGUMENT (TENANT_METADATA_INVALID, INVALID_REQUEST, REQUEST_TOO_LARGE), RESOURCE_EXHAUSTED
   * (QUOTA_EXCEEDED, OVERLOADED), UNAVAILABLE (DATABASE_UNAVAILABLE, KEY_STORE_UNAVAILABLE,
   * SHUTTING_DOWN), DEADLINE_EXCEEDED, DATA_LOSS (INTEGRITY_VIOLATION: what the call needs was changed behind
   * the service's back), INTERNAL. See ErrorReason. An OK is only returned when the store
   * says so.
   * </pre>
   */
  public static final class MemoryServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<MemoryServiceBlockingStub> {
    private MemoryServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected MemoryServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new MemoryServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Stores statements; all of the request or nothing. Permission: `write`.
     * Nothing is ever merged by likeness. The same statement (after Unicode NFC and collapsing white
     * space) of the same kind, slot and narrowing reinforces the memory that is there. A slot that is
     * held supersedes its holder. Everything else becomes a new memory. A successful write is seen by
     * every Recall that begins afterwards.
     * Errors: PERMISSION_DENIED (SOURCE_NOT_ALLOWED), INVALID_ARGUMENT (EMBEDDING_MODEL_MISMATCH,
     * CONTENT_REFUSED: by the tenant's policy), ALREADY_EXISTS (REQUEST_ID_PAYLOAD_MISMATCH), ABORTED
     * (TRANSACTION_CONFLICT), RESOURCE_EXHAUSTED
     * (OVERLOADED: too many texts wait for the embedder), UNAVAILABLE (EMBEDDER_UNAVAILABLE: too many
     * memories wait for their vectors already, or the server is set up to store none without).
     * </pre>
     */
    public dev.muniment.v1.WriteResponse write(dev.muniment.v1.WriteRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getWriteMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Finds what is relevant to a query, ranked, at most `limit` memories. Not paginated. Permission:
     * `recall`.
     * A receipt of the answer is recorded before it is sent; if that fails, the call fails. A leg that
     * fails or runs out of time is left out and named in `degraded`. When the contents of the best
     * memories do not fit into 3.5 MiB, the last ones are left out and counted in `left_out`
     * (RESPONSE_SIZE).
     * Errors: INVALID_ARGUMENT (EMBEDDING_MODEL_MISMATCH, CONSISTENCY_TOKEN_INVALID,
     * CONSISTENCY_TOKEN_FOREIGN), OUT_OF_RANGE (CONSISTENCY_TOKEN_EXPIRED), UNIMPLEMENTED.
     * </pre>
     */
    public dev.muniment.v1.RecallResponse recall(dev.muniment.v1.RecallRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRecallMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Replaces a memory by a new one, in one step: at no moment are both live, or none. The old memory
     * keeps its id and its content as history. Permission: `supersede`.
     * Errors: NOT_FOUND (MEMORY_NOT_FOUND), ABORTED (REVISION_CONFLICT, TRANSACTION_CONFLICT),
     * FAILED_PRECONDITION (MEMORY_SUPERSEDED, MEMORY_ERASED, MEMORY_NOT_ACTIVE, SLOT_CONFLICT),
     * PERMISSION_DENIED (SOURCE_NOT_ALLOWED), INVALID_ARGUMENT (EMBEDDING_MODEL_MISMATCH, CONTENT_REFUSED),
     * ALREADY_EXISTS (REQUEST_ID_PAYLOAD_MISMATCH), RESOURCE_EXHAUSTED and UNAVAILABLE as for Write.
     * </pre>
     */
    public dev.muniment.v1.SupersedeResponse supersede(dev.muniment.v1.SupersedeRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSupersedeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Erases: content, history, vectors and index entries are removed for good, and tombstones are
     * left. For a whole subject or space the keys are destroyed too. Permission: `erase`.
     * When the call returns OK, nothing erased is served any more; if the receipt is PENDING, poll
     * GetErasure for the rest. What is there already erased counts 0.
     * Errors: NOT_FOUND (MEMORY_NOT_FOUND) for a memory id that never existed, in which case nothing is
     * erased; ABORTED (TRANSACTION_CONFLICT), ALREADY_EXISTS (REQUEST_ID_PAYLOAD_MISMATCH).
     * </pre>
     */
    public dev.muniment.v1.EraseResponse erase(dev.muniment.v1.EraseRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getEraseMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns the receipt of an erasure. Permission: `erase` or `audit`.
     * Errors: NOT_FOUND (ERASURE_NOT_FOUND), DATA_LOSS (INTEGRITY_VIOLATION).
     * </pre>
     */
    public dev.muniment.v1.GetErasureResponse getErasure(dev.muniment.v1.GetErasureRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetErasureMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns one memory in whatever state, with its revisions if asked for. Permission: `recall`.
     * Errors: NOT_FOUND (MEMORY_NOT_FOUND), DATA_LOSS (INTEGRITY_VIOLATION); those of a consistency
     * token as for Recall.
     * </pre>
     */
    public dev.muniment.v1.GetMemoryResponse getMemory(dev.muniment.v1.GetMemoryRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetMemoryMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the memories of a scope, newest first, page by page. Permission: `recall`.
     * Errors: INVALID_ARGUMENT (PAGE_TOKEN_INVALID); those of a consistency token as for Recall.
     * </pre>
     */
    public dev.muniment.v1.ListMemoriesResponse listMemories(dev.muniment.v1.ListMemoriesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListMemoriesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * States which of the offered memories really entered a prompt. Only the caller knows. Permission:
     * `recall`. May be called more than once for a recall; every report is recorded.
     * Errors: NOT_FOUND (RECALL_NOT_FOUND), INVALID_ARGUMENT (MEMORY_NOT_IN_RECALL), ALREADY_EXISTS
     * (REQUEST_ID_PAYLOAD_MISMATCH).
     * </pre>
     */
    public dev.muniment.v1.ReportUseResponse reportUse(dev.muniment.v1.ReportUseRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getReportUseMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Takes in turns of a conversation: keeps them as TURN memories and turns them into candidate
     * memories. Permission: `write`. Each turn is taken in once: its session and number are its name, so
     * that repeating the call does no harm.
     * Errors: ALREADY_EXISTS (TURN_CONFLICT: the number was used for another text; REQUEST_ID_PAYLOAD_MISMATCH),
     * PERMISSION_DENIED (SOURCE_NOT_ALLOWED), INVALID_ARGUMENT (CONTENT_REFUSED: by the tenant's policy),
     * UNIMPLEMENTED (an extractor that this server does not have).
     * </pre>
     */
    public dev.muniment.v1.IngestResponse ingest(dev.muniment.v1.IngestRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getIngestMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Says how far an ingest has come. Permission: `write` or `recall`.
     * Errors: NOT_FOUND (INGEST_NOT_FOUND).
     * </pre>
     */
    public dev.muniment.v1.GetIngestResponse getIngest(dev.muniment.v1.GetIngestRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetIngestMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Makes a SUPERSEDED or ARCHIVED memory live again; what replaced it is SUPERSEDED by it. Permission:
     * `supersede`.
     * Errors: as for Supersede; FAILED_PRECONDITION (MEMORY_NOT_RESTORABLE), INVALID_ARGUMENT (CONTENT_REFUSED:
     * the subject's consent does not cover it).
     * </pre>
     */
    public dev.muniment.v1.RestoreResponse restore(dev.muniment.v1.RestoreRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRestoreMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Ends a memory that was true until now: its validity is closed and it is ARCHIVED; nothing replaces
     * it. Permission: `supersede`.
     * Errors: as for Supersede; PERMISSION_DENIED with `permission` = "review" for a memory that is trusted
     * more than the caller's credential may say, unless the same credential wrote it or may review.
     * </pre>
     */
    public dev.muniment.v1.RetractResponse retract(dev.muniment.v1.RetractRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRetractMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Takes back a whole Write, Supersede or import by its request id: what it created is ARCHIVED, and
     * what it replaced is ACTIVE again. Permission: `supersede`.
     * Errors: NOT_FOUND (WRITE_NOT_FOUND), PERMISSION_DENIED as for Retract, ABORTED (TRANSACTION_CONFLICT), ALREADY_EXISTS
     * (REQUEST_ID_PAYLOAD_MISMATCH).
     * </pre>
     */
    public dev.muniment.v1.UndoWriteResponse undoWrite(dev.muniment.v1.UndoWriteRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getUndoWriteMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists audit events, newest first, page by page. Permission: `audit`.
     * Errors: INVALID_ARGUMENT (PAGE_TOKEN_INVALID).
     * </pre>
     */
    public dev.muniment.v1.AuditResponse audit(dev.muniment.v1.AuditRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getAuditMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service MemoryService.
   * <pre>
   * Memory for agents: write, recall, correct, erase, and prove.
   * Metadata of every call:
   *  * `authorization`: `Bearer ` and an API key or a JWT; exactly one value.
   *  * `muniment-tenant`: the tenant's name, `^[a-z0-9][a-z0-9_.-]{0,62}$`; exactly one value. It must be
   *    among the tenants of the credential. Nothing in a message names or widens the tenant.
   *  * `muniment-client`: optional, name and version of the client; recorded in the audit trail.
   *  * `traceparent` (W3C): optional; the call becomes part of that trace.
   * Ids in requests are UUIDs in text form; there are no resource names, because the tenant is not part
   * of an id. What belongs to another tenant is answered like what never existed.
   * Repeating calls: everything that changes something takes a `request_id`. Within 72 hours the
   * same id with the same payload returns the response of the first call and does nothing else; with
   * another payload, for another method, or from a credential with other rights, it is ALREADY_EXISTS
   * (REQUEST_ID_PAYLOAD_MISMATCH). Request ids belong to one tenant. Set one on every such call, and repeat
   * with the same one after UNAVAILABLE or DEADLINE_EXCEEDED.
   * Limits: requests up to 4 MiB (REQUEST_TOO_LARGE beyond), responses up to 3.5 MiB, so that a gRPC
   * client with default settings can receive every one.
   * Errors of every call besides those named below: UNAUTHENTICATED, PERMISSION_DENIED,
   * INVALID_ARGUMENT (TENANT_METADATA_INVALID, INVALID_REQUEST, REQUEST_TOO_LARGE), RESOURCE_EXHAUSTED
   * (QUOTA_EXCEEDED, OVERLOADED), UNAVAILABLE (DATABASE_UNAVAILABLE, KEY_STORE_UNAVAILABLE,
   * SHUTTING_DOWN), DEADLINE_EXCEEDED, DATA_LOSS (INTEGRITY_VIOLATION: what the call needs was changed behind
   * the service's back), INTERNAL. See ErrorReason. An OK is only returned when the store
   * says so.
   * </pre>
   */
  public static final class MemoryServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<MemoryServiceFutureStub> {
    private MemoryServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected MemoryServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new MemoryServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Stores statements; all of the request or nothing. Permission: `write`.
     * Nothing is ever merged by likeness. The same statement (after Unicode NFC and collapsing white
     * space) of the same kind, slot and narrowing reinforces the memory that is there. A slot that is
     * held supersedes its holder. Everything else becomes a new memory. A successful write is seen by
     * every Recall that begins afterwards.
     * Errors: PERMISSION_DENIED (SOURCE_NOT_ALLOWED), INVALID_ARGUMENT (EMBEDDING_MODEL_MISMATCH,
     * CONTENT_REFUSED: by the tenant's policy), ALREADY_EXISTS (REQUEST_ID_PAYLOAD_MISMATCH), ABORTED
     * (TRANSACTION_CONFLICT), RESOURCE_EXHAUSTED
     * (OVERLOADED: too many texts wait for the embedder), UNAVAILABLE (EMBEDDER_UNAVAILABLE: too many
     * memories wait for their vectors already, or the server is set up to store none without).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.muniment.v1.WriteResponse> write(
        dev.muniment.v1.WriteRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getWriteMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Finds what is relevant to a query, ranked, at most `limit` memories. Not paginated. Permission:
     * `recall`.
     * A receipt of the answer is recorded before it is sent; if that fails, the call fails. A leg that
     * fails or runs out of time is left out and named in `degraded`. When the contents of the best
     * memories do not fit into 3.5 MiB, the last ones are left out and counted in `left_out`
     * (RESPONSE_SIZE).
     * Errors: INVALID_ARGUMENT (EMBEDDING_MODEL_MISMATCH, CONSISTENCY_TOKEN_INVALID,
     * CONSISTENCY_TOKEN_FOREIGN), OUT_OF_RANGE (CONSISTENCY_TOKEN_EXPIRED), UNIMPLEMENTED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.muniment.v1.RecallResponse> recall(
        dev.muniment.v1.RecallRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRecallMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Replaces a memory by a new one, in one step: at no moment are both live, or none. The old memory
     * keeps its id and its content as history. Permission: `supersede`.
     * Errors: NOT_FOUND (MEMORY_NOT_FOUND), ABORTED (REVISION_CONFLICT, TRANSACTION_CONFLICT),
     * FAILED_PRECONDITION (MEMORY_SUPERSEDED, MEMORY_ERASED, MEMORY_NOT_ACTIVE, SLOT_CONFLICT),
     * PERMISSION_DENIED (SOURCE_NOT_ALLOWED), INVALID_ARGUMENT (EMBEDDING_MODEL_MISMATCH, CONTENT_REFUSED),
     * ALREADY_EXISTS (REQUEST_ID_PAYLOAD_MISMATCH), RESOURCE_EXHAUSTED and UNAVAILABLE as for Write.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.muniment.v1.SupersedeResponse> supersede(
        dev.muniment.v1.SupersedeRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getSupersedeMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Erases: content, history, vectors and index entries are removed for good, and tombstones are
     * left. For a whole subject or space the keys are destroyed too. Permission: `erase`.
     * When the call returns OK, nothing erased is served any more; if the receipt is PENDING, poll
     * GetErasure for the rest. What is there already erased counts 0.
     * Errors: NOT_FOUND (MEMORY_NOT_FOUND) for a memory id that never existed, in which case nothing is
     * erased; ABORTED (TRANSACTION_CONFLICT), ALREADY_EXISTS (REQUEST_ID_PAYLOAD_MISMATCH).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.muniment.v1.EraseResponse> erase(
        dev.muniment.v1.EraseRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getEraseMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Returns the receipt of an erasure. Permission: `erase` or `audit`.
     * Errors: NOT_FOUND (ERASURE_NOT_FOUND), DATA_LOSS (INTEGRITY_VIOLATION).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.muniment.v1.GetErasureResponse> getErasure(
        dev.muniment.v1.GetErasureRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetErasureMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Returns one memory in whatever state, with its revisions if asked for. Permission: `recall`.
     * Errors: NOT_FOUND (MEMORY_NOT_FOUND), DATA_LOSS (INTEGRITY_VIOLATION); those of a consistency
     * token as for Recall.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.muniment.v1.GetMemoryResponse> getMemory(
        dev.muniment.v1.GetMemoryRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetMemoryMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists the memories of a scope, newest first, page by page. Permission: `recall`.
     * Errors: INVALID_ARGUMENT (PAGE_TOKEN_INVALID); those of a consistency token as for Recall.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.muniment.v1.ListMemoriesResponse> listMemories(
        dev.muniment.v1.ListMemoriesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListMemoriesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * States which of the offered memories really entered a prompt. Only the caller knows. Permission:
     * `recall`. May be called more than once for a recall; every report is recorded.
     * Errors: NOT_FOUND (RECALL_NOT_FOUND), INVALID_ARGUMENT (MEMORY_NOT_IN_RECALL), ALREADY_EXISTS
     * (REQUEST_ID_PAYLOAD_MISMATCH).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.muniment.v1.ReportUseResponse> reportUse(
        dev.muniment.v1.ReportUseRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getReportUseMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Takes in turns of a conversation: keeps them as TURN memories and turns them into candidate
     * memories. Permission: `write`. Each turn is taken in once: its session and number are its name, so
     * that repeating the call does no harm.
     * Errors: ALREADY_EXISTS (TURN_CONFLICT: the number was used for another text; REQUEST_ID_PAYLOAD_MISMATCH),
     * PERMISSION_DENIED (SOURCE_NOT_ALLOWED), INVALID_ARGUMENT (CONTENT_REFUSED: by the tenant's policy),
     * UNIMPLEMENTED (an extractor that this server does not have).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.muniment.v1.IngestResponse> ingest(
        dev.muniment.v1.IngestRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getIngestMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Says how far an ingest has come. Permission: `write` or `recall`.
     * Errors: NOT_FOUND (INGEST_NOT_FOUND).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.muniment.v1.GetIngestResponse> getIngest(
        dev.muniment.v1.GetIngestRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetIngestMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Makes a SUPERSEDED or ARCHIVED memory live again; what replaced it is SUPERSEDED by it. Permission:
     * `supersede`.
     * Errors: as for Supersede; FAILED_PRECONDITION (MEMORY_NOT_RESTORABLE), INVALID_ARGUMENT (CONTENT_REFUSED:
     * the subject's consent does not cover it).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.muniment.v1.RestoreResponse> restore(
        dev.muniment.v1.RestoreRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRestoreMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Ends a memory that was true until now: its validity is closed and it is ARCHIVED; nothing replaces
     * it. Permission: `supersede`.
     * Errors: as for Supersede; PERMISSION_DENIED with `permission` = "review" for a memory that is trusted
     * more than the caller's credential may say, unless the same credential wrote it or may review.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.muniment.v1.RetractResponse> retract(
        dev.muniment.v1.RetractRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRetractMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Takes back a whole Write, Supersede or import by its request id: what it created is ARCHIVED, and
     * what it replaced is ACTIVE again. Permission: `supersede`.
     * Errors: NOT_FOUND (WRITE_NOT_FOUND), PERMISSION_DENIED as for Retract, ABORTED (TRANSACTION_CONFLICT), ALREADY_EXISTS
     * (REQUEST_ID_PAYLOAD_MISMATCH).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.muniment.v1.UndoWriteResponse> undoWrite(
        dev.muniment.v1.UndoWriteRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getUndoWriteMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists audit events, newest first, page by page. Permission: `audit`.
     * Errors: INVALID_ARGUMENT (PAGE_TOKEN_INVALID).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.muniment.v1.AuditResponse> audit(
        dev.muniment.v1.AuditRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getAuditMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_WRITE = 0;
  private static final int METHODID_RECALL = 1;
  private static final int METHODID_SUPERSEDE = 2;
  private static final int METHODID_ERASE = 3;
  private static final int METHODID_GET_ERASURE = 4;
  private static final int METHODID_GET_MEMORY = 5;
  private static final int METHODID_LIST_MEMORIES = 6;
  private static final int METHODID_REPORT_USE = 7;
  private static final int METHODID_INGEST = 8;
  private static final int METHODID_GET_INGEST = 9;
  private static final int METHODID_RESTORE = 10;
  private static final int METHODID_RETRACT = 11;
  private static final int METHODID_UNDO_WRITE = 12;
  private static final int METHODID_AUDIT = 13;
  private static final int METHODID_STREAM_INGEST = 14;

  private static final class MethodHandlers<Req, Resp> implements
      io.grpc.stub.ServerCalls.UnaryMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ServerStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ClientStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.BidiStreamingMethod<Req, Resp> {
    private final AsyncService serviceImpl;
    private final int methodId;

    MethodHandlers(AsyncService serviceImpl, int methodId) {
      this.serviceImpl = serviceImpl;
      this.methodId = methodId;
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public void invoke(Req request, io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_WRITE:
          serviceImpl.write((dev.muniment.v1.WriteRequest) request,
              (io.grpc.stub.StreamObserver<dev.muniment.v1.WriteResponse>) responseObserver);
          break;
        case METHODID_RECALL:
          serviceImpl.recall((dev.muniment.v1.RecallRequest) request,
              (io.grpc.stub.StreamObserver<dev.muniment.v1.RecallResponse>) responseObserver);
          break;
        case METHODID_SUPERSEDE:
          serviceImpl.supersede((dev.muniment.v1.SupersedeRequest) request,
              (io.grpc.stub.StreamObserver<dev.muniment.v1.SupersedeResponse>) responseObserver);
          break;
        case METHODID_ERASE:
          serviceImpl.erase((dev.muniment.v1.EraseRequest) request,
              (io.grpc.stub.StreamObserver<dev.muniment.v1.EraseResponse>) responseObserver);
          break;
        case METHODID_GET_ERASURE:
          serviceImpl.getErasure((dev.muniment.v1.GetErasureRequest) request,
              (io.grpc.stub.StreamObserver<dev.muniment.v1.GetErasureResponse>) responseObserver);
          break;
        case METHODID_GET_MEMORY:
          serviceImpl.getMemory((dev.muniment.v1.GetMemoryRequest) request,
              (io.grpc.stub.StreamObserver<dev.muniment.v1.GetMemoryResponse>) responseObserver);
          break;
        case METHODID_LIST_MEMORIES:
          serviceImpl.listMemories((dev.muniment.v1.ListMemoriesRequest) request,
              (io.grpc.stub.StreamObserver<dev.muniment.v1.ListMemoriesResponse>) responseObserver);
          break;
        case METHODID_REPORT_USE:
          serviceImpl.reportUse((dev.muniment.v1.ReportUseRequest) request,
              (io.grpc.stub.StreamObserver<dev.muniment.v1.ReportUseResponse>) responseObserver);
          break;
        case METHODID_INGEST:
          serviceImpl.ingest((dev.muniment.v1.IngestRequest) request,
              (io.grpc.stub.StreamObserver<dev.muniment.v1.IngestResponse>) responseObserver);
          break;
        case METHODID_GET_INGEST:
          serviceImpl.getIngest((dev.muniment.v1.GetIngestRequest) request,
              (io.grpc.stub.StreamObserver<dev.muniment.v1.GetIngestResponse>) responseObserver);
          break;
        case METHODID_RESTORE:
          serviceImpl.restore((dev.muniment.v1.RestoreRequest) request,
              (io.grpc.stub.StreamObserver<dev.muniment.v1.RestoreResponse>) responseObserver);
          break;
        case METHODID_RETRACT:
          serviceImpl.retract((dev.muniment.v1.RetractRequest) request,
              (io.grpc.stub.StreamObserver<dev.muniment.v1.RetractResponse>) responseObserver);
          break;
        case METHODID_UNDO_WRITE:
          serviceImpl.undoWrite((dev.muniment.v1.UndoWriteRequest) request,
              (io.grpc.stub.StreamObserver<dev.muniment.v1.UndoWriteResponse>) responseObserver);
          break;
        case METHODID_AUDIT:
          serviceImpl.audit((dev.muniment.v1.AuditRequest) request,
              (io.grpc.stub.StreamObserver<dev.muniment.v1.AuditResponse>) responseObserver);
          break;
        default:
          throw new AssertionError();
      }
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public io.grpc.stub.StreamObserver<Req> invoke(
        io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_STREAM_INGEST:
          return (io.grpc.stub.StreamObserver<Req>) serviceImpl.streamIngest(
              (io.grpc.stub.StreamObserver<dev.muniment.v1.StreamIngestResponse>) responseObserver);
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getWriteMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.muniment.v1.WriteRequest,
              dev.muniment.v1.WriteResponse>(
                service, METHODID_WRITE)))
        .addMethod(
          getRecallMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.muniment.v1.RecallRequest,
              dev.muniment.v1.RecallResponse>(
                service, METHODID_RECALL)))
        .addMethod(
          getSupersedeMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.muniment.v1.SupersedeRequest,
              dev.muniment.v1.SupersedeResponse>(
                service, METHODID_SUPERSEDE)))
        .addMethod(
          getEraseMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.muniment.v1.EraseRequest,
              dev.muniment.v1.EraseResponse>(
                service, METHODID_ERASE)))
        .addMethod(
          getGetErasureMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.muniment.v1.GetErasureRequest,
              dev.muniment.v1.GetErasureResponse>(
                service, METHODID_GET_ERASURE)))
        .addMethod(
          getGetMemoryMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.muniment.v1.GetMemoryRequest,
              dev.muniment.v1.GetMemoryResponse>(
                service, METHODID_GET_MEMORY)))
        .addMethod(
          getListMemoriesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.muniment.v1.ListMemoriesRequest,
              dev.muniment.v1.ListMemoriesResponse>(
                service, METHODID_LIST_MEMORIES)))
        .addMethod(
          getReportUseMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.muniment.v1.ReportUseRequest,
              dev.muniment.v1.ReportUseResponse>(
                service, METHODID_REPORT_USE)))
        .addMethod(
          getIngestMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.muniment.v1.IngestRequest,
              dev.muniment.v1.IngestResponse>(
                service, METHODID_INGEST)))
        .addMethod(
          getStreamIngestMethod(),
          io.grpc.stub.ServerCalls.asyncClientStreamingCall(
            new MethodHandlers<
              dev.muniment.v1.StreamIngestRequest,
              dev.muniment.v1.StreamIngestResponse>(
                service, METHODID_STREAM_INGEST)))
        .addMethod(
          getGetIngestMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.muniment.v1.GetIngestRequest,
              dev.muniment.v1.GetIngestResponse>(
                service, METHODID_GET_INGEST)))
        .addMethod(
          getRestoreMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.muniment.v1.RestoreRequest,
              dev.muniment.v1.RestoreResponse>(
                service, METHODID_RESTORE)))
        .addMethod(
          getRetractMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.muniment.v1.RetractRequest,
              dev.muniment.v1.RetractResponse>(
                service, METHODID_RETRACT)))
        .addMethod(
          getUndoWriteMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.muniment.v1.UndoWriteRequest,
              dev.muniment.v1.UndoWriteResponse>(
                service, METHODID_UNDO_WRITE)))
        .addMethod(
          getAuditMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.muniment.v1.AuditRequest,
              dev.muniment.v1.AuditResponse>(
                service, METHODID_AUDIT)))
        .build();
  }

  private static abstract class MemoryServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    MemoryServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.muniment.v1.MemoryServiceProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("MemoryService");
    }
  }

  private static final class MemoryServiceFileDescriptorSupplier
      extends MemoryServiceBaseDescriptorSupplier {
    MemoryServiceFileDescriptorSupplier() {}
  }

  private static final class MemoryServiceMethodDescriptorSupplier
      extends MemoryServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    MemoryServiceMethodDescriptorSupplier(java.lang.String methodName) {
      this.methodName = methodName;
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.MethodDescriptor getMethodDescriptor() {
      return getServiceDescriptor().findMethodByName(methodName);
    }
  }

  private static volatile io.grpc.ServiceDescriptor serviceDescriptor;

  public static io.grpc.ServiceDescriptor getServiceDescriptor() {
    io.grpc.ServiceDescriptor result = serviceDescriptor;
    if (result == null) {
      synchronized (MemoryServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new MemoryServiceFileDescriptorSupplier())
              .addMethod(getWriteMethod())
              .addMethod(getRecallMethod())
              .addMethod(getSupersedeMethod())
              .addMethod(getEraseMethod())
              .addMethod(getGetErasureMethod())
              .addMethod(getGetMemoryMethod())
              .addMethod(getListMemoriesMethod())
              .addMethod(getReportUseMethod())
              .addMethod(getIngestMethod())
              .addMethod(getStreamIngestMethod())
              .addMethod(getGetIngestMethod())
              .addMethod(getRestoreMethod())
              .addMethod(getRetractMethod())
              .addMethod(getUndoWriteMethod())
              .addMethod(getAuditMethod())
              .build();
        }
      }
    }
    return result;
  }
}
