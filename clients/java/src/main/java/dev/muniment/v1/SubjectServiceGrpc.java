package dev.muniment.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * What a subject may ask for. Metadata and errors as for MemoryService.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class SubjectServiceGrpc {

  private SubjectServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "muniment.v1.SubjectService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.muniment.v1.SetConsentRequest,
      dev.muniment.v1.SetConsentResponse> getSetConsentMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "SetConsent",
      requestType = dev.muniment.v1.SetConsentRequest.class,
      responseType = dev.muniment.v1.SetConsentResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.muniment.v1.SetConsentRequest,
      dev.muniment.v1.SetConsentResponse> getSetConsentMethod() {
    io.grpc.MethodDescriptor<dev.muniment.v1.SetConsentRequest, dev.muniment.v1.SetConsentResponse> getSetConsentMethod;
    if ((getSetConsentMethod = SubjectServiceGrpc.getSetConsentMethod) == null) {
      synchronized (SubjectServiceGrpc.class) {
        if ((getSetConsentMethod = SubjectServiceGrpc.getSetConsentMethod) == null) {
          SubjectServiceGrpc.getSetConsentMethod = getSetConsentMethod =
              io.grpc.MethodDescriptor.<dev.muniment.v1.SetConsentRequest, dev.muniment.v1.SetConsentResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "SetConsent"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.SetConsentRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.SetConsentResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SubjectServiceMethodDescriptorSupplier("SetConsent"))
              .build();
        }
      }
    }
    return getSetConsentMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.muniment.v1.GetConsentRequest,
      dev.muniment.v1.GetConsentResponse> getGetConsentMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetConsent",
      requestType = dev.muniment.v1.GetConsentRequest.class,
      responseType = dev.muniment.v1.GetConsentResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.muniment.v1.GetConsentRequest,
      dev.muniment.v1.GetConsentResponse> getGetConsentMethod() {
    io.grpc.MethodDescriptor<dev.muniment.v1.GetConsentRequest, dev.muniment.v1.GetConsentResponse> getGetConsentMethod;
    if ((getGetConsentMethod = SubjectServiceGrpc.getGetConsentMethod) == null) {
      synchronized (SubjectServiceGrpc.class) {
        if ((getGetConsentMethod = SubjectServiceGrpc.getGetConsentMethod) == null) {
          SubjectServiceGrpc.getGetConsentMethod = getGetConsentMethod =
              io.grpc.MethodDescriptor.<dev.muniment.v1.GetConsentRequest, dev.muniment.v1.GetConsentResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetConsent"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.GetConsentRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.GetConsentResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SubjectServiceMethodDescriptorSupplier("GetConsent"))
              .build();
        }
      }
    }
    return getGetConsentMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.muniment.v1.DescribeSubjectRequest,
      dev.muniment.v1.DescribeSubjectResponse> getDescribeSubjectMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DescribeSubject",
      requestType = dev.muniment.v1.DescribeSubjectRequest.class,
      responseType = dev.muniment.v1.DescribeSubjectResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.muniment.v1.DescribeSubjectRequest,
      dev.muniment.v1.DescribeSubjectResponse> getDescribeSubjectMethod() {
    io.grpc.MethodDescriptor<dev.muniment.v1.DescribeSubjectRequest, dev.muniment.v1.DescribeSubjectResponse> getDescribeSubjectMethod;
    if ((getDescribeSubjectMethod = SubjectServiceGrpc.getDescribeSubjectMethod) == null) {
      synchronized (SubjectServiceGrpc.class) {
        if ((getDescribeSubjectMethod = SubjectServiceGrpc.getDescribeSubjectMethod) == null) {
          SubjectServiceGrpc.getDescribeSubjectMethod = getDescribeSubjectMethod =
              io.grpc.MethodDescriptor.<dev.muniment.v1.DescribeSubjectRequest, dev.muniment.v1.DescribeSubjectResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DescribeSubject"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.DescribeSubjectRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.DescribeSubjectResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SubjectServiceMethodDescriptorSupplier("DescribeSubject"))
              .build();
        }
      }
    }
    return getDescribeSubjectMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.muniment.v1.ExportMemoriesRequest,
      dev.muniment.v1.ExportMemoriesResponse> getExportMemoriesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ExportMemories",
      requestType = dev.muniment.v1.ExportMemoriesRequest.class,
      responseType = dev.muniment.v1.ExportMemoriesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<dev.muniment.v1.ExportMemoriesRequest,
      dev.muniment.v1.ExportMemoriesResponse> getExportMemoriesMethod() {
    io.grpc.MethodDescriptor<dev.muniment.v1.ExportMemoriesRequest, dev.muniment.v1.ExportMemoriesResponse> getExportMemoriesMethod;
    if ((getExportMemoriesMethod = SubjectServiceGrpc.getExportMemoriesMethod) == null) {
      synchronized (SubjectServiceGrpc.class) {
        if ((getExportMemoriesMethod = SubjectServiceGrpc.getExportMemoriesMethod) == null) {
          SubjectServiceGrpc.getExportMemoriesMethod = getExportMemoriesMethod =
              io.grpc.MethodDescriptor.<dev.muniment.v1.ExportMemoriesRequest, dev.muniment.v1.ExportMemoriesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ExportMemories"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.ExportMemoriesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.ExportMemoriesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SubjectServiceMethodDescriptorSupplier("ExportMemories"))
              .build();
        }
      }
    }
    return getExportMemoriesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.muniment.v1.ImportMemoriesRequest,
      dev.muniment.v1.ImportMemoriesResponse> getImportMemoriesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ImportMemories",
      requestType = dev.muniment.v1.ImportMemoriesRequest.class,
      responseType = dev.muniment.v1.ImportMemoriesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.muniment.v1.ImportMemoriesRequest,
      dev.muniment.v1.ImportMemoriesResponse> getImportMemoriesMethod() {
    io.grpc.MethodDescriptor<dev.muniment.v1.ImportMemoriesRequest, dev.muniment.v1.ImportMemoriesResponse> getImportMemoriesMethod;
    if ((getImportMemoriesMethod = SubjectServiceGrpc.getImportMemoriesMethod) == null) {
      synchronized (SubjectServiceGrpc.class) {
        if ((getImportMemoriesMethod = SubjectServiceGrpc.getImportMemoriesMethod) == null) {
          SubjectServiceGrpc.getImportMemoriesMethod = getImportMemoriesMethod =
              io.grpc.MethodDescriptor.<dev.muniment.v1.ImportMemoriesRequest, dev.muniment.v1.ImportMemoriesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ImportMemories"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.ImportMemoriesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.ImportMemoriesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SubjectServiceMethodDescriptorSupplier("ImportMemories"))
              .build();
        }
      }
    }
    return getImportMemoriesMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static SubjectServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SubjectServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SubjectServiceStub>() {
        @java.lang.Override
        public SubjectServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SubjectServiceStub(channel, callOptions);
        }
      };
    return SubjectServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static SubjectServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SubjectServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SubjectServiceBlockingV2Stub>() {
        @java.lang.Override
        public SubjectServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SubjectServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return SubjectServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static SubjectServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SubjectServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SubjectServiceBlockingStub>() {
        @java.lang.Override
        public SubjectServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SubjectServiceBlockingStub(channel, callOptions);
        }
      };
    return SubjectServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static SubjectServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SubjectServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SubjectServiceFutureStub>() {
        @java.lang.Override
        public SubjectServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SubjectServiceFutureStub(channel, callOptions);
        }
      };
    return SubjectServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * What a subject may ask for. Metadata and errors as for MemoryService.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Changes what may be remembered; it holds at once, everywhere. Permission: `erase` or `admin`; not for a
     * credential that is bound to an agent, because the decision holds for all of them.
     * Errors: ABORTED (TRANSACTION_CONFLICT), ALREADY_EXISTS (REQUEST_ID_PAYLOAD_MISMATCH).
     * </pre>
     */
    default void setConsent(dev.muniment.v1.SetConsentRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.SetConsentResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSetConsentMethod(), responseObserver);
    }

    /**
     * <pre>
     * Returns what the subject decided. Permission: `recall`.
     * </pre>
     */
    default void getConsent(dev.muniment.v1.GetConsentRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.GetConsentResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetConsentMethod(), responseObserver);
    }

    /**
     * <pre>
     * Says in plain words what is stored, why and how long. Permission: `recall`.
     * </pre>
     */
    default void describeSubject(dev.muniment.v1.DescribeSubjectRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.DescribeSubjectResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDescribeSubjectMethod(), responseObserver);
    }

    /**
     * <pre>
     * Sends everything that is remembered about a subject, for a request of access or to move to another
     * system. Permission: `recall`.
     * </pre>
     */
    default void exportMemories(dev.muniment.v1.ExportMemoriesRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.ExportMemoriesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getExportMemoriesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Takes in memories from elsewhere. Permission: `write`.
     * Errors: as for MemoryService.Write.
     * </pre>
     */
    default void importMemories(dev.muniment.v1.ImportMemoriesRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.ImportMemoriesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getImportMemoriesMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service SubjectService.
   * <pre>
   * What a subject may ask for. Metadata and errors as for MemoryService.
   * </pre>
   */
  public static abstract class SubjectServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return SubjectServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service SubjectService.
   * <pre>
   * What a subject may ask for. Metadata and errors as for MemoryService.
   * </pre>
   */
  public static final class SubjectServiceStub
      extends io.grpc.stub.AbstractAsyncStub<SubjectServiceStub> {
    private SubjectServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SubjectServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SubjectServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Changes what may be remembered; it holds at once, everywhere. Permission: `erase` or `admin`; not for a
     * credential that is bound to an agent, because the decision holds for all of them.
     * Errors: ABORTED (TRANSACTION_CONFLICT), ALREADY_EXISTS (REQUEST_ID_PAYLOAD_MISMATCH).
     * </pre>
     */
    public void setConsent(dev.muniment.v1.SetConsentRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.SetConsentResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getSetConsentMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Returns what the subject decided. Permission: `recall`.
     * </pre>
     */
    public void getConsent(dev.muniment.v1.GetConsentRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.GetConsentResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetConsentMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Says in plain words what is stored, why and how long. Permission: `recall`.
     * </pre>
     */
    public void describeSubject(dev.muniment.v1.DescribeSubjectRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.DescribeSubjectResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDescribeSubjectMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Sends everything that is remembered about a subject, for a request of access or to move to another
     * system. Permission: `recall`.
     * </pre>
     */
    public void exportMemories(dev.muniment.v1.ExportMemoriesRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.ExportMemoriesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getExportMemoriesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Takes in memories from elsewhere. Permission: `write`.
     * Errors: as for MemoryService.Write.
     * </pre>
     */
    public void importMemories(dev.muniment.v1.ImportMemoriesRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.ImportMemoriesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getImportMemoriesMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service SubjectService.
   * <pre>
   * What a subject may ask for. Metadata and errors as for MemoryService.
   * </pre>
   */
  public static final class SubjectServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<SubjectServiceBlockingV2Stub> {
    private SubjectServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SubjectServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SubjectServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Changes what may be remembered; it holds at once, everywhere. Permission: `erase` or `admin`; not for a
     * credential that is bound to an agent, because the decision holds for all of them.
     * Errors: ABORTED (TRANSACTION_CONFLICT), ALREADY_EXISTS (REQUEST_ID_PAYLOAD_MISMATCH).
     * </pre>
     */
    public dev.muniment.v1.SetConsentResponse setConsent(dev.muniment.v1.SetConsentRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getSetConsentMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns what the subject decided. Permission: `recall`.
     * </pre>
     */
    public dev.muniment.v1.GetConsentResponse getConsent(dev.muniment.v1.GetConsentRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetConsentMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Says in plain words what is stored, why and how long. Permission: `recall`.
     * </pre>
     */
    public dev.muniment.v1.DescribeSubjectResponse describeSubject(dev.muniment.v1.DescribeSubjectRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDescribeSubjectMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sends everything that is remembered about a subject, for a request of access or to move to another
     * system. Permission: `recall`.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, dev.muniment.v1.ExportMemoriesResponse>
        exportMemories(dev.muniment.v1.ExportMemoriesRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getExportMemoriesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Takes in memories from elsewhere. Permission: `write`.
     * Errors: as for MemoryService.Write.
     * </pre>
     */
    public dev.muniment.v1.ImportMemoriesResponse importMemories(dev.muniment.v1.ImportMemoriesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getImportMemoriesMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service SubjectService.
   * <pre>
   * What a subject may ask for. Metadata and errors as for MemoryService.
   * </pre>
   */
  public static final class SubjectServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<SubjectServiceBlockingStub> {
    private SubjectServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SubjectServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SubjectServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Changes what may be remembered; it holds at once, everywhere. Permission: `erase` or `admin`; not for a
     * credential that is bound to an agent, because the decision holds for all of them.
     * Errors: ABORTED (TRANSACTION_CONFLICT), ALREADY_EXISTS (REQUEST_ID_PAYLOAD_MISMATCH).
     * </pre>
     */
    public dev.muniment.v1.SetConsentResponse setConsent(dev.muniment.v1.SetConsentRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSetConsentMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns what the subject decided. Permission: `recall`.
     * </pre>
     */
    public dev.muniment.v1.GetConsentResponse getConsent(dev.muniment.v1.GetConsentRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetConsentMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Says in plain words what is stored, why and how long. Permission: `recall`.
     * </pre>
     */
    public dev.muniment.v1.DescribeSubjectResponse describeSubject(dev.muniment.v1.DescribeSubjectRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDescribeSubjectMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sends everything that is remembered about a subject, for a request of access or to move to another
     * system. Permission: `recall`.
     * </pre>
     */
    public java.util.Iterator<dev.muniment.v1.ExportMemoriesResponse> exportMemories(
        dev.muniment.v1.ExportMemoriesRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getExportMemoriesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Takes in memories from elsewhere. Permission: `write`.
     * Errors: as for MemoryService.Write.
     * </pre>
     */
    public dev.muniment.v1.ImportMemoriesResponse importMemories(dev.muniment.v1.ImportMemoriesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getImportMemoriesMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service SubjectService.
   * <pre>
   * What a subject may ask for. Metadata and errors as for MemoryService.
   * </pre>
   */
  public static final class SubjectServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<SubjectServiceFutureStub> {
    private SubjectServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SubjectServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SubjectServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Changes what may be remembered; it holds at once, everywhere. Permission: `erase` or `admin`; not for a
     * credential that is bound to an agent, because the decision holds for all of them.
     * Errors: ABORTED (TRANSACTION_CONFLICT), ALREADY_EXISTS (REQUEST_ID_PAYLOAD_MISMATCH).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.muniment.v1.SetConsentResponse> setConsent(
        dev.muniment.v1.SetConsentRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getSetConsentMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Returns what the subject decided. Permission: `recall`.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.muniment.v1.GetConsentResponse> getConsent(
        dev.muniment.v1.GetConsentRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetConsentMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Says in plain words what is stored, why and how long. Permission: `recall`.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.muniment.v1.DescribeSubjectResponse> describeSubject(
        dev.muniment.v1.DescribeSubjectRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDescribeSubjectMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Takes in memories from elsewhere. Permission: `write`.
     * Errors: as for MemoryService.Write.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.muniment.v1.ImportMemoriesResponse> importMemories(
        dev.muniment.v1.ImportMemoriesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getImportMemoriesMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_SET_CONSENT = 0;
  private static final int METHODID_GET_CONSENT = 1;
  private static final int METHODID_DESCRIBE_SUBJECT = 2;
  private static final int METHODID_EXPORT_MEMORIES = 3;
  private static final int METHODID_IMPORT_MEMORIES = 4;

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
        case METHODID_SET_CONSENT:
          serviceImpl.setConsent((dev.muniment.v1.SetConsentRequest) request,
              (io.grpc.stub.StreamObserver<dev.muniment.v1.SetConsentResponse>) responseObserver);
          break;
        case METHODID_GET_CONSENT:
          serviceImpl.getConsent((dev.muniment.v1.GetConsentRequest) request,
              (io.grpc.stub.StreamObserver<dev.muniment.v1.GetConsentResponse>) responseObserver);
          break;
        case METHODID_DESCRIBE_SUBJECT:
          serviceImpl.describeSubject((dev.muniment.v1.DescribeSubjectRequest) request,
              (io.grpc.stub.StreamObserver<dev.muniment.v1.DescribeSubjectResponse>) responseObserver);
          break;
        case METHODID_EXPORT_MEMORIES:
          serviceImpl.exportMemories((dev.muniment.v1.ExportMemoriesRequest) request,
              (io.grpc.stub.StreamObserver<dev.muniment.v1.ExportMemoriesResponse>) responseObserver);
          break;
        case METHODID_IMPORT_MEMORIES:
          serviceImpl.importMemories((dev.muniment.v1.ImportMemoriesRequest) request,
              (io.grpc.stub.StreamObserver<dev.muniment.v1.ImportMemoriesResponse>) responseObserver);
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
          getSetConsentMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.muniment.v1.SetConsentRequest,
              dev.muniment.v1.SetConsentResponse>(
                service, METHODID_SET_CONSENT)))
        .addMethod(
          getGetConsentMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.muniment.v1.GetConsentRequest,
              dev.muniment.v1.GetConsentResponse>(
                service, METHODID_GET_CONSENT)))
        .addMethod(
          getDescribeSubjectMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.muniment.v1.DescribeSubjectRequest,
              dev.muniment.v1.DescribeSubjectResponse>(
                service, METHODID_DESCRIBE_SUBJECT)))
        .addMethod(
          getExportMemoriesMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              dev.muniment.v1.ExportMemoriesRequest,
              dev.muniment.v1.ExportMemoriesResponse>(
                service, METHODID_EXPORT_MEMORIES)))
        .addMethod(
          getImportMemoriesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.muniment.v1.ImportMemoriesRequest,
              dev.muniment.v1.ImportMemoriesResponse>(
                service, METHODID_IMPORT_MEMORIES)))
        .build();
  }

  private static abstract class SubjectServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    SubjectServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.muniment.v1.SubjectProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("SubjectService");
    }
  }

  private static final class SubjectServiceFileDescriptorSupplier
      extends SubjectServiceBaseDescriptorSupplier {
    SubjectServiceFileDescriptorSupplier() {}
  }

  private static final class SubjectServiceMethodDescriptorSupplier
      extends SubjectServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    SubjectServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (SubjectServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new SubjectServiceFileDescriptorSupplier())
              .addMethod(getSetConsentMethod())
              .addMethod(getGetConsentMethod())
              .addMethod(getDescribeSubjectMethod())
              .addMethod(getExportMemoriesMethod())
              .addMethod(getImportMemoriesMethod())
              .build();
        }
      }
    }
    return result;
  }
}
