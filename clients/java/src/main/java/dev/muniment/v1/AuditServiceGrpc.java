package dev.muniment.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Proof for auditors. Needs the permission `audit`. Metadata and errors as for MemoryService; the
 * paged list of events is MemoryService.Audit.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class AuditServiceGrpc {

  private AuditServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "muniment.v1.AuditService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.muniment.v1.GetRecallRequest,
      dev.muniment.v1.GetRecallResponse> getGetRecallMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetRecall",
      requestType = dev.muniment.v1.GetRecallRequest.class,
      responseType = dev.muniment.v1.GetRecallResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.muniment.v1.GetRecallRequest,
      dev.muniment.v1.GetRecallResponse> getGetRecallMethod() {
    io.grpc.MethodDescriptor<dev.muniment.v1.GetRecallRequest, dev.muniment.v1.GetRecallResponse> getGetRecallMethod;
    if ((getGetRecallMethod = AuditServiceGrpc.getGetRecallMethod) == null) {
      synchronized (AuditServiceGrpc.class) {
        if ((getGetRecallMethod = AuditServiceGrpc.getGetRecallMethod) == null) {
          AuditServiceGrpc.getGetRecallMethod = getGetRecallMethod =
              io.grpc.MethodDescriptor.<dev.muniment.v1.GetRecallRequest, dev.muniment.v1.GetRecallResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetRecall"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.GetRecallRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.GetRecallResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AuditServiceMethodDescriptorSupplier("GetRecall"))
              .build();
        }
      }
    }
    return getGetRecallMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.muniment.v1.ExportAuditRequest,
      dev.muniment.v1.ExportAuditResponse> getExportAuditMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ExportAudit",
      requestType = dev.muniment.v1.ExportAuditRequest.class,
      responseType = dev.muniment.v1.ExportAuditResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<dev.muniment.v1.ExportAuditRequest,
      dev.muniment.v1.ExportAuditResponse> getExportAuditMethod() {
    io.grpc.MethodDescriptor<dev.muniment.v1.ExportAuditRequest, dev.muniment.v1.ExportAuditResponse> getExportAuditMethod;
    if ((getExportAuditMethod = AuditServiceGrpc.getExportAuditMethod) == null) {
      synchronized (AuditServiceGrpc.class) {
        if ((getExportAuditMethod = AuditServiceGrpc.getExportAuditMethod) == null) {
          AuditServiceGrpc.getExportAuditMethod = getExportAuditMethod =
              io.grpc.MethodDescriptor.<dev.muniment.v1.ExportAuditRequest, dev.muniment.v1.ExportAuditResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ExportAudit"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.ExportAuditRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.ExportAuditResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AuditServiceMethodDescriptorSupplier("ExportAudit"))
              .build();
        }
      }
    }
    return getExportAuditMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static AuditServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<AuditServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<AuditServiceStub>() {
        @java.lang.Override
        public AuditServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new AuditServiceStub(channel, callOptions);
        }
      };
    return AuditServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static AuditServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<AuditServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<AuditServiceBlockingV2Stub>() {
        @java.lang.Override
        public AuditServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new AuditServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return AuditServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static AuditServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<AuditServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<AuditServiceBlockingStub>() {
        @java.lang.Override
        public AuditServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new AuditServiceBlockingStub(channel, callOptions);
        }
      };
    return AuditServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static AuditServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<AuditServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<AuditServiceFutureStub>() {
        @java.lang.Override
        public AuditServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new AuditServiceFutureStub(channel, callOptions);
        }
      };
    return AuditServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Proof for auditors. Needs the permission `audit`. Metadata and errors as for MemoryService; the
   * paged list of events is MemoryService.Audit.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Returns the receipt of one Recall: what was offered, in which version, why, and what was used.
     * Errors: NOT_FOUND (RECALL_NOT_FOUND), DATA_LOSS (INTEGRITY_VIOLATION).
     * </pre>
     */
    default void getRecall(dev.muniment.v1.GetRecallRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.GetRecallResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetRecallMethod(), responseObserver);
    }

    /**
     * <pre>
     * Sends the tenant's chain in ascending order with all that somebody outside needs to check it.
     * For every event, `digest` is SHA-256 over: the text "muniment.audit.v1", a zero byte, `prev_digest`
     * (32 bytes), `sequence` (8 bytes, big endian), `canonical_bytes`. Each `prev_digest` is the `digest` of
     * the event before. A checkpoint's signature fixes everything up to its `sequence`. Changed, dropped,
     * exchanged and inserted events break this; a tail that was cut off shows against a checkpoint kept
     * elsewhere.
     * A message holds at most 3.5 MiB. After a broken stream go on with `from_sequence`.
     * </pre>
     */
    default void exportAudit(dev.muniment.v1.ExportAuditRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.ExportAuditResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getExportAuditMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service AuditService.
   * <pre>
   * Proof for auditors. Needs the permission `audit`. Metadata and errors as for MemoryService; the
   * paged list of events is MemoryService.Audit.
   * </pre>
   */
  public static abstract class AuditServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return AuditServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service AuditService.
   * <pre>
   * Proof for auditors. Needs the permission `audit`. Metadata and errors as for MemoryService; the
   * paged list of events is MemoryService.Audit.
   * </pre>
   */
  public static final class AuditServiceStub
      extends io.grpc.stub.AbstractAsyncStub<AuditServiceStub> {
    private AuditServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected AuditServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new AuditServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Returns the receipt of one Recall: what was offered, in which version, why, and what was used.
     * Errors: NOT_FOUND (RECALL_NOT_FOUND), DATA_LOSS (INTEGRITY_VIOLATION).
     * </pre>
     */
    public void getRecall(dev.muniment.v1.GetRecallRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.GetRecallResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetRecallMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Sends the tenant's chain in ascending order with all that somebody outside needs to check it.
     * For every event, `digest` is SHA-256 over: the text "muniment.audit.v1", a zero byte, `prev_digest`
     * (32 bytes), `sequence` (8 bytes, big endian), `canonical_bytes`. Each `prev_digest` is the `digest` of
     * the event before. A checkpoint's signature fixes everything up to its `sequence`. Changed, dropped,
     * exchanged and inserted events break this; a tail that was cut off shows against a checkpoint kept
     * elsewhere.
     * A message holds at most 3.5 MiB. After a broken stream go on with `from_sequence`.
     * </pre>
     */
    public void exportAudit(dev.muniment.v1.ExportAuditRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.ExportAuditResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getExportAuditMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service AuditService.
   * <pre>
   * Proof for auditors. Needs the permission `audit`. Metadata and errors as for MemoryService; the
   * paged list of events is MemoryService.Audit.
   * </pre>
   */
  public static final class AuditServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<AuditServiceBlockingV2Stub> {
    private AuditServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected AuditServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new AuditServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Returns the receipt of one Recall: what was offered, in which version, why, and what was used.
     * Errors: NOT_FOUND (RECALL_NOT_FOUND), DATA_LOSS (INTEGRITY_VIOLATION).
     * </pre>
     */
    public dev.muniment.v1.GetRecallResponse getRecall(dev.muniment.v1.GetRecallRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetRecallMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sends the tenant's chain in ascending order with all that somebody outside needs to check it.
     * For every event, `digest` is SHA-256 over: the text "muniment.audit.v1", a zero byte, `prev_digest`
     * (32 bytes), `sequence` (8 bytes, big endian), `canonical_bytes`. Each `prev_digest` is the `digest` of
     * the event before. A checkpoint's signature fixes everything up to its `sequence`. Changed, dropped,
     * exchanged and inserted events break this; a tail that was cut off shows against a checkpoint kept
     * elsewhere.
     * A message holds at most 3.5 MiB. After a broken stream go on with `from_sequence`.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, dev.muniment.v1.ExportAuditResponse>
        exportAudit(dev.muniment.v1.ExportAuditRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getExportAuditMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service AuditService.
   * <pre>
   * Proof for auditors. Needs the permission `audit`. Metadata and errors as for MemoryService; the
   * paged list of events is MemoryService.Audit.
   * </pre>
   */
  public static final class AuditServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<AuditServiceBlockingStub> {
    private AuditServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected AuditServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new AuditServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Returns the receipt of one Recall: what was offered, in which version, why, and what was used.
     * Errors: NOT_FOUND (RECALL_NOT_FOUND), DATA_LOSS (INTEGRITY_VIOLATION).
     * </pre>
     */
    public dev.muniment.v1.GetRecallResponse getRecall(dev.muniment.v1.GetRecallRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetRecallMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sends the tenant's chain in ascending order with all that somebody outside needs to check it.
     * For every event, `digest` is SHA-256 over: the text "muniment.audit.v1", a zero byte, `prev_digest`
     * (32 bytes), `sequence` (8 bytes, big endian), `canonical_bytes`. Each `prev_digest` is the `digest` of
     * the event before. A checkpoint's signature fixes everything up to its `sequence`. Changed, dropped,
     * exchanged and inserted events break this; a tail that was cut off shows against a checkpoint kept
     * elsewhere.
     * A message holds at most 3.5 MiB. After a broken stream go on with `from_sequence`.
     * </pre>
     */
    public java.util.Iterator<dev.muniment.v1.ExportAuditResponse> exportAudit(
        dev.muniment.v1.ExportAuditRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getExportAuditMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service AuditService.
   * <pre>
   * Proof for auditors. Needs the permission `audit`. Metadata and errors as for MemoryService; the
   * paged list of events is MemoryService.Audit.
   * </pre>
   */
  public static final class AuditServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<AuditServiceFutureStub> {
    private AuditServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected AuditServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new AuditServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Returns the receipt of one Recall: what was offered, in which version, why, and what was used.
     * Errors: NOT_FOUND (RECALL_NOT_FOUND), DATA_LOSS (INTEGRITY_VIOLATION).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.muniment.v1.GetRecallResponse> getRecall(
        dev.muniment.v1.GetRecallRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetRecallMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_GET_RECALL = 0;
  private static final int METHODID_EXPORT_AUDIT = 1;

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
        case METHODID_GET_RECALL:
          serviceImpl.getRecall((dev.muniment.v1.GetRecallRequest) request,
              (io.grpc.stub.StreamObserver<dev.muniment.v1.GetRecallResponse>) responseObserver);
          break;
        case METHODID_EXPORT_AUDIT:
          serviceImpl.exportAudit((dev.muniment.v1.ExportAuditRequest) request,
              (io.grpc.stub.StreamObserver<dev.muniment.v1.ExportAuditResponse>) responseObserver);
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
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getGetRecallMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.muniment.v1.GetRecallRequest,
              dev.muniment.v1.GetRecallResponse>(
                service, METHODID_GET_RECALL)))
        .addMethod(
          getExportAuditMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              dev.muniment.v1.ExportAuditRequest,
              dev.muniment.v1.ExportAuditResponse>(
                service, METHODID_EXPORT_AUDIT)))
        .build();
  }

  private static abstract class AuditServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    AuditServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.muniment.v1.AuditProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("AuditService");
    }
  }

  private static final class AuditServiceFileDescriptorSupplier
      extends AuditServiceBaseDescriptorSupplier {
    AuditServiceFileDescriptorSupplier() {}
  }

  private static final class AuditServiceMethodDescriptorSupplier
      extends AuditServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    AuditServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (AuditServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new AuditServiceFileDescriptorSupplier())
              .addMethod(getGetRecallMethod())
              .addMethod(getExportAuditMethod())
              .build();
        }
      }
    }
    return result;
  }
}
