package dev.muniment.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * The review queue. Needs the permission `review`. Metadata and errors as for MemoryService. What waits
 * is never recalled unless a filter asks for its state.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class ReviewServiceGrpc {

  private ReviewServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "muniment.v1.ReviewService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.muniment.v1.ListReviewsRequest,
      dev.muniment.v1.ListReviewsResponse> getListReviewsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListReviews",
      requestType = dev.muniment.v1.ListReviewsRequest.class,
      responseType = dev.muniment.v1.ListReviewsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.muniment.v1.ListReviewsRequest,
      dev.muniment.v1.ListReviewsResponse> getListReviewsMethod() {
    io.grpc.MethodDescriptor<dev.muniment.v1.ListReviewsRequest, dev.muniment.v1.ListReviewsResponse> getListReviewsMethod;
    if ((getListReviewsMethod = ReviewServiceGrpc.getListReviewsMethod) == null) {
      synchronized (ReviewServiceGrpc.class) {
        if ((getListReviewsMethod = ReviewServiceGrpc.getListReviewsMethod) == null) {
          ReviewServiceGrpc.getListReviewsMethod = getListReviewsMethod =
              io.grpc.MethodDescriptor.<dev.muniment.v1.ListReviewsRequest, dev.muniment.v1.ListReviewsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListReviews"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.ListReviewsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.ListReviewsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ReviewServiceMethodDescriptorSupplier("ListReviews"))
              .build();
        }
      }
    }
    return getListReviewsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.muniment.v1.DecideReviewRequest,
      dev.muniment.v1.DecideReviewResponse> getDecideReviewMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DecideReview",
      requestType = dev.muniment.v1.DecideReviewRequest.class,
      responseType = dev.muniment.v1.DecideReviewResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.muniment.v1.DecideReviewRequest,
      dev.muniment.v1.DecideReviewResponse> getDecideReviewMethod() {
    io.grpc.MethodDescriptor<dev.muniment.v1.DecideReviewRequest, dev.muniment.v1.DecideReviewResponse> getDecideReviewMethod;
    if ((getDecideReviewMethod = ReviewServiceGrpc.getDecideReviewMethod) == null) {
      synchronized (ReviewServiceGrpc.class) {
        if ((getDecideReviewMethod = ReviewServiceGrpc.getDecideReviewMethod) == null) {
          ReviewServiceGrpc.getDecideReviewMethod = getDecideReviewMethod =
              io.grpc.MethodDescriptor.<dev.muniment.v1.DecideReviewRequest, dev.muniment.v1.DecideReviewResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DecideReview"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.DecideReviewRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.muniment.v1.DecideReviewResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ReviewServiceMethodDescriptorSupplier("DecideReview"))
              .build();
        }
      }
    }
    return getDecideReviewMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static ReviewServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ReviewServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ReviewServiceStub>() {
        @java.lang.Override
        public ReviewServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ReviewServiceStub(channel, callOptions);
        }
      };
    return ReviewServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static ReviewServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ReviewServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ReviewServiceBlockingV2Stub>() {
        @java.lang.Override
        public ReviewServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ReviewServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return ReviewServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static ReviewServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ReviewServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ReviewServiceBlockingStub>() {
        @java.lang.Override
        public ReviewServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ReviewServiceBlockingStub(channel, callOptions);
        }
      };
    return ReviewServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static ReviewServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ReviewServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ReviewServiceFutureStub>() {
        @java.lang.Override
        public ReviewServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ReviewServiceFutureStub(channel, callOptions);
        }
      };
    return ReviewServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * The review queue. Needs the permission `review`. Metadata and errors as for MemoryService. What waits
   * is never recalled unless a filter asks for its state.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Lists what waits, oldest first, page by page.
     * Errors: INVALID_ARGUMENT (PAGE_TOKEN_INVALID).
     * </pre>
     */
    default void listReviews(dev.muniment.v1.ListReviewsRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.ListReviewsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListReviewsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Decides one review.
     * Errors: NOT_FOUND (MEMORY_NOT_FOUND), ABORTED (REVISION_CONFLICT, TRANSACTION_CONFLICT),
     * FAILED_PRECONDITION (REVIEW_NOT_PENDING, MEMORY_ERASED, SLOT_CONFLICT), PERMISSION_DENIED (what it would
     * replace is trusted more than the reviewer's credential may say), INVALID_ARGUMENT (CONTENT_REFUSED: by
     * the tenant's policy, or by the subject's consent), ALREADY_EXISTS (REQUEST_ID_PAYLOAD_MISMATCH).
     * </pre>
     */
    default void decideReview(dev.muniment.v1.DecideReviewRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.DecideReviewResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDecideReviewMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service ReviewService.
   * <pre>
   * The review queue. Needs the permission `review`. Metadata and errors as for MemoryService. What waits
   * is never recalled unless a filter asks for its state.
   * </pre>
   */
  public static abstract class ReviewServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return ReviewServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service ReviewService.
   * <pre>
   * The review queue. Needs the permission `review`. Metadata and errors as for MemoryService. What waits
   * is never recalled unless a filter asks for its state.
   * </pre>
   */
  public static final class ReviewServiceStub
      extends io.grpc.stub.AbstractAsyncStub<ReviewServiceStub> {
    private ReviewServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ReviewServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ReviewServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Lists what waits, oldest first, page by page.
     * Errors: INVALID_ARGUMENT (PAGE_TOKEN_INVALID).
     * </pre>
     */
    public void listReviews(dev.muniment.v1.ListReviewsRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.ListReviewsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListReviewsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Decides one review.
     * Errors: NOT_FOUND (MEMORY_NOT_FOUND), ABORTED (REVISION_CONFLICT, TRANSACTION_CONFLICT),
     * FAILED_PRECONDITION (REVIEW_NOT_PENDING, MEMORY_ERASED, SLOT_CONFLICT), PERMISSION_DENIED (what it would
     * replace is trusted more than the reviewer's credential may say), INVALID_ARGUMENT (CONTENT_REFUSED: by
     * the tenant's policy, or by the subject's consent), ALREADY_EXISTS (REQUEST_ID_PAYLOAD_MISMATCH).
     * </pre>
     */
    public void decideReview(dev.muniment.v1.DecideReviewRequest request,
        io.grpc.stub.StreamObserver<dev.muniment.v1.DecideReviewResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDecideReviewMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service ReviewService.
   * <pre>
   * The review queue. Needs the permission `review`. Metadata and errors as for MemoryService. What waits
   * is never recalled unless a filter asks for its state.
   * </pre>
   */
  public static final class ReviewServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<ReviewServiceBlockingV2Stub> {
    private ReviewServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ReviewServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ReviewServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Lists what waits, oldest first, page by page.
     * Errors: INVALID_ARGUMENT (PAGE_TOKEN_INVALID).
     * </pre>
     */
    public dev.muniment.v1.ListReviewsResponse listReviews(dev.muniment.v1.ListReviewsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListReviewsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Decides one review.
     * Errors: NOT_FOUND (MEMORY_NOT_FOUND), ABORTED (REVISION_CONFLICT, TRANSACTION_CONFLICT),
     * FAILED_PRECONDITION (REVIEW_NOT_PENDING, MEMORY_ERASED, SLOT_CONFLICT), PERMISSION_DENIED (what it would
     * replace is trusted more than the reviewer's credential may say), INVALID_ARGUMENT (CONTENT_REFUSED: by
     * the tenant's policy, or by the subject's consent), ALREADY_EXISTS (REQUEST_ID_PAYLOAD_MISMATCH).
     * </pre>
     */
    public dev.muniment.v1.DecideReviewResponse decideReview(dev.muniment.v1.DecideReviewRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDecideReviewMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service ReviewService.
   * <pre>
   * The review queue. Needs the permission `review`. Metadata and errors as for MemoryService. What waits
   * is never recalled unless a filter asks for its state.
   * </pre>
   */
  public static final class ReviewServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<ReviewServiceBlockingStub> {
    private ReviewServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ReviewServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ReviewServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Lists what waits, oldest first, page by page.
     * Errors: INVALID_ARGUMENT (PAGE_TOKEN_INVALID).
     * </pre>
     */
    public dev.muniment.v1.ListReviewsResponse listReviews(dev.muniment.v1.ListReviewsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListReviewsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Decides one review.
     * Errors: NOT_FOUND (MEMORY_NOT_FOUND), ABORTED (REVISION_CONFLICT, TRANSACTION_CONFLICT),
     * FAILED_PRECONDITION (REVIEW_NOT_PENDING, MEMORY_ERASED, SLOT_CONFLICT), PERMISSION_DENIED (what it would
     * replace is trusted more than the reviewer's credential may say), INVALID_ARGUMENT (CONTENT_REFUSED: by
     * the tenant's policy, or by the subject's consent), ALREADY_EXISTS (REQUEST_ID_PAYLOAD_MISMATCH).
     * </pre>
     */
    public dev.muniment.v1.DecideReviewResponse decideReview(dev.muniment.v1.DecideReviewRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDecideReviewMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service ReviewService.
   * <pre>
   * The review queue. Needs the permission `review`. Metadata and errors as for MemoryService. What waits
   * is never recalled unless a filter asks for its state.
   * </pre>
   */
  public static final class ReviewServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<ReviewServiceFutureStub> {
    private ReviewServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ReviewServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ReviewServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Lists what waits, oldest first, page by page.
     * Errors: INVALID_ARGUMENT (PAGE_TOKEN_INVALID).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.muniment.v1.ListReviewsResponse> listReviews(
        dev.muniment.v1.ListReviewsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListReviewsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Decides one review.
     * Errors: NOT_FOUND (MEMORY_NOT_FOUND), ABORTED (REVISION_CONFLICT, TRANSACTION_CONFLICT),
     * FAILED_PRECONDITION (REVIEW_NOT_PENDING, MEMORY_ERASED, SLOT_CONFLICT), PERMISSION_DENIED (what it would
     * replace is trusted more than the reviewer's credential may say), INVALID_ARGUMENT (CONTENT_REFUSED: by
     * the tenant's policy, or by the subject's consent), ALREADY_EXISTS (REQUEST_ID_PAYLOAD_MISMATCH).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.muniment.v1.DecideReviewResponse> decideReview(
        dev.muniment.v1.DecideReviewRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDecideReviewMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_LIST_REVIEWS = 0;
  private static final int METHODID_DECIDE_REVIEW = 1;

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
        case METHODID_LIST_REVIEWS:
          serviceImpl.listReviews((dev.muniment.v1.ListReviewsRequest) request,
              (io.grpc.stub.StreamObserver<dev.muniment.v1.ListReviewsResponse>) responseObserver);
          break;
        case METHODID_DECIDE_REVIEW:
          serviceImpl.decideReview((dev.muniment.v1.DecideReviewRequest) request,
              (io.grpc.stub.StreamObserver<dev.muniment.v1.DecideReviewResponse>) responseObserver);
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
          getListReviewsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.muniment.v1.ListReviewsRequest,
              dev.muniment.v1.ListReviewsResponse>(
                service, METHODID_LIST_REVIEWS)))
        .addMethod(
          getDecideReviewMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.muniment.v1.DecideReviewRequest,
              dev.muniment.v1.DecideReviewResponse>(
                service, METHODID_DECIDE_REVIEW)))
        .build();
  }

  private static abstract class ReviewServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    ReviewServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.muniment.v1.ReviewProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("ReviewService");
    }
  }

  private static final class ReviewServiceFileDescriptorSupplier
      extends ReviewServiceBaseDescriptorSupplier {
    ReviewServiceFileDescriptorSupplier() {}
  }

  private static final class ReviewServiceMethodDescriptorSupplier
      extends ReviewServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    ReviewServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (ReviewServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new ReviewServiceFileDescriptorSupplier())
              .addMethod(getListReviewsMethod())
              .addMethod(getDecideReviewMethod())
              .build();
        }
      }
    }
    return result;
  }
}
