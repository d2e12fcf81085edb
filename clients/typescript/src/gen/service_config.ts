// Generated from proto/muniment/v1/muniment_grpc_service_config.json by `make generate`. Do not edit.
export const serviceConfig = {
  "loadBalancingConfig": [
    {
      "round_robin": {}
    }
  ],
  "methodConfig": [
    {
      "name": [
        {
          "service": "muniment.v1.MemoryService"
        },
        {
          "service": "muniment.v1.AuditService"
        },
        {
          "service": "muniment.v1.ReviewService"
        },
        {
          "service": "muniment.v1.SubjectService"
        }
      ],
      "retryPolicy": {
        "maxAttempts": 4,
        "initialBackoff": "0.1s",
        "maxBackoff": "1s",
        "backoffMultiplier": 2,
        "retryableStatusCodes": [
          "UNAVAILABLE"
        ]
      }
    }
  ],
  "retryThrottling": {
    "maxTokens": 10,
    "tokenRatio": 0.1
  }
} as const;
